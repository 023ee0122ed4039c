package coordinator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestPartitionFor: as Kafka's Utils.abs(groupId.hashCode()) % n computes it.
func TestPartitionFor(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int32{
		"": 0, "a": 97 % 50, "my-group": 12, "console-consumer-12345": 6,
		"polygenelubricants": 0,  // whose hash is the smallest int
		"größe-\U0001F600":   21, // beyond the basic plane: two units
	} {
		if got := PartitionFor(id, 50); got != want {
			t.Errorf("%q is in partition %d, want %d", id, got, want)
		}
	}
}

// topicOf makes a topic whose offsets are committed.
func (n *node) topicOf(t testing.TB, name string) {
	t.Helper()
	n.topicWide(t, name, 1)
}

// eventually asks for a committed offset until the shard is loaded.
func (n *node) eventually(t testing.TB, groupID, topicName string) batch.Offset {
	t.Helper()
	for {
		got, err := n.committed(t, groupID, topicName)
		if err == nil {
			return got
		}
		if !errors.Is(err, kerr.CoordinatorLoadInProgress) && !errors.Is(err, kerr.NotCoordinator) {
			t.Fatalf("group %s: %v", groupID, err)
		}
		n.locate(t, groupID)
	}
}

// TestNoTopic: nobody coordinates before somebody looked for a coordinator; then there is the topic, and no directory of it until a commit.
func TestNoTopic(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicOf(t, "orders")
	if err := n.commit(t, "g", "orders", 1); !errors.Is(err, kerr.NotCoordinator) {
		t.Fatalf("commit: %v", err)
	}
	n.locate(t, "g")
	if got := n.eventually(t, "g", "orders"); got != -1 {
		t.Fatalf("committed: %d", got)
	}
	index := PartitionFor("g", 3)
	if n.broker.Stored(Topic, index) {
		t.Fatal("a question made a directory")
	}
	if err := n.commit(t, "g", "orders", 7); err != nil {
		t.Fatal(err)
	}
	if !n.broker.Stored(Topic, index) || n.broker.Stored(Topic, (index+1)%3) {
		t.Fatal("the commit is not in its partition alone")
	}
	if got := n.eventually(t, "g", "orders"); got != 7 {
		t.Fatalf("committed: %d, want 7", got)
	}
}

// TestRestart: a node that starts again has what was committed; while it loads it says so (hard-cases 63), and never another offset.
func TestRestart(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	n := bring(t, files)
	n.topicOf(t, "orders")
	groups := []string{"a", "b", "c", "d", "e"}
	for round := range batch.Offset(20) {
		for i, g := range groups {
			n.locate(t, g)
			if err := n.commit(t, g, "orders", 100*batch.Offset(i)+round); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.stop()
	n = bring(t, files)
	for i, g := range groups {
		if got, want := n.eventually(t, g, "orders"), 100*batch.Offset(i)+19; got != want {
			t.Errorf("group %s: %d, want %d", g, got, want)
		}
	}
}

// TestListedOnceLoaded: a list of groups is never short of those that are not loaded yet, from the first moment on.
func TestListedOnceLoaded(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	n := bring(t, files)
	n.topicOf(t, "orders")
	n.locate(t, "g")
	if err := n.commit(t, "g", "orders", 1); err != nil {
		t.Fatal(err)
	}
	n.stop()
	n = bring(t, files)
	for {
		listed, loading := 0, false
		calls := n.groups.AskAll(func() group.Input { return group.List{Caller: n.groups.Caller("test", "/127.0.0.1")} })
		for _, call := range calls {
			r := call.Wait(t.Context()).(group.ListResult)
			listed, loading = listed+len(r.Groups), loading || errors.Is(r.Err, kerr.CoordinatorLoadInProgress)
		}
		if !loading {
			if listed != 1 {
				t.Errorf("%d groups are listed, of %d shards", listed, len(calls))
			}
			return
		}
	}
}

// TestCrashAnywhere crashes at every change of the files while offsets are committed: what was acknowledged is there, or what was asked for
// after it.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	type clone struct {
		files *vfs.Mem
		acked batch.Offset
		asked batch.Offset
	}
	files := vfs.NewMem()
	n := bring(t, files)
	n.topicOf(t, "orders")
	n.locate(t, "g")
	var (
		mu           sync.Mutex
		clones       []clone
		acked, asked = batch.Offset(-1), batch.Offset(-1)
		seed         uint64
	)
	files.OnOp(func(vfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		seed++
		crash := vfs.CrashOptions{Keep: int(seed%3) * 50, Rand: rand.New(rand.NewPCG(seed, 1))}
		clones = append(clones, clone{files.CrashClone(crash), acked, asked})
	})
	for offset := range batch.Offset(10) {
		mu.Lock()
		asked = offset
		mu.Unlock()
		if err := n.commit(t, "g", "orders", offset); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		acked = offset
		mu.Unlock()
	}
	n.stop()
	files.OnOp(nil)
	for i, c := range clones {
		again := bring(t, c.files)
		if got := again.eventually(t, "g", "orders"); got < c.acked || got > c.asked {
			t.Errorf("crash %d: committed is %d, acknowledged was %d, asked for %d", i, got, c.acked, c.asked)
		}
		again.stop()
	}
	t.Logf("%d crashes", len(clones))
}

// TestNoRoom: a commit that the disk has no room for is refused, and is not there; those before are, and so are later ones.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	var full sync.Map
	files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if _, on := full.Load("on"); on && op.Kind == vfs.OpWrite {
			return fmt.Errorf("write: %w", syscall.ENOSPC)
		}
		return nil
	})
	n := bring(t, files)
	n.topicOf(t, "orders")
	n.locate(t, "g")
	if err := n.commit(t, "g", "orders", 1); err != nil {
		t.Fatal(err)
	}
	full.Store("on", true)
	if err := n.commit(t, "g", "orders", 2); !errors.Is(err, kerr.NotCoordinator) {
		t.Errorf("commit on a full disk: %v", err)
	}
	full.Delete("on")
	if got := n.eventually(t, "g", "orders"); got != 1 {
		t.Errorf("committed: %d, want 1", got)
	}
	for {
		if err := n.commit(t, "g", "orders", 3); err == nil {
			break
		} else if !errors.Is(err, kerr.NotCoordinator) {
			t.Fatal(err)
		}
	}
	if got := n.eventually(t, "g", "orders"); got != 3 {
		t.Errorf("committed: %d, want 3", got)
	}
}

// TestParkedIsAnswered: who waits in JoinGroup is answered when the coordinator closes, and woken by it.
func TestParkedIsAnswered(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.locate(t, "g")
	in := group.Join{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: "g", Session: 1 << 34, Rebalance: 1 << 40, ProtocolType: "consumer",
		Protocols: []record.Protocol{{Name: "range"}},
	}
	call := n.groups.Ask("g", in)
	w := partition.NewWaiter()
	if result, ready := call.Poll(w); ready {
		t.Fatalf("answered at once: %+v", result)
	}
	n.groups.Close()
	<-w.C
	if result, ready := call.Poll(w); !ready || !errors.Is(result.(group.JoinResult).Err, kerr.NotCoordinator) {
		t.Errorf("ready %t: %+v", ready, result)
	}
}
