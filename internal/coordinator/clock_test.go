package coordinator

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// The clock of these tests is synctest's: time passes when nobody has anything else to do.

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// with are the lines that have all of words.
func (l *lines) with(words ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		has := true
		for _, w := range words {
			has = has && strings.Contains(line, w)
		}
		if has {
			found = append(found, line)
		}
	}
	return found
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// joining is a JoinGroup of a new member.
func (n *node) joining(groupID, member string, session, rebalance time.Duration) group.Join {
	return group.Join{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Member: member, Session: session, Rebalance: rebalance,
		ProtocolType: "consumer", Protocols: []record.Protocol{{Name: "range", Metadata: []byte("m")}},
	}
}

// join waits until the group's join phase is over.
func (n *node) join(t testing.TB, groupID, member string, session, rebalance time.Duration) group.JoinResult {
	t.Helper()
	return n.groups.Ask(groupID, n.joining(groupID, member, session, rebalance)).Wait(t.Context()).(group.JoinResult)
}

// sync gives each of the members the assignment "a".
func (n *node) syncing(groupID, member string, generation int32, members ...string) group.Sync {
	in := group.Sync{Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Member: member, Generation: generation}
	for _, m := range members {
		in.Assignments = append(in.Assignments, group.Assigned{Member: m, Assignment: []byte("a")})
	}
	return in
}

func (n *node) beat(t testing.TB, groupID, member string, generation int32) error {
	t.Helper()
	in := group.Heartbeat{Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Member: member, Generation: generation}
	return n.groups.Ask(groupID, in).Wait(t.Context()).(group.HeartbeatResult).Err
}

// TestSessionEnds: a member that is not heard of is out when its session is over, not before, and what waits for others is then answered: its
// group's next generation is without it.
func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bring(t, vfs.NewMem())
		n.serve(t, "g")
		const session = 10 * time.Second
		a := n.join(t, "g", "", session, time.Minute)
		if a.Err != nil || a.Generation != 1 || a.Leader != a.Member {
			t.Fatalf("%+v", a)
		}
		if r := n.groups.Ask("g", n.syncing("g", a.Member, 1, a.Member)).Wait(t.Context()).(group.SyncResult); r.Err != nil {
			t.Fatal(r.Err)
		}
		for range 5 {
			time.Sleep(session - time.Millisecond)
			if err := n.beat(t, "g", a.Member, 1); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		b := n.join(t, "g", "", session, time.Minute) // waits for the first member to join again, which is gone
		if took := time.Since(began); took != session || b.Err != nil || b.Generation != 2 || b.Leader != b.Member || len(b.Members) != 1 {
			t.Errorf("after %v: %+v", took, b)
		}
		if err := n.beat(t, "g", a.Member, 1); !errors.Is(err, kerr.UnknownMemberID) {
			t.Errorf("a member whose session is over: %v", err)
		}
	})
}

// TestJoinPhaseEndsByTime: a member that is alive but does not join again is out after the rebalance timeout; who leads does not sync is out
// after that, and the others, who wait, are woken.
func TestJoinPhaseEndsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := setup{group: func(o *group.Options) { o.Classic.InitialDelay = 3 * time.Second }}.bring(t, vfs.NewMem())
		n.serve(t, "g")
		began := time.Now()
		first := n.groups.Ask("g", n.joining("g", "", time.Hour, 30*time.Second))
		time.Sleep(time.Second)
		second := n.groups.Ask("g", n.joining("g", "", time.Hour, 30*time.Second))
		a, b := first.Wait(t.Context()).(group.JoinResult), second.Wait(t.Context()).(group.JoinResult)
		if took := time.Since(began); took != 4*time.Second || a.Generation != 1 || b.Generation != 1 || len(a.Members) != 2 {
			t.Fatalf("after %v: %+v, %+v", took, a, b)
		}
		// The leader does not sync.
		began = time.Now()
		r := n.groups.Ask("g", n.syncing("g", b.Member, 1)).Wait(t.Context()).(group.SyncResult)
		if took := time.Since(began); took != 30*time.Second || !errors.Is(r.Err, kerr.RebalanceInProgress) {
			t.Errorf("after %v: %v", took, r.Err)
		}
		c := n.join(t, "g", b.Member, time.Hour, 30*time.Second)
		if c.Generation != 2 || c.Leader != b.Member || len(c.Members) != 1 {
			t.Errorf("%+v", c)
		}
		// It syncs, and another one joins, for which it does not join again.
		if r := n.groups.Ask("g", n.syncing("g", b.Member, 2, b.Member)).Wait(t.Context()).(group.SyncResult); r.Err != nil {
			t.Fatal(r.Err)
		}
		began = time.Now()
		d := n.join(t, "g", "", time.Hour, 30*time.Second)
		if took := time.Since(began); took != 30*time.Second || d.Generation != 3 || d.Leader != d.Member {
			t.Errorf("after %v: %+v", took, d)
		}
	})
}

