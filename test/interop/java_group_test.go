//go:build java

package interop

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// javaMember is Kafka's own consumer, in a process of its own.
type javaMember struct {
	owned
	*childMember
}

// javaClient is Kafka's own client as a member; topics are made with another.
type javaClient struct {
	franz
	t *testing.T
}

func (j javaClient) Name() string { return "java" }

func (j javaClient) Strategies() []string {
	return []string{"range", "roundrobin", "sticky", "cooperative-sticky", "consumer"}
}

func (j javaClient) Join(in membership) (member, error) {
	m := new(javaMember)
	cmd := exec.Command("java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", os.Getenv("OTTLA_KAFKA_LIBS")+"/*",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "java/Member.java", j.addr, in.Group, in.Topic, in.Strategy)
	m.childMember = runChild(j.t, cmd, func(what string, partition int32, offset int64) {
		switch what {
		case "assigned":
			m.add(partition)
		case "revoked":
			m.remove(partition)
		case "seen":
			in.Seen(partition, offset)
		case "committed":
			in.committed(partition, offset)
		}
	})
	return m, nil
}

func (m *javaMember) Leave() error {
	err := m.leave()
	m.remove(m.Owned()...)
	return err
}

// TestJavaGroups: as TestGroups, with Kafka's own consumer, of both protocols.
func TestJavaGroups(t *testing.T) {
	addr := startBroker(t, groupSettings...)
	c := javaClient{franz{addr: addr}, t}
	for _, strategy := range c.Strategies() {
		t.Run(strategy, func(t *testing.T) { comeAndGo(t, c, strategy) })
	}
}

// TestJavaGroupOfManyClients: Kafka's own consumers share groups of both protocols with those of other clients.
func TestJavaGroupOfManyClients(t *testing.T) {
	addr := startBroker(t, groupSettings...)
	for _, strategies := range [][]string{{"range"}, {"cooperative-sticky"}, {"consumer"}, {"range", "consumer"}} {
		t.Run(strings.Join(strategies, " and "), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			topic := "java-" + strings.Join(strategies, "-")
			if err := (franz{addr: addr}).CreateTopic(ctx, topic, 6, nil); err != nil {
				t.Fatal(err)
			}
			var members []member
			for _, strategy := range strategies {
				for _, c := range []joiner{javaClient{franz{addr: addr}, t}, franz{addr: addr}, librdkafka{addr}} {
					m, err := c.Join(membership{Group: topic, Topic: topic, Strategy: strategy, Seen: func(int32, int64) {}})
					if err != nil {
						t.Fatal(err)
					}
					members = append(members, m)
				}
			}
			settled(ctx, t, 6, members)
			for len(members) > 1 {
				if err := members[0].Leave(); err != nil {
					t.Fatal(err)
				}
				members = members[1:]
				settled(ctx, t, 6, members)
			}
			if err := members[0].Leave(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestJavaGroupTools runs Kafka's console tools for groups.
func TestJavaGroupTools(t *testing.T) {
	addr := startBroker(t, groupSettings...)
	f := franz{addr: addr}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	create(ctx, t, f, "tooled", nil)
	if err := f.Produce(ctx, "tooled", produceOptions{Codec: "none"}, numbered(100)); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"classic", "consumer"} {
		group := "console-" + protocol
		out := javaTool(t, "", tools+"consumer.ConsoleConsumer", "--bootstrap-server", addr, "--topic", "tooled", "--group", group,
			"--command-property", "group.protocol="+protocol, "--from-beginning", "--max-messages", "100", "--timeout-ms", "20000")
		has(t, out, "value-0-", "value-99-", "Processed a total of 100 messages")
		groups := func(args ...string) string {
			return javaTool(t, "", tools+"consumer.group.ConsumerGroupCommand", append([]string{"--bootstrap-server", addr, "--group", group}, args...)...)
		}
		has(t, javaTool(t, "", tools+"consumer.group.ConsumerGroupCommand", "--bootstrap-server", addr, "--list", "--state"), group, "Empty")
		described := strings.Join(strings.Fields(groups("--describe")), " ")
		has(t, described, group+" tooled 0 100 100 0")
		has(t, strings.Join(strings.Fields(groups("--describe", "--state")), " "), "Empty 0")
		has(t, strings.Join(strings.Fields(groups("--reset-offsets", "--topic", "tooled", "--to-offset", "40", "--execute")), " "), group+" tooled 0 40")
		has(t, strings.Join(strings.Fields(groups("--describe")), " "), group+" tooled 0 40 100 60")
		has(t, groups("--delete-offsets", "--topic", "tooled"), "Request succeeded", "Successful")
		has(t, groups("--delete"), "was successful")
	}
	if out := javaTool(t, "", tools+"GroupsCommand", "--bootstrap-server", addr, "--list"); strings.Contains(out, "console-") {
		t.Errorf("groups are listed after their deletion:\n%s", out)
	}
}
