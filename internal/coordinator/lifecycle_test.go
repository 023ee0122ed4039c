package coordinator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Hard-cases row 55: loads and unloads in any order, and what becomes of those who wait.

// deleteTopic deletes a topic.
func (n *node) deleteTopic(t testing.TB, name string) {
	t.Helper()
	results, err := n.broker.DeleteTopics(t.Context(), []meta.TopicRef{{Name: name}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

// passing reports whether err tells a client to try again, here or elsewhere.
func passing(err error) bool {
	return errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator) || errors.Is(err, kerr.CoordinatorNotAvailable)
}

// TestOffsetsTopicIsMadeAgain: __consumer_offsets is deleted and made again while groups commit, ask and wait. What is shown is what was
// committed last, or nothing; whoever waits is answered; and after all, groups are served.
func TestOffsetsTopicIsMadeAgain(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicOf(t, "orders")
	n.locate(t, "g0")
	var over atomic.Bool
	var runs sync.WaitGroup
	var commits, parked atomic.Int64
	for i := range 4 {
		id := fmt.Sprint("g", i)
		runs.Go(func() {
			last := batch.Offset(-1)
			for next := batch.Offset(0); !over.Load(); next++ {
				_ = n.groups.Locate(t.Context(), id)
				switch err := n.commit(t, id, "orders", next); {
				case err == nil:
					last = next
					commits.Add(1)
				case !passing(err):
					t.Errorf("commit: %v", err)
				}
				got, err := n.committed(t, id, "orders")
				if err != nil && !passing(err) || err == nil && got != -1 && (got < last || got > next) {
					t.Errorf("%s: %d is shown, %v; %d was acknowledged, and %d asked for", id, got, err, last, next)
				}
			}
		})
		runs.Go(func() {
			for !over.Load() {
				_ = n.groups.Locate(t.Context(), id+"-members")
				r := n.join(t, id+"-members", "", time.Hour, time.Hour)
				parked.Add(1)
				if r.Err == nil {
					// The next one would wait for this one to join again, and only the end of the shard ends that.
					continue
				}
				if !passing(r.Err) {
					t.Errorf("join: %v", r.Err)
				}
			}
		})
	}
	for range 100 {
		n.deleteTopic(t, Topic)
		if err := n.groups.Locate(t.Context(), "g0"); err != nil && !passing(err) {
			t.Error(err)
		}
		for before := commits.Load(); commits.Load() < before+5; {
			runtime.Gosched()
		}
	}
	over.Store(true)
	n.deleteTopic(t, Topic)
	runs.Wait()
	n.locate(t, "g0")
	n.eventually(t, "g0", "orders")
	if err := n.commit(t, "g0", "orders", 1_000_000); err != nil {
		t.Error(err)
	}
	t.Logf("%d commits, %d joins answered", commits.Load(), parked.Load())
}

// gate holds syncs up while it is closed.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
	fail error
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) files(under vfs.FS) vfs.FS {
	return vfs.Faulty(under, func(op vfs.Op) error {
		if op.Kind != vfs.OpSync {
			return nil
		}
		g.mu.Lock()
		open := g.open
		g.mu.Unlock()
		<-open
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.fail
	})
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// release lets all through; the syncs fail if err is not nil.
func (g *gate) release(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = err
	close(g.open)
}

// asking are calls that a test looks at.
type asking struct {
	n     *node
	group string
	calls []*Call
}

func (a *asking) ask(in group.Input) *Call {
	call := a.n.groups.Ask(a.group, in)
	a.calls = append(a.calls, call)
	return call
}

func (n *node) fetching(groupID, topicName string) group.Fetch {
	return group.Fetch{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Epoch: -1,
		Topics: []group.FetchTopic{{Topic: topicName, Partitions: []int32{0}}},
	}
}

func (n *node) committing(groupID, topicName string, offset batch.Offset) group.Commit {
	return group.Commit{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Epoch: -1, Retention: -1, Version: 8,
		Topics: []group.CommitTopic{{Topic: topicName, Partitions: []group.CommitPartition{{Offset: offset, LeaderEpoch: -1, Timestamp: -1}}}},
	}
}

func (n *node) heartbeat(groupID, member string, epoch int32) group.ConsumerHeartbeat {
	in := group.ConsumerHeartbeat{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Member: member, Epoch: epoch, RebalanceTimeout: -1, Version: 1,
	}
	if epoch == 0 {
		in.RebalanceTimeout, in.Topics, in.Owned = time.Minute, []string{"orders"}, []record.TopicPartitions{}
	}
	return in
}

// siblings are ids of two groups in one shard.
func siblings() (a, b string) {
	a = "a"
	for i := 0; ; i++ {
		if b = fmt.Sprint("b", i); PartitionFor(b, 3) == PartitionFor(a, 3) {
			return a, b
		}
	}
}

// TestAnswersWaitForWhatTheyShow: what is written and not synced is shown to nobody, be it an offset, its absence, or a group; what was there
// before is shown at once.
func TestAnswersWaitForWhatTheyShow(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := bring(t, g.files(vfs.NewMem()))
	n.topicOf(t, "orders")
	id, other := siblings()
	n.serve(t, id)
	for _, of := range []string{id, other} {
		if err := n.commit(t, of, "orders", 1); err != nil {
			t.Fatal(err)
		}
	}
	caller := func() group.Caller { return n.groups.Caller("test", "/127.0.0.1") }
	g.shut()
	a := asking{n: n, group: id}
	a.ask(n.committing(id, "orders", 2))
	a.ask(n.fetching(id, "orders"))
	a.ask(group.Fetch{Caller: caller(), Group: id, Epoch: -1})
	a.ask(n.heartbeat("c"+id, "m", 0))
	a.ask(group.ConsumerDescribe{Caller: caller(), Group: "c" + id})
	a.ask(group.List{Caller: caller()})
	a.ask(group.DeleteOffsets{Caller: caller(), Group: other, Topics: []group.FetchTopic{{Topic: "orders", Partitions: []int32{0}}}})
	a.ask(n.fetching(other, "orders"))
	a.ask(group.Delete{Caller: caller(), Group: other}) // it stayed when its only offset went
	a.ask(group.Describe{Caller: caller(), Group: other})
	w := partition.NewWaiter()
	for i, call := range a.calls {
		if r, ready := call.Poll(w); ready {
			t.Errorf("call %d is answered before the sync: %+v", i, r)
		}
	}
	// Nothing here depends on what is not synced. A group that was never there might have been removed just now, and waits too.
	for i, in := range []group.Input{n.joining(id+"-new", "", 1, 1), group.Heartbeat{Caller: caller(), Group: id, Member: "nobody", Generation: 1}} {
		if r, ready := n.groups.Ask(id, in).Poll(nil); !ready {
			t.Errorf("%d: what shows nothing waits: %+v", i, r)
		}
	}
	g.release(nil)
	want := []func(any) bool{
		func(r any) bool { return r.(group.CommitResult).Topics[0].Partitions[0].Err == nil },
		func(r any) bool { return r.(group.FetchResult).Topics[0].Partitions[0].Offset == 2 },
		func(r any) bool { return r.(group.FetchResult).Topics[0].Partitions[0].Offset == 2 },
		func(r any) bool { return r.(group.ConsumerHeartbeatResult).Err == nil },
		func(r any) bool { return r.(group.ConsumerDescribeResult).Err == nil },
		func(r any) bool { return len(r.(group.ListResult).Groups) == 3 },
		func(r any) bool { return r.(group.DeleteOffsetsResult).Err == nil },
		func(r any) bool { return r.(group.FetchResult).Topics[0].Partitions[0].Offset == -1 },
		func(r any) bool { return r.(group.DeleteResult).Err == nil },
		func(r any) bool { return errors.Is(r.(group.DescribeResult).Err, kerr.GroupIDNotFound) },
	}
	for i, call := range a.calls {
		if r := call.Wait(t.Context()); !want[i](r) {
			t.Errorf("call %d: %+v", i, r)
		}
	}
}

// TestSyncFails: who waits for a sync that fails is told to look for the coordinator, and so is who waits for others; nothing is shown that may
// not be on the disk.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	for _, while := range []string{"serving", "loading"} {
		g := newGate()
		n := bring(t, g.files(vfs.NewMem()))
		n.topicOf(t, "orders")
		id, other := siblings()
		n.serve(t, id)
		for _, of := range []string{id, other} {
			if err := n.commit(t, of, "orders", 1); err != nil {
				t.Fatal(err)
			}
		}
		g.shut()
		a := asking{n: n, group: id}
		a.ask(n.committing(id, "orders", 2))
		a.ask(n.fetching(id, "orders"))
		a.ask(n.joining(id+"-members", "", time.Hour, time.Hour))
		if while == "loading" {
			n.reload(id)
			if r := a.calls[2].Wait(t.Context()).(group.JoinResult); !errors.Is(r.Err, kerr.NotCoordinator) {
				t.Errorf("join: %v", r.Err)
			}
			a.ask(n.fetching(id, "orders"))
		}
		g.release(syscall.EIO)
		for i, call := range a.calls {
			if i == 2 {
				continue
			}
			var err error
			switch r := call.Wait(t.Context()).(type) {
			case group.CommitResult:
				err = r.Topics[0].Partitions[0].Err
			case group.FetchResult:
				err = r.Err
			}
			if !passing(err) {
				t.Errorf("%s: call %d: %v", while, i, err)
			}
		}
		if got, err := n.committed(t, id, "orders"); err == nil {
			t.Errorf("%s: committed is %d", while, got)
		}
		if got, err := n.committed(t, other, "orders"); while == "serving" && got != 1 || err != nil && !passing(err) {
			t.Errorf("%s: committed of the other is %d, %v", while, got, err)
		}
		if err := n.commit(t, other, "orders", 3); !passing(err) {
			t.Errorf("%s: commit after it: %v", while, err)
		}
		n.stop()
		for i, call := range a.calls {
			if _, ready := call.Poll(nil); !ready {
				t.Errorf("%s: call %d is never answered", while, i)
			}
		}
	}
}

