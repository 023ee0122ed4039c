package interop

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

// membership says how a client takes part in a group.
type membership struct {
	Group, Topic string
	// Strategy is a classic assignor by Kafka's name, or "consumer": the next-generation protocol (KIP-848).
	Strategy string
	// Instance makes the member a static one.
	Instance string
	// Seen is told of every record that the member was given, before it is committed.
	Seen func(partition int32, offset int64)
	// Committed is told of each commit that was acknowledged: all below next. Nil: nobody.
	Committed func(partition int32, next int64)
}

func (in *membership) committed(partition int32, next int64) {
	if in.Committed != nil {
		in.Committed(partition, next)
	}
}

// member is one member of a group, from Join to Leave. It commits what it has seen.
type member interface {
	// Owned is the partitions that the member has now.
	Owned() []int32
	// Leave commits, and leaves the group.
	Leave() error
}

// joiner is a client that can be a member.
type joiner interface {
	client
	Join(membership) (member, error)
	// Strategies are the assignors that it has.
	Strategies() []string
}

func joiners(addr string) []joiner {
	return []joiner{franz{addr: addr}, shopify{addr: addr, version: sarama.MaxVersion}, segmentio{addr}, librdkafka{addr}}
}

// Members are heard often in tests.
const (
	memberSession   = 6 * time.Second
	memberHeartbeat = 200 * time.Millisecond
)

// owned is a member's partitions, as its callbacks tell them.
type owned struct {
	mu struct {
		sync.Mutex
		partitions map[int32]bool
	}
}

func (o *owned) add(partitions ...int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.partitions == nil {
		o.mu.partitions = make(map[int32]bool)
	}
	for _, p := range partitions {
		o.mu.partitions[p] = true
	}
}

func (o *owned) remove(partitions ...int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range partitions {
		delete(o.mu.partitions, p)
	}
}

func (o *owned) Owned() (list []int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := range o.mu.partitions {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// settled waits until each of n partitions has exactly one owner among the members, and no member more than its share.
func settled(ctx context.Context, t *testing.T, n int, members []member) {
	t.Helper()
	share := (n + len(members) - 1) / len(members)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var all []int32
		var each [][]int32
		fair := true
		for _, m := range members {
			own := m.Owned()
			all, each = append(all, own...), append(each, own)
			fair = fair && len(own) <= share
		}
		slices.Sort(all)
		if fair && len(all) == n && len(slices.Compact(all)) == n {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d members of %d partitions have %v", len(members), n, each)
		}
	}
}

// groupSettings make groups quick.
var groupSettings = []string{
	"group.initial.rebalance.delay.ms=100", "group.consumer.min.heartbeat.interval.ms=200", "group.consumer.heartbeat.interval.ms=200",
	"group.consumer.min.session.timeout.ms=6000", "group.consumer.session.timeout.ms=6000",
}

// TestGroups: with 3 partitions and 1, 2, 3, then 4 members and back down, every partition has exactly one owner and the fourth member is idle;
// under every assignor of every client.
func TestGroups(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, groupSettings...)
	for _, c := range joiners(addr) {
		for _, strategy := range c.Strategies() {
			t.Run(c.Name()+"/"+strategy, func(t *testing.T) {
				t.Parallel()
				comeAndGo(t, c, strategy)
			})
		}
	}
}

// comeAndGo has up to four members of a client share three partitions.
func comeAndGo(t *testing.T, c joiner, strategy string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	name := "group-" + c.Name() + "-" + strategy
	if err := c.CreateTopic(ctx, name, 3, nil); err != nil {
		t.Fatal(err)
	}
	var members []member
	for range 4 {
		m, err := c.Join(membership{Group: name, Topic: name, Strategy: strategy, Seen: func(int32, int64) {}})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
		settled(ctx, t, 3, members)
	}
	for len(members) > 1 {
		if err := members[0].Leave(); err != nil {
			t.Fatal(err)
		}
		members = members[1:]
		settled(ctx, t, 3, members)
	}
	if err := members[0].Leave(); err != nil {
		t.Fatal(err)
	}
}

// TestGroupResumes: a group goes on where it was, whichever client comes next.
func TestGroupResumes(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, groupSettings...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	const topic, group, each = "resumed", "resumes", 40
	f := franz{addr: addr}
	create(ctx, t, f, topic, nil)
	sent := 0
	for round := range 2 {
		for _, c := range joiners(addr) {
			if err := f.Produce(ctx, topic, produceOptions{Codec: "none"}, numbered(each)); err != nil {
				t.Fatal(err)
			}
			seen := make(chan int64, 10*each)
			m, err := c.Join(membership{Group: group, Topic: topic, Strategy: "range", Seen: func(_ int32, offset int64) { seen <- offset }})
			if err != nil {
				t.Fatal(err)
			}
			for i := range each {
				select {
				case got := <-seen:
					if want := int64(sent + i); got != want {
						t.Fatalf("round %d: %s was given offset %d, want %d", round, c.Name(), got, want)
					}
				case <-ctx.Done():
					t.Fatalf("round %d: %s was given %d of %d records", round, c.Name(), i, each)
				}
			}
			if err := m.Leave(); err != nil {
				t.Fatal(err)
			}
			sent += each
		}
	}
}

// TestGroupOfManyClients: members of different clients share one group. kafka-go and librdkafka do not, as under Kafka: kafka-go claims version 1
// for a subscription that lacks what version 1 has, and librdkafka cannot read it when it leads.
func TestGroupOfManyClients(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, groupSettings...)
	for _, without := range []string{"kafka-go", "librdkafka"} {
		t.Run("without "+without, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			const partitions = 12
			topic := "shared-" + without
			if err := (franz{addr: addr}).CreateTopic(ctx, topic, partitions, nil); err != nil {
				t.Fatal(err)
			}
			var members []member
			for range 2 {
				for _, c := range joiners(addr) {
					if c.Name() == without {
						continue
					}
					m, err := c.Join(membership{Group: topic, Topic: topic, Strategy: "range", Seen: func(int32, int64) {}})
					if err != nil {
						t.Fatal(err)
					}
					members = append(members, m)
				}
			}
			settled(ctx, t, partitions, members)
			for len(members) > 1 {
				if err := members[0].Leave(); err != nil {
					t.Fatal(err)
				}
				members = members[1:]
				settled(ctx, t, partitions, members)
			}
			if err := members[0].Leave(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
