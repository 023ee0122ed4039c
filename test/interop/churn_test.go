package interop

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// churnTime is how long members come and go: INTEROP_CHURN, or a short while.
func churnTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("INTEROP_CHURN")
	if text == "" {
		return 15 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("INTEROP_CHURN=%s: %v", text, err)
	}
	return d
}

// churned is what the members of one group have told.
type churned struct {
	mu struct {
		sync.Mutex
		seen      [churnPartitions]map[int64]int // how often each record was seen
		committed [churnPartitions]int64
		again     int // records seen again
	}
}

const churnPartitions = 6

func (c *churned) told(what string, partition int32, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch what {
	case "seen":
		if c.mu.seen[partition] == nil {
			c.mu.seen[partition] = make(map[int64]int)
		}
		if c.mu.seen[partition][offset]++; c.mu.seen[partition][offset] > 1 {
			c.mu.again++
		}
	case "committed":
		c.mu.committed[partition] = max(c.mu.committed[partition], offset)
	}
}

func (c *churned) acknowledged() [churnPartitions]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.committed
}

// missing is how many records of a partition below end nobody has seen.
func (c *churned) missing(partition int32, end int64) (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for o := range end {
		if c.mu.seen[partition][o] == 0 {
			n++
		}
	}
	return n
}

// kind is a member that a group may have: a client, and its assignor.
type kind struct{ client, strategy string }

// TestGroupChurn has members of different clients join, leave and die at random while records come. Each record is seen; what is committed never
// goes back, and never below an acknowledged commit; no member is given what was committed before it came; no partition has two owners in
// what the coordinator says of a group.
func TestGroupChurn(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, groupSettings...)
	for name, kinds := range map[string][]kind{
		"classic":             {{"franz", "range"}, {"sarama", "range"}, {"librdkafka", "range"}},
		"classic, kafka-go":   {{"franz", "roundrobin"}, {"sarama", "roundrobin"}, {"kafka-go", "roundrobin"}},
		"cooperative":         {{"franz", "cooperative-sticky"}, {"librdkafka", "cooperative-sticky"}},
		"next generation":     {{"franz", "consumer"}, {"librdkafka", "consumer"}},
		"of both generations": {{"franz", "consumer"}, {"librdkafka", "consumer"}, {"sarama", "range"}, {"franz", "range"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			churn(t, addr, "churn-"+strings.NewReplacer(" ", "-", ",", "").Replace(name), kinds)
		})
	}
}

func churn(t *testing.T, addr, topic string, kinds []kind) {
	lasts := churnTime(t)
	ctx, cancel := context.WithTimeout(t.Context(), lasts+2*patience)
	defer cancel()
	f := franz{addr: addr}
	if err := f.CreateTopic(ctx, topic, churnPartitions, nil); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := new(churned)
	start := func() *childMember {
		k := kinds[rng.IntN(len(kinds))]
		before := c.acknowledged()
		return startMember(t, memberProcess{Addr: addr, Client: k.client, Group: topic, Topic: topic, Strategy: k.strategy}, func(what string, partition int32, offset int64) {
			if what == "seen" && offset < before[partition] {
				t.Errorf("partition %d: a member of %s is given offset %d, and when it started %d was committed", partition, k.client, offset, before[partition])
			}
			c.told(what, partition, offset)
		})
	}
	var background sync.WaitGroup
	defer background.Wait()
	churning, stop := context.WithTimeout(ctx, lasts)
	defer stop()
	background.Go(func() { produceSlowly(churning, t, f, topic) })
	background.Go(func() { watchGroup(churning, t, f, topic, c) })
	members := []*childMember{start(), start()}
	for churning.Err() == nil {
		idle(churning, time.Duration(rng.IntN(1500))*time.Millisecond)
		switch i := rng.IntN(len(members)); {
		case len(members) < 2 || len(members) < 5 && rng.IntN(2) == 0:
			members = append(members, start())
		case rng.IntN(2) == 0:
			members[i].kill()
			members = append(members[:i], members[i+1:]...)
		default:
			if err := members[i].leave(); err != nil {
				t.Errorf("a member ended with %v", err)
			}
			members = append(members[:i], members[i+1:]...)
		}
	}
	background.Wait()
	consumed(ctx, t, f, topic, c)
	for _, m := range members {
		if err := m.leave(); err != nil {
			t.Errorf("a member ended with %v", err)
		}
	}
}