// TestAppendFailsInTheMiddle of a step of many batches: live state is what the log has, and the client is told that not all is committed. So
// are those of a step that is one change, which is half there.
func TestAppendFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	var left atomic.Int64
	var most atomic.Int64
	most.Store(1 << 20)
	left.Store(1 << 40)
	mem := vfs.NewMem()
	files := vfs.Faulty(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && len(op.Name) > len(Topic) && op.Name[:len(Topic)] == Topic && left.Add(-1) < 0 {
			return fmt.Errorf("write: %w", syscall.ENOSPC)
		}
		return nil
	})
	n := setup{resolve: func(o *partition.Options) { o.MaxMessageBytes = int(most.Load()) }}.bring(t, files)
	n.topicWide(t, "orders", 4)
	n.serve(t, "g")
	n.commitWide(t, "g", "orders", 100, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	worked, failed := 0, 0
	for round := range batch.Offset(20) {
		most.Store(200)
		for _, m := range []string{"m1", "m2", "m3"} {
			a := asking{n: n, group: "g"}
			left.Store(rng.Int64N(8))
			call := a.ask(n.heartbeat("c", m, 0))
			wide := n.committing("g", "orders", round+1)
			wide.Topics[0].Partitions = nil
			for i := range int32(100) {
				wide.Topics[0].Partitions = append(wide.Topics[0].Partitions, group.CommitPartition{Partition: i, Offset: round + 1, LeaderEpoch: -1, Timestamp: -1})
			}
			a.ask(wide)
			left.Store(1 << 40)
			for _, p := range a.calls[1].Wait(t.Context()).(group.CommitResult).Topics[0].Partitions {
				if !errors.Is(p.Err, kerr.NotCoordinator) {
					t.Fatalf("commit: %v", p.Err)
				}
			}
			if err := call.Wait(t.Context()).(group.ConsumerHeartbeatResult).Err; err == nil {
				worked++
			} else if !passing(err) {
				t.Errorf("heartbeat: %v", err)
			} else {
				failed++
			}
		}
		most.Store(1 << 20)
		before := n.shown(t, "g", "c")
		n.reload("g")
		n.reload("c")
		if after := n.shown(t, "g", "c"); before != after {
			t.Fatalf("round %d: live:\n%s\nafter a replay:\n%s", round, before, after)
		}
	}
	if worked < 5 || failed < 5 {
		t.Errorf("%d heartbeats worked, %d failed", worked, failed)
	}
}

