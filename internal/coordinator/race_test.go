package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// crowd is many clients that ask for anything.
type crowd struct {
	n       *node
	members sync.Map // of classic groups: member ids by number
	count   atomic.Int64
}

func (c *crowd) member(rng *rand.Rand) (id string, generation int32) {
	if n := c.count.Load(); n > 0 {
		if m, ok := c.members.Load(n - 1 - rng.Int64N(min(n, 20))); ok {
			r := m.(group.JoinResult)
			return r.Member, r.Generation
		}
	}
	return "nobody", 1
}

// input is any input.
func (c *crowd) input(rng *rand.Rand, id string) group.Input {
	n, caller := c.n, c.n.groups.Caller("client", "/127.0.0.1")
	member, generation := c.member(rng)
	switch rng.IntN(14) {
	case 0:
		in := n.joining(id, "", time.Duration(1+rng.IntN(3))*time.Second, time.Duration(rng.IntN(20))*time.Millisecond)
		in.NeedsKnownID = rng.IntN(3) == 0
		return in
	case 1:
		return n.joining(id, member, time.Second, 20*time.Millisecond)
	case 2, 3:
		return n.syncing(id, member, generation, member)
	case 4:
		return group.Heartbeat{Caller: caller, Group: id, Member: member, Generation: generation}
	case 5:
		return n.leaving(id, member)
	case 6:
		return n.committing(id, "orders", batch.Offset(rng.IntN(100)))
	case 7:
		return n.fetching(id, "orders")
	case 8:
		return group.Describe{Caller: caller, Group: id}
	case 9:
		return n.heartbeat("c"+id, fmt.Sprint("m", rng.IntN(5)), rng.Int32N(4)-1)
	case 10:
		return group.ConsumerDescribe{Caller: caller, Group: "c" + id}
	case 11:
		return group.DeleteOffsets{Caller: caller, Group: id, Topics: []group.FetchTopic{{Topic: "orders", Partitions: []int32{0}}}}
	case 12:
		return group.Delete{Caller: caller, Group: id}
	}
	return group.List{Caller: caller}
}

// ask asks until over, and waits for most answers; some clients go away. What is never waited for is returned.
func (c *crowd) ask(ctx context.Context, t *testing.T, seed uint64, over *atomic.Bool) (left []*Call) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for !over.Load() {
		id := fmt.Sprint("g", rng.IntN(6))
		in := c.input(rng, id)
		call := c.n.groups.Ask(id, in)
		switch rng.IntN(4) {
		case 0: // the client is gone
			w := partition.NewWaiter()
			call.Poll(w)
			call.Drop()
			left = append(left, call)
			continue
		case 1: // it waits in its reply
			left = append(left, call)
			if len(left) < 100 {
				continue
			}
			call, left = left[0], left[1:]
		}
		short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		result := call.Wait(short)
		cancel()
		if result == nil || reflect.TypeOf(result) != reflect.TypeOf(group.Failed(call.in, kerr.UnknownServerError)) {
			t.Errorf("%+v was answered with %+v", call.in, result)
		}
		if r, ok := result.(group.JoinResult); ok && (r.Err == nil || errors.Is(r.Err, kerr.MemberIDRequired)) {
			c.members.Store(c.count.Add(1)-1, r)
		}
	}
	return left
}

// TestAllAtOnce: clients of all kinds ask, come and go, while topics come and go, shards are loaded anew, metrics look, and in the end the
// coordinator closes. Each call is answered, and none is kept.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicWide(t, "orders", 3)
	n.serve(t, "g0")
	c := crowd{n: n}
	var over atomic.Bool
	var runs sync.WaitGroup
	var mu sync.Mutex
	var left []*Call
	for i := range uint64(8) {
		runs.Go(func() {
			calls := c.ask(t.Context(), t, i, &over)
			mu.Lock()
			defer mu.Unlock()
			left = append(left, calls...)
		})
	}
	var tables []*table
	runs.Go(func() {
		defer over.Store(true)
		for i := range 1000 {
			if i == 900 { // what comes now finds it closed
				n.groups.Close()
			}
			_ = n.groups.Locate(t.Context(), "g0")
			if tb := n.groups.table.Load(); tb != nil && (len(tables) == 0 || tables[len(tables)-1] != tb) {
				tables = append(tables, tb)
			}
			switch i % 5 {
			case 0:
				n.reload(fmt.Sprint("g", i%7))
			case 1:
				n.topicWide(t, fmt.Sprint("t", i), 1)
			case 2:
				n.deleteTopic(t, fmt.Sprint("t", i-1))
			case 3:
				n.groups.Figures(10)
				for _, call := range n.groups.AskAll(func() group.Input { return group.List{Caller: n.groups.Caller("", "")} }) {
					call.Wait(t.Context())
				}
			case 4:
				if i%20 == 4 {
					n.deleteTopic(t, Topic)
				}
			}
		}
	})
	runs.Wait()
	for _, call := range left {
		if result, ready := call.Poll(nil); !ready || result == nil {
			t.Errorf("%+v is not answered", call.in)
		}
	}
	for _, tb := range tables {
		for _, s := range tb.shards {
			s.mu.Lock()
			if s.mu.state != closed || len(s.mu.calls) > 0 {
				t.Errorf("shard %d is %d and has %d calls", s.index, s.mu.state, len(s.mu.calls))
			}
			s.mu.Unlock()
		}
	}
	if r := n.groups.Ask("g0", n.fetching("g0", "orders")).Wait(t.Context()).(group.FetchResult); !errors.Is(r.Err, kerr.NotCoordinator) {
		t.Errorf("after Close: %v", r.Err)
	}
	if calls := n.groups.AskAll(func() group.Input { return group.List{} }); len(calls) != 1 ||
		!errors.Is(calls[0].Wait(t.Context()).(group.ListResult).Err, kerr.NotCoordinator) {
		t.Error("after Close, there are no groups, and no error")
	}
	t.Logf("%d tables, %d members", len(tables), c.count.Load())
}