// TestConsumerSessionEnds: of the next generation.
func TestConsumerSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bring(t, vfs.NewMem())
		n.topicWide(t, "orders", 2)
		n.serve(t, "g")
		beat := func(member string, epoch int32) group.ConsumerHeartbeatResult {
			in := group.ConsumerHeartbeat{
				Caller: n.groups.Caller("test", "/127.0.0.1"), Group: "g", Member: member, Epoch: epoch, RebalanceTimeout: -1, Version: 1,
			}
			if epoch == 0 {
				in.RebalanceTimeout, in.Topics, in.Owned = time.Minute, []string{"orders"}, []record.TopicPartitions{}
			}
			return n.groups.Ask("g", in).Wait(t.Context()).(group.ConsumerHeartbeatResult)
		}
		a := beat("a", 0)
		if a.Err != nil || a.Assignment == nil || len((*a.Assignment)[0].Partitions) != 2 {
			t.Fatalf("%+v", a)
		}
		time.Sleep(44 * time.Second)
		if again := beat("a", a.Epoch); again.Err != nil {
			t.Fatal(again.Err)
		}
		time.Sleep(44 * time.Second)
		b := beat("b", 0)
		if b.Err != nil || len(*b.Assignment) != 0 {
			t.Fatalf("%+v", b)
		}
		time.Sleep(time.Second) // a is out
		synctest.Wait()
		if b = beat("b", b.Epoch); b.Err != nil || b.Assignment == nil || len((*b.Assignment)[0].Partitions) != 2 {
			t.Errorf("%+v", b)
		}
		if a = beat("a", a.Epoch); !errors.Is(a.Err, kerr.UnknownMemberID) {
			t.Errorf("%+v", a)
		}
	})
}

// TestOffsetsExpire: those of a group without members are there for offsets.retention.minutes, and gone an interval later; so they are
// after a restart.
func TestOffsetsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := vfs.NewMem()
		const retention = 24 * time.Hour
		as := setup{group: func(o *group.Options) { o.OffsetsRetention = retention }}
		n := as.bring(t, files)
		n.topicOf(t, "orders")
		n.serve(t, "g")
		if err := n.commit(t, "g", "orders", 7); err != nil {
			t.Fatal(err)
		}
		time.Sleep(retention - time.Minute)
		if got := n.eventually(t, "g", "orders"); got != 7 {
			t.Errorf("a minute before the end: %d", got)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := n.eventually(t, "g", "orders"); got != -1 {
			t.Errorf("after it: %d", got)
		}
		n.stop()
		n = as.bring(t, files)
		if got := n.patiently(t, "g", "orders"); got != -1 {
			t.Errorf("after a restart: %d", got)
		}
	})
}

// patiently asks for a committed offset until the shard is loaded, a second apart.
func (n *node) patiently(t testing.TB, groupID, topicName string) batch.Offset {
	t.Helper()
	for {
		n.locate(t, groupID)
		got, err := n.committed(t, groupID, topicName)
		if err == nil {
			return got
		}
		time.Sleep(time.Second)
	}
}

// TestFailedLoadIsRetried: a log that cannot be read is tried again after loadRetry. It is told once why, with what is to be done; who asks
// meanwhile is told to come again, and other shards are served.
func TestFailedLoadIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := vfs.NewMem()
		n := bring(t, files)
		n.topicOf(t, "orders")
		for _, id := range []string{"a", "b"} { // in two shards
			n.serve(t, id)
			if err := n.commit(t, id, "orders", 7); err != nil {
				t.Fatal(err)
			}
		}
		n.stop()
		var broken atomic.Bool
		bad := dirOf("a")
		var told lines
		n = setup{log: told.logger(), still: true}.bring(t, vfs.Faulty(files, func(op vfs.Op) error {
			if broken.Load() && op.Kind == vfs.OpRead && strings.HasPrefix(op.Name, bad) && strings.HasSuffix(op.Name, ".log") {
				return errors.New("unreadable")
			}
			return nil
		}))
		if _, err := n.broker.Partition(Topic, PartitionFor("a", 3)); err != nil { // one that cannot be opened is never tried again
			t.Fatal(err)
		}
		broken.Store(true)
		n.run()
		synctest.Wait()
		for range 5 {
			time.Sleep(loadRetry - time.Second)
			if _, err := n.committed(t, "a", "orders"); !errors.Is(err, kerr.CoordinatorNotAvailable) {
				t.Errorf("while it cannot be read: %v", err)
			}
			if got, err := n.committed(t, "b", "orders"); got != 7 || err != nil {
				t.Errorf("of the other shard: %d, %v", got, err)
			}
		}
		if f := n.groups.Figures(10); f.Failed != 1 {
			t.Errorf("%+v", f)
		}
		if found := told.with("level=ERROR"); len(found) != 1 || !strings.Contains(found[0], "unreadable") {
			t.Errorf("told: %q", found)
		}
		broken.Store(false)
		time.Sleep(loadRetry)
		synctest.Wait()
		if got, err := n.committed(t, "a", "orders"); got != 7 || err != nil {
			t.Errorf("when it can be read again: %d, %v", got, err)
		}
	})
}

// TestReloadsPause: while the disk is full, a shard whose groups cannot be written is loaded about once a second, however often clients try. When there is
// room again, they are served.
func TestReloadsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		var told lines
		n := setup{log: told.logger()}.bring(t, vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
			if full.Load() && op.Kind == vfs.OpWrite {
				return fmt.Errorf("write: %w", syscall.ENOSPC)
			}
			return nil
		}))
		n.topicOf(t, "orders")
		n.serve(t, "g")
		if err := n.commit(t, "g", "orders", 7); err != nil {
			t.Fatal(err)
		}
		join := func() error {
			r := n.join(t, "g", "", time.Minute, time.Minute)
			if r.Err != nil {
				return r.Err
			}
			return n.groups.Ask("g", n.syncing("g", r.Member, r.Generation, r.Member)).Wait(t.Context()).(group.SyncResult).Err
		}
		full.Store(true)
		for range 1000 {
			if err := join(); !passing(err) {
				t.Fatal(err)
			}
			if got, err := n.committed(t, "g", "orders"); got != 7 && !passing(err) {
				t.Fatal(got, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if found := told.with("loaded again"); len(found) < 5 || len(found) > 11 {
			t.Errorf("in 10 s it was loaded %d times", len(found))
		}
		full.Store(false)
		time.Sleep(reloadPause)
		synctest.Wait()
		if err := join(); err != nil {
			t.Error(err)
		}
	})
}
