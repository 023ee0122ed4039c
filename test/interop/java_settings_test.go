//go:build java

package interop

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// foreign is what a version of Kafka leaves in its directory that says nothing here.
type foreign struct {
	libs    string // the environment variable with the jars' directory
	topic   map[string]string
	brokers map[string]string
}

var foreigns = map[string]foreign{
	"4.4": {
		libs: "OTTLA_KAFKA_LIBS",
		topic: map[string]string{
			"max.decompressed.message.bytes": "1000000", "remote.copy.lag.ms": "5", "remote.copy.lag.bytes": "7",
			"errors.deadletterqueue.group.enable": "true", "segment.bytes": "1048576",
		},
		brokers: map[string]string{"num.io.threads": "4", "remote.log.reader.threads": "8", "group.share.assignment.interval.ms": "2000"},
	},
	"3.9": {
		libs: "OTTLA_KAFKA39_LIBS",
		topic: map[string]string{
			"message.downconversion.enable": "false", "message.format.version": "2.8-IV1", "message.timestamp.difference.max.ms": "9000000000000",
			"segment.bytes": "100000", // 4.4 asks for 1 MiB
		},
		brokers: map[string]string{"log.message.downconversion.enable": "false", "log.message.timestamp.difference.max.ms": "9000000000000", "background.threads": "9"},
	},
}

// TestJavaForeignSettings has a real Kafka of each version write a directory whose topics and brokers have settings that say nothing here. It opens in
// place; the settings are described, by Kafka's tool too, and changes of other keys go through, as do those that change or delete them.
func TestJavaForeignSettings(t *testing.T) {
	for version, f := range foreigns {
		t.Run(version, func(t *testing.T) {
			libs := os.Getenv(f.libs)
			if libs == "" {
				t.Fatalf("%s is not set; run.sh fetches the jars", f.libs)
			}
			dir := filepath.Join(t.TempDir(), "kafka")
			kafka, addr := startKafkaOf(t, libs, dir)
			c := franz{addr: addr}
			create(t.Context(), t, c, "foreign", f.topic)
			f.alterBrokers(t, c)
			sent := numbered(2_000)
			if err := c.Produce(t.Context(), "foreign", produceOptions{Codec: "zstd", Idempotent: true}, sent); err != nil {
				t.Fatal(err)
			}
			if err := kafka.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = kafka.Wait() // 143 after SIGTERM

			broker, ours := startAt(t, dir)
			f.check(t, franz{addr: ours})
			expect(t.Context(), t, franz{addr: ours}, "foreign", sent)
			stop(t, broker)
			broker, ours = startAt(t, dir) // all of it is kept
			if got := topicSettings(t, franz{addr: ours}); got["flush.ms"] != "2000" || got["retention.ms"] != "7200000" || len(got) < len(f.topic) {
				t.Errorf("after a restart the topic has %v", got)
			}
			expect(t.Context(), t, franz{addr: ours}, "foreign", sent)
			stop(t, broker)
		})
	}
}

func (f foreign) alterBrokers(t *testing.T, c franz) {
	t.Helper()
	err := c.admin(func(a *kadm.Client) error {
		var changes []kadm.AlterConfig
		for key, text := range f.brokers {
			changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &text})
		}
		all, err := a.AlterBrokerConfigs(t.Context(), changes)
		if err == nil {
			err = all[0].Err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// check describes and alters what f left.
func (f foreign) check(t *testing.T, c franz) {
	t.Helper()
	got := topicSettings(t, c)
	for key, text := range f.topic {
		if got[key] != text {
			t.Errorf("%s of the topic is %q, expected %q", key, got[key], text)
		}
	}
	configs := func(args ...string) string {
		return javaTool(t, "", tools+"ConfigCommand", append([]string{"--bootstrap-server", c.addr}, args...)...)
	}
	out := configs("--describe", "--topic", "foreign")
	for key, text := range f.topic {
		has(t, out, key+"="+text)
	}
	out = configs("--describe", "--entity-type", "brokers", "--entity-default")
	for key, text := range f.brokers {
		has(t, out, key+"="+text)
	}
	has(t, configs("--alter", "--topic", "foreign", "--add-config", "retention.ms=7200000"), "Completed updating config")
	has(t, configs("--alter", "--entity-type", "brokers", "--entity-default", "--add-config", "log.cleaner.threads=2"), "Completed updating default config")
	for key := range f.topic {
		if key != "segment.bytes" {
			has(t, configs("--alter", "--topic", "foreign", "--add-config", key+"="+f.topic[key]+",flush.ms=2000"), "Completed updating config")
			has(t, configs("--alter", "--topic", "foreign", "--delete-config", key), "Completed updating config")
			has(t, configs("--alter", "--topic", "foreign", "--add-config", key+"="+f.topic[key]), "Completed updating config")
			break
		}
	}
	for key := range f.brokers {
		has(t, configs("--alter", "--entity-type", "brokers", "--entity-default", "--delete-config", key), "Completed updating default config")
		if strings.Contains(configs("--describe", "--entity-type", "brokers", "--entity-default"), key+"=") {
			t.Errorf("%s is still there after it was deleted", key)
		}
		break
	}
}

// topicSettings are the settings of the topic itself.
func topicSettings(t *testing.T, c franz) map[string]string {
	t.Helper()
	own := make(map[string]string)
	err := c.admin(func(a *kadm.Client) error {
		all, err := a.DescribeTopicConfigs(t.Context(), "foreign")
		if err != nil {
			return err
		}
		for _, e := range all[0].Configs {
			if e.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
				own[e.Key] = e.MaybeValue()
			}
		}
		return all[0].Err
	})
	if err != nil {
		t.Fatal(err)
	}
	return own
}
