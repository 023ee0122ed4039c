package broker

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestReadsMakeNothing asks a partition without records all that can be asked, has it maintained and stops: the disk is never asked about it.
// The first append makes the directory, and wakes who waited for it.
func TestReadsMakeNothing(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	var mu sync.Mutex
	var ops []string
	opts := options(vfs.Trace(files, func(op vfs.Op) {
		if strings.HasPrefix(op.Name, "a-") {
			mu.Lock()
			ops = append(ops, op.String())
			mu.Unlock()
		}
	}))
	b := bring(t, opts)
	createTopic(t, b, "a", 2)
	ask := func(b *Broker) *partition.Partition {
		t.Helper()
		p := touch(t, b, "a", 0)
		if marks := p.Offsets(); marks != (partition.Offsets{}) || b.Stored("a", 0) {
			t.Errorf("offsets %+v, stored %v, want none", marks, b.Stored("a", 0))
		}
		r, _, err := p.Read(partition.Fetch{LeaderEpoch: batch.NoEpoch, MaxBytes: 100, Whole: true})
		_, found, err1 := p.FindTimestamp(0, partition.ReadUncommitted)
		_, largest, err2 := p.MaxTimestamp(partition.ReadUncommitted)
		if err := errors.Join(err, err1, err2); err != nil || r.Len() > 0 || found || largest {
			t.Errorf("an empty partition has %d bytes, a time %v, a largest one %v: %v", r.Len(), found, largest, err)
		}
		if _, _, err := p.Read(partition.Fetch{Offset: 1, LeaderEpoch: batch.NoEpoch}); !errors.Is(err, kerr.OffsetOutOfRange) {
			t.Errorf("a read past the end: %v", err)
		}
		if epoch, end := p.EpochEnd(p.LeaderEpoch()); epoch != p.LeaderEpoch() || end != 0 {
			t.Errorf("epoch %d ends at %d", epoch, end)
		}
		if low, err := p.DeleteRecords(-1); low != 0 || err != nil {
			t.Errorf("DeleteRecords: %d, %v", low, err)
		}
		if err := errors.Join(p.Maintain(b.Now()), p.Sync()); err != nil {
			t.Error(err)
		}
		b.maintain(t.Context())
		b.checkpoint()
		if dir := b.LogDirs(nil)[0]; dir.Err != nil || len(dir.Partitions) != 2 || dir.Partitions[0].Segments != 0 {
			t.Errorf("log directory %+v", dir)
		}
		return p
	}
	ask(b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = bring(t, opts)
	if !b.CleanStart() {
		t.Error("the stop with an empty partition was not clean")
	}
	p := ask(b)
	if len(ops) > 0 {
		t.Fatalf("the disk was asked about a partition without records: %v", ops)
	}
	w := partition.NewWaiter()
	p.Watch(w)
	produce(t, p, "one")
	<-w.C
	if got := values(t, p); got != "one" || dirs(t, files) != "__cluster_metadata-0 a-0" {
		t.Errorf("records %q, directories %s", got, dirs(t, files))
	}
	again := bring(t, options(files.CrashClone(vfs.CrashOptions{})))
	if got := values(t, touch(t, again, "a", 0)); got != "one" {
		t.Errorf("after a power cut: %q", got)
	}
}

// TestDeleteWhileItIsMade deletes topics while their first records are appended: no directory of theirs stays, and the topic that is made
// next under the name has none of their records.
func TestDeleteWhileItIsMade(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, options(files))
	for range 50 {
		createTopic(t, b, "a", 1)
		p := touch(t, b, "a", 0)
		if end := p.Offsets().End; end != 0 {
			t.Fatalf("a new topic ends at %d", end)
		}
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := appendValue(p, "old"); err != nil && !errors.Is(err, kerr.NotLeaderForPartition) {
				t.Error(err)
			}
		})
		deleteTopic(t, b, "a")
		group.Wait()
	}
	eventually(t, "the directories go", func() bool { return dirs(t, files) == "__cluster_metadata-0" })
	createTopic(t, b, "a", 1)
	produce(t, touch(t, b, "a", 0), "new")
	if got := values(t, touch(t, b, "a", 0)); got != "new" {
		t.Errorf("records %q", got)
	}
	if err := b.Healthy(); err != nil {
		t.Error(err)
	}
}
