package broker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

func journaled(files vfs.FS) Options {
	opts := options(files)
	opts.JournalBytes = 256 << 10
	return opts
}

// bringJournaled is bring with the journal's file made.
func bringJournaled(t testing.TB, opts Options) *Broker {
	t.Helper()
	b := bring(t, opts)
	if err := b.journal.Make(); err != nil {
		t.Fatal(err)
	}
	return b
}

// settled opens partitions 0 to n-1 of a new topic and has each synced once, so that their files' names are durable.
func settled(t testing.TB, b *Broker, topic string, n int32) []*partition.Partition {
	t.Helper()
	createTopic(t, b, topic, n)
	list := make([]*partition.Partition, n)
	for i := range list {
		list[i] = touch(t, b, topic, int32(i))
		if _, err := appendValue(list[i], "first"); err != nil {
			t.Fatal(err)
		}
		if err := list[i].Sync(); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// still opens a broker whose syncer does not run, so that a test does its work.
func still(t *testing.T, opts Options) *Broker {
	t.Helper()
	b, err := Open(t.Context(), opts)
	if err == nil {
		err = b.journal.Make()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// dirty appends to each partition and returns what was asked for, as the gathering goroutine takes it.
func dirty(t *testing.T, b *Broker, list []*partition.Partition, value string) []*partition.Partition {
	t.Helper()
	b.syncer.mu.small, b.syncer.mu.direct, b.syncer.mu.asked = nil, nil, map[*partition.Partition]*request{}
	for _, p := range list {
		if _, err := appendValue(p, value); err != nil {
			t.Fatal(err)
		}
	}
	return b.syncer.takeSmall(nil)
}

// TestNothingIsAcknowledgedBeforeTheJournalIsSynced looks at every call on the file system: until the journal's sync is done, no append is
// acknowledged, and the calls are one read a partition, one write and one sync.
func TestNothingIsAcknowledgedBeforeTheJournalIsSynced(t *testing.T) {
	t.Parallel()
	var (
		calls []string
		list  []*partition.Partition
		early bool
		watch bool
	)
	files := vfs.Trace(vfs.NewMem(), func(op vfs.Op) {
		if !watch {
			return
		}
		for _, p := range list {
			done, err := p.Await(2)
			early = early || done || err != nil
		}
		line, _, _ := strings.Cut(op.String(), " [")
		calls = append(calls, line)
	})
	b := still(t, journaled(files))
	list = settled(t, b, "a", 5)
	batch := dirty(t, b, list, "second")
	watch = true
	b.syncer.commit(b.journal, batch)
	watch = false
	if early {
		t.Error("an append was acknowledged before the sync of the journal")
	}
	for _, p := range list {
		if done, err := p.Await(2); !done || err != nil {
			t.Errorf("%s is not acknowledged after the sync of the journal: %v", p.ID(), err)
		}
		if p.Unsynced() == 0 || p.RecoveryPoint() != 1 {
			t.Errorf("%s: %d bytes are not synced in its own file, recovery point %d", p.ID(), p.Unsynced(), p.RecoveryPoint())
		}
	}
	slices.Sort(calls[:5])
	want := "read a-0/00000000000000000000.log, read a-1/00000000000000000000.log, read a-2/00000000000000000000.log, " +
		"read a-3/00000000000000000000.log, read a-4/00000000000000000000.log, write ottla.journal, sync ottla.journal"
	if got := strings.Join(calls, ", "); got != want {
		t.Errorf("calls:\n%s\nwant:\n%s", got, want)
	}
}

// moment is a disk after a power cut, and what consumers could read then.
type moment struct {
	disk  *vfs.Mem
	marks []batch.Offset
	after string
}

// TestCrashesOfManyPartitions cuts the power at every change of the disk while producers write to many partitions: what could be read is
// there afterwards, and nothing else than what was written.
func TestCrashesOfManyPartitions(t *testing.T) {
	t.Parallel()
	const partitions, producers, rounds = 24, 8, 12
	mem := vfs.NewMem()
	b := bringJournaled(t, journaled(mem))
	list := settled(t, b, "a", partitions)
	var (
		mu      sync.Mutex
		moments []moment
	)
	mem.OnOp(func(op vfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		m := moment{after: op.String()}
		for _, p := range list {
			m.marks = append(m.marks, p.Offsets().HighWatermark)
		}
		m.disk = mem.CrashClone(vfs.CrashOptions{Keep: 0})
		moments = append(moments, m)
	})
	var group sync.WaitGroup
	for i := range producers {
		group.Go(func() {
			for r := range rounds {
				for at := i; at < partitions; at += producers {
					end, err := appendValue(list[at], fmt.Sprintf("%d.%d", at, r))
					if err == nil {
						err = await(list[at], end)
					}
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	mem.OnOp(func(vfs.Op) {})
	frames := 0
	for i, m := range moments {
		if strings.HasPrefix(m.after, "sync ottla.journal") {
			frames++
		}
		if i%5 == 0 || i == len(moments)-1 {
			verify(t, m)
		}
	}
	t.Logf("%d moments, %d syncs of the journal for %d appends", len(moments), frames, partitions*rounds)
	if frames == 0 || frames > partitions*rounds/2 {
		t.Errorf("%d syncs of the journal for %d appends", frames, partitions*rounds)
	}
}

func verify(t *testing.T, m moment) {
	t.Helper()
	opts := journaled(m.disk)
	b := bring(t, opts)
	for i, mark := range m.marks {
		p := touch(t, b, "a", int32(i))
		if p.Offsets().End < mark {
			t.Fatalf("after %s: %s ends at %d, %d could be read before", m.after, p.ID(), p.Offsets().End, mark)
		}
		got := strings.Fields(values(t, p))
		for at, value := range got {
			if want := fmt.Sprintf("%d.%d", i, at-1); at > 0 && value != want {
				t.Fatalf("after %s: record %d of %s is %q, want %q", m.after, at, p.ID(), value, want)
			}
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCleanStopLeavesNoJournal: what stands in the directory then is Kafka's.
func TestCleanStopLeavesNoJournal(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	b := still(t, journaled(mem))
	list := settled(t, b, "a", 4)
	b.syncer.commit(b.journal, dirty(t, b, list, "second"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	if _, err := disk.Stat(journal.File); err == nil {
		t.Error("the journal is still there")
	}
	again := bring(t, journaled(disk))
	if !again.CleanStart() {
		t.Error("the stop was not clean")
	}
	for i := range int32(4) {
		if got := values(t, touch(t, again, "a", i)); got != "first second" {
			t.Errorf("records: %q", got)
		}
	}
}

// TestJournalOfAnotherPast: a directory that was closed cleanly by another program after our crash is not changed by what our journal still
// has.
func TestJournalOfAnotherPast(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	b := still(t, journaled(mem))
	list := settled(t, b, "a", 4)
	b.syncer.commit(b.journal, dirty(t, b, list, "second"))
	disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	put(t, disk, markerFile, "")
	var log logs
	opts := journaled(disk)
	opts.Log = logTo(&log)
	again := bring(t, opts)
	if got := values(t, touch(t, again, "a", 1)); got != "first" {
		t.Errorf("records: %q", got)
	}
	if !strings.Contains(log.String(), "thrown away") {
		t.Errorf("nothing is said of the journal:\n%s", log.String())
	}
}

// TestJournalWithoutMetadata: what was acknowledged in the journal is restored to a partition whose partition.metadata is gone.
func TestJournalWithoutMetadata(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	b := still(t, journaled(mem))
	list := settled(t, b, "a", 5)
	b.syncer.commit(b.journal, dirty(t, b, list, "second"))
	disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	if err := disk.Remove("a-3/partition.metadata"); err != nil {
		t.Fatal(err)
	}
	again := bring(t, journaled(disk))
	for _, index := range []int32{2, 3} {
		if got := values(t, touch(t, again, "a", index)); got != "first second" {
			t.Errorf("records of a-%d: %q", index, got)
		}
	}
}

// TestJournalOfADeletedTopic: a topic of the same name gets nothing of what the journal has of the one before.
func TestJournalOfADeletedTopic(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	b := bringJournaled(t, journaled(mem))
	list := settled(t, b, "a", 4)
	for range 3 {
		var group sync.WaitGroup
		for _, p := range list {
			group.Go(func() { produce(t, p, "old") })
		}
		group.Wait()
	}
	deleteTopic(t, b, "a")
	for _, p := range settled(t, b, "a", 4) {
		produce(t, p, "new")
	}
	again := bring(t, journaled(mem.CrashClone(vfs.CrashOptions{Keep: 0})))
	for i := range int32(4) {
		if got := values(t, touch(t, again, "a", i)); got != "first new" {
			t.Errorf("records: %q", got)
		}
	}
}

// TestFailedJournalTakesTheDirectoryOffline: a failed sync of the journal acknowledges nothing and is final, also for want of room.
func TestFailedJournalTakesTheDirectoryOffline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  vfs.Kind
		fault error
	}{{vfs.OpSync, syscall.EIO}, {vfs.OpSync, syscall.ENOSPC}, {vfs.OpWrite, syscall.EIO}} {
		kind := c.kind
		var broken atomic.Bool
		files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
			if broken.Load() && op.Kind == kind && op.Name == journal.File {
				return c.fault
			}
			return nil
		})
		b := still(t, journaled(files))
		list := settled(t, b, "a", 4)
		batch := dirty(t, b, list, "second")
		broken.Store(true)
		b.syncer.commit(b.journal, batch)
		for _, p := range list {
			if done, err := p.Await(2); done || !errors.Is(err, kerr.KafkaStorageError) {
				t.Errorf("a failed %s: acknowledged %v, %v", kind, done, err)
			}
		}
		if b.Healthy() == nil {
			t.Errorf("the directory is healthy after a failed %s of the journal", kind)
		}
	}
}

// TestNoRoomForTheJournal goes on without one.
func TestNoRoomForTheJournal(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if full.Load() && op.Name == journal.File && (op.Kind == vfs.OpPreallocate || op.Kind == vfs.OpWrite) {
			return syscall.ENOSPC
		}
		return nil
	})
	var log logs
	opts := journaled(files)
	opts.Log = logTo(&log)
	full.Store(true)
	b := bringJournaled(t, opts)
	list := settled(t, b, "a", 6)
	for range 10 {
		var group sync.WaitGroup
		for _, p := range list {
			group.Go(func() { produce(t, p, "x") })
		}
		group.Wait()
	}
	if n := strings.Count(log.String(), "no journal"); n != 1 {
		t.Errorf("said %d times, want once\n%s", n, log.String())
	}
	if _, err := files.Stat(journal.File); err == nil {
		t.Error("there is a file")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