// idle waits for d, or until ctx ends: it is the moment of the next change that is random, not an event that is waited for.
func idle(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// produceSlowly sends a record to each partition every few milliseconds.
func produceSlowly(ctx context.Context, t *testing.T, f franz, topic string) {
	client, err := f.open(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		records := make([]*kgo.Record, churnPartitions)
		for p := range records {
			records[p] = &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte("x")}
		}
		if err := client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
			t.Error(err)
		}
		<-tick.C
	}
}

// watchGroup compares what is committed with what was acknowledged before, and looks for partitions with two owners.
func watchGroup(ctx context.Context, t *testing.T, f franz, group string, c *churned) {
	client, err := f.open()
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	var last [churnPartitions]int64
	looks := 0
	for ctx.Err() == nil {
		idle(ctx, 50*time.Millisecond)
		acked := c.acknowledged()
		got, err := adm.FetchOffsets(context.Background(), group)
		if err != nil {
			t.Errorf("fetch offsets: %v", err)
			return
		}
		for p := range last {
			o, _ := got.Lookup(group, int32(p))
			if o.At < max(last[p], acked[p]) {
				t.Errorf("partition %d: committed is %d, was %d, and %d was acknowledged", p, o.At, last[p], acked[p])
			}
			last[p] = max(last[p], o.At)
		}
		if err := twoOwners(adm, group); err != nil {
			t.Error(err)
		}
		looks++
	}
	t.Logf("looked %d times", looks)
}

// twoOwners is an error if a partition has two owners in the group's description.
func twoOwners(adm *kadm.Client, group string) error {
	owner := make(map[int32]string)
	own := func(member string, partitions []int32) error {
		for _, p := range partitions {
			if other, taken := owner[p]; taken {
				return fmt.Errorf("partition %d is %s's and %s's", p, other, member)
			}
			owner[p] = member
		}
		return nil
	}
	next, err := adm.DescribeConsumerGroups(context.Background(), group)
	if err == nil && next[group].Err == nil {
		for _, m := range next[group].Members {
			for _, partitions := range m.Assignment {
				if err := own(m.MemberID, slices.Collect(maps.Keys(partitions))); err != nil {
					return err
				}
			}
		}
		return nil
	}
	old, err := adm.DescribeGroups(context.Background(), group)
	if err != nil || old[group].State != "Stable" {
		return nil //nolint:nilerr // it is between two rebalances
	}
	for _, m := range old[group].Members {
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range a.Topics {
				if err := own(m.MemberID, t.Partitions); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// consumed waits until all is committed, and checks that all was seen.
func consumed(ctx context.Context, t *testing.T, f franz, group string, c *churned) {
	client, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	ends, err := adm.ListEndOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	for {
		got, err := adm.FetchOffsets(ctx, group)
		if err != nil {
			t.Fatalf("all is not committed: %v", err)
		}
		behind := int64(0)
		ends.Each(func(e kadm.ListedOffset) {
			o, _ := got.Lookup(group, e.Partition)
			behind += e.Offset - o.At
		})
		if behind == 0 {
			break
		}
		idle(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("%d records are not committed", behind)
		}
	}
	total := int64(0)
	ends.Each(func(e kadm.ListedOffset) {
		total += e.Offset
		if n := c.missing(e.Partition, e.Offset); n > 0 {
			t.Errorf("partition %d: %d of %d records were seen by nobody", e.Partition, n, e.Offset)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("%d records, %d seen again", total, c.mu.again)
}
