package crash

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// groups is how many groups commit; they are spread over the partitions of __consumer_offsets.
const groups = 24

// commits remembers what each group has committed: the last offset that was acknowledged, and the last that was asked for.
type commits struct {
	mu struct {
		sync.Mutex
		acked, asked [groups]int64
		count        int
	}
}

func newCommits() *commits {
	c := new(commits)
	for g := range groups {
		c.mu.acked[g] = -1
	}
	return c
}

func groupName(g int) string { return fmt.Sprintf("group-%d", g) }

func (c *commits) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.count
}

// run commits rising offsets for groups first, first+step, ... until ctx ends; it lives across the broker's deaths.
func (c *commits) run(ctx context.Context, t *testing.T, addr string, first, step int) {
	client, err := adminClient(addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for n := int64(1); ctx.Err() == nil; n++ {
		<-tick.C
		for g := first; g < groups && ctx.Err() == nil; g += step {
			c.mu.Lock()
			c.mu.asked[g] = n
			c.mu.Unlock()
			var offsets kadm.Offsets
			offsets.AddOffset(topic, int32(g%partitions), n, -1)
			for ctx.Err() == nil {
				answer, err := adm.CommitOffsets(ctx, groupName(g), offsets)
				if err == nil && answer.Error() == nil {
					c.mu.Lock()
					c.mu.acked[g] = n
					c.mu.count++
					c.mu.Unlock()
					break
				}
			}
		}
	}
}

// check compares what each group has committed now.
func (c *commits) check(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := adminClient(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	for g := range groups {
		c.mu.Lock()
		acked := c.mu.acked[g]
		c.mu.Unlock()
		got, err := adm.FetchOffsets(ctx, groupName(g))
		if err != nil {
			t.Fatalf("%s: %v", groupName(g), err)
		}
		at := int64(-1)
		if o, ok := got.Lookup(topic, int32(g%partitions)); ok {
			at = o.At
		}
		c.mu.Lock()
		asked := c.mu.asked[g]
		c.mu.Unlock()
		if at < acked || at > asked {
			t.Errorf("%s: committed is %d; acknowledged was %d, asked for %d", groupName(g), at, acked, asked)
		}
	}
}

func adminClient(addr string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(addr), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
}