// shown is all that groups show, once they are loaded.
func (n *node) shown(t testing.TB, groups ...string) string {
	t.Helper()
	caller := func() group.Caller { return n.groups.Caller("test", "/127.0.0.1") }
	var b strings.Builder
	for _, id := range groups {
		fmt.Fprintln(&b, n.all(t, id))
		fmt.Fprintln(&b, n.groups.Ask(id, group.Describe{Caller: caller(), Group: id}).Wait(t.Context()))
		fmt.Fprintln(&b, n.groups.Ask(id, group.ConsumerDescribe{Caller: caller(), Group: id}).Wait(t.Context()))
	}
	return b.String()
}

// TestSmallBatches: batches fit segment.bytes as well as max.message.bytes, and where no record fits any more, clients are told so, and the
// shard is not loaded over and over.
func TestSmallBatches(t *testing.T) {
	t.Parallel()
	var segment, message atomic.Int64
	segment.Store(2000)
	message.Store(1 << 20)
	files := vfs.NewMem()
	var told lines
	as := setup{log: told.logger(), resolve: func(o *partition.Options) {
		o.Log.SegmentBytes, o.MaxMessageBytes = segment.Load(), int(message.Load())
	}}
	n := as.bring(t, files)
	n.topicOf(t, "orders")
	n.serve(t, "g")
	n.commitWide(t, "g", "orders", 1000, 7)
	n.stop()
	message.Store(50)
	n = as.bring(t, files)
	if got := n.eventually(t, "g", "orders"); got != 7 {
		t.Errorf("committed is %d, want 7", got)
	}
	if err := n.commit(t, "g", "orders", 8); !errors.Is(err, kerr.InvalidCommitOffsetSize) {
		t.Errorf("commit: %v", err)
	}
	if r := n.join(t, "g", "", time.Minute, time.Minute); !errors.Is(r.Err, kerr.UnknownServerError) {
		t.Errorf("join: %v", r.Err)
	}
	if h := n.groups.Ask("c", n.heartbeat("c", "m", 0)).Wait(t.Context()).(group.ConsumerHeartbeatResult); h.Err == nil || passing(h.Err) {
		t.Errorf("heartbeat: %v", h.Err)
	}
	if found := told.with("loaded again"); len(found) > 0 {
		t.Errorf("it was loaded again: %q", found)
	}
}

