package groups_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestUpgrade checks what the page says of a group that changes over: a next-generation member joins a classic one, shares its partitions, and
// takes over; and a classic one in the same way.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	broker := start(t, blocks(t))
	w := &watch{changed: make(chan struct{}, 1), owned: make(map[string][]int32)}
	join := func(name string, options ...kgo.Opt) *kgo.Client {
		client, err := kgo.NewClient(append(options, kgo.SeedBrokers(broker.Addr()), kgo.ConsumerGroup("change"), kgo.ConsumeTopics("orders"),
			kgo.HeartbeatInterval(100*time.Millisecond), kgo.DisableAutoCommit(),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { w.gains(name, got["orders"]) }),
			kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { w.loses(name, gone["orders"]) }),
			kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { t.Errorf("%s lost %v", name, lost) }))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	is := func(kind string) {
		t.Helper()
		groups, err := admin.ListGroups(t.Context())
		if got := groups["change"].GroupType; err != nil || got != kind {
			t.Errorf("the group is %q, %v; should be %q", got, err, kind)
		}
	}

	classic := join("classic")
	w.await(t, map[string]int{"classic": 3})
	is("classic")
	next := join("next", kgo.ServerSideBalancer())
	w.await(t, map[string]int{"classic": 2, "next": 1})
	is("consumer")
	classic.Close()
	w.await(t, map[string]int{"next": 3})
	is("consumer")
	join("classic again")
	w.await(t, map[string]int{"next": 2, "classic again": 1})
	is("consumer")
	next.Close()
	w.await(t, map[string]int{"classic again": 3})
	is("classic")
}

// watch is what members own, by their own account.
type watch struct {
	changed chan struct{} // has room for one

	mu    sync.Mutex
	owned map[string][]int32
	twice []string
}

func (w *watch) gains(name string, got []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for other, owned := range w.owned {
		for _, p := range owned {
			if slices.Contains(got, p) {
				w.twice = append(w.twice, fmt.Sprintf("%s got %d, which was %s's", name, p, other))
			}
		}
	}
	w.owned[name] = append(w.owned[name], got...)
	w.tell()
}

func (w *watch) loses(name string, gone []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owned[name] = slices.DeleteFunc(w.owned[name], func(p int32) bool { return slices.Contains(gone, p) })
	w.tell()
}

func (w *watch) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// await waits until members own as many partitions as counts says, and nobody one that is another's.
func (w *watch) await(t *testing.T, counts map[string]int) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		w.mu.Lock()
		owned, twice, done := fmt.Sprint(w.owned), slices.Clone(w.twice), true
		for name, partitions := range w.owned {
			done = done && len(partitions) == counts[name]
		}
		for name, n := range counts {
			done = done && len(w.owned[name]) == n
		}
		w.mu.Unlock()
		if len(twice) > 0 {
			t.Fatal(twice)
		}
		if done {
			return
		}
		select {
		case <-w.changed:
		case <-deadline:
			t.Fatalf("members own %s; should own %v", owned, counts)
		}
	}
}