// TestOffsetsTopicOfAnotherSize: it is not given more partitions, in which nobody would find the groups that are there. Made again with another
// number, it has none of them, wherever they are now; who waits looks there.
func TestOffsetsTopicOfAnotherSize(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	n := bring(t, files)
	n.topicOf(t, "orders")
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprint("g", i)
		n.serve(t, ids[i])
		if err := n.commit(t, ids[i], "orders", batch.Offset(i)); err != nil {
			t.Fatal(err)
		}
	}
	n.join(t, "g0", "", time.Hour, time.Hour)
	parked := n.groups.Ask("g0", n.joining("g0", "", time.Hour, time.Hour)) // until the other one joins again
	results, err := n.broker.CreatePartitions(t.Context(), []meta.MorePartitions{{Topic: Topic, Count: 5}}, false)
	if err != nil || !errors.Is(results[0].Err, kerr.InvalidTopicException) {
		t.Errorf("more partitions: %v, %v", err, results)
	}
	for i, id := range ids {
		if got := n.eventually(t, id, "orders"); got != batch.Offset(i) {
			t.Errorf("%s: committed is %d, want %d", id, got, i)
		}
	}
	n.deleteTopic(t, Topic)
	n.topicWide(t, Topic, 5)
	if r := parked.Wait(t.Context()).(group.JoinResult); !errors.Is(r.Err, kerr.NotCoordinator) {
		t.Errorf("join: %v", r.Err)
	}
	for i, id := range ids {
		n.serve(t, id)
		if got := n.eventually(t, id, "orders"); got != -1 {
			t.Errorf("%s: committed is %d", id, got)
		}
		if err := n.commit(t, id, "orders", batch.Offset(100+i)); err != nil {
			t.Error(err)
		}
	}
	n.stop()
	n = bring(t, files)
	for i, id := range ids {
		n.serve(t, id)
		if got := n.eventually(t, id, "orders"); got != batch.Offset(100+i) {
			t.Errorf("%s: committed is %d, want %d", id, got, 100+i)
		}
	}
}

// TestOneWaiterForAll: a connection has one waiter for all of its replies. It is woken for each in turn, though they wait for the same partition,
// and is not left behind in a partition that no reply waits for any more.
func TestOneWaiterForAll(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := bring(t, g.files(vfs.NewMem()))
	n.topicOf(t, "orders")
	n.serve(t, "g")
	if err := n.commit(t, "g", "orders", 0); err != nil { // the first one opens the partition, which syncs
		t.Fatal(err)
	}
	w := partition.NewWaiter()
	wait := func(call *Call) {
		for _, ready := call.Poll(w); !ready; _, ready = call.Poll(w) {
			<-w.C
		}
	}
	for offset := range batch.Offset(20) {
		g.shut()
		commit := n.groups.Ask("g", n.committing("g", "orders", offset))
		fetch := n.groups.Ask("g", n.fetching("g", "orders"))
		id := fmt.Sprint("new", offset)
		join := n.groups.Ask(id, n.joining(id, "", time.Minute, time.Minute))
		if _, ready := commit.Poll(w); ready {
			t.Fatal("it does not wait")
		}
		g.release(nil)
		wait(commit)
		g.shut()
		again := n.groups.Ask("g", n.committing("g", "orders", offset))
		wait(fetch)
		wait(join)
		if _, ready := again.Poll(w); ready {
			t.Fatal("it does not wait")
		}
		again.Drop()
		select {
		case <-w.C: // of before
		default:
		}
		g.release(nil)
		if r := again.Wait(t.Context()).(group.CommitResult); r.Topics[0].Partitions[0].Err != nil {
			t.Fatal(r)
		}
		select {
		case <-w.C:
			t.Error("a call that was given up wakes its waiter")
		default:
		}
	}
}
