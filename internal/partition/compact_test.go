package partition

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

func compacted(o *OpenOptions) {
	o.Compact, o.Delete = true, false
	o.Log.SegmentBytes = 300
	o.Compaction = log.Compaction{DeleteRetention: time.Hour}
}

func testCleaner() log.Cleaner { return log.Cleaner{Memory: 1 << 16, LoadFactor: 0.9, Buffer: 4096} }

// TestCompactKeepsSequences compacts all that idempotent producers wrote away, crashes, and lets them go on.
func TestCompactKeepsSequences(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	p := openTest(t, mem, compacted)
	var duplicates []proto
	for i := range int32(8) {
		for producer := range int64(2) {
			b := from(producer, 0, i*2, 2)
			appendAll(t, p, b)
			if i >= 8-5 {
				duplicates = append(duplicates, b)
			}
		}
	}
	appendAll(t, p, plain(1), plain(1), plain(1), plain(1))
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	done, err := p.Compact(start, testCleaner())
	if err != nil || done.To < 33 || done.RecordsKept != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	removeSnapshots(t, mem)
	after := openTest(t, mem.CrashClone(vfs.CrashOptions{}), func(o *OpenOptions) {
		compacted(o)
		o.Cleaned = done.To
	})
	if after.Cleaned() != done.To || after.Offsets().End != p.Offsets().End {
		t.Fatalf("reopened with %d cleaned and %+v", after.Cleaned(), after.Offsets())
	}
	for _, pr := range appendAll(t, after, duplicates...) {
		if !pr.Duplicate || pr.Err != nil {
			t.Errorf("a duplicate is answered with %+v", pr)
		}
	}
	for producer := range int64(2) {
		if pr := appendAll(t, after, from(producer, 0, 18, 1))[0]; !errors.Is(pr.Err, kerr.OutOfOrderSequenceNumber) {
			t.Errorf("a gap is answered with %v", pr.Err)
		}
		if pr := appendAll(t, after, from(producer, 0, 16, 1))[0]; pr.Err != nil || pr.Duplicate {
			t.Errorf("the next batch is answered with %+v", pr)
		}
	}
}

func removeSnapshots(t *testing.T, fs vfs.FS) {
	t.Helper()
	found, err := listSnapshots(fs, testID.String())
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for _, at := range found {
		if err := fs.Remove(snapshotName(testID.String(), at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.SyncDir(testID.String()); err != nil {
		t.Fatal(err)
	}
}

func TestCompactStaysBelowTheHighWatermark(t *testing.T) {
	t.Parallel()
	p := openTest(t, vfs.NewMem(), compacted)
	for range 10 {
		appendAll(t, p, plain(1))
	}
	if dirt, err := p.Dirt(start); err != nil || dirt.Dirty != 0 {
		t.Errorf("nothing is committed, and %+v, %v", dirt, err)
	}
	if done, err := p.Compact(start, testCleaner()); err != nil || done.To != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	if dirt, err := p.Dirt(start); err != nil || !dirt.Due(p.MinDirtyRatio()) {
		t.Errorf("all is committed, and %+v, %v", dirt, err)
	}
}

func TestCompactFailureIsFinal(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken disk")
	files := vfs.Faulty(vfs.NewMem(), vfs.FailNth(1, func(op vfs.Op) bool {
		return op.Kind == vfs.OpSync && op.Name == testID.String()+"/00000000000000000000.log.cleaned"
	}, broken))
	syncer := &dirtied{}
	p := openTest(t, files, func(o *OpenOptions) {
		compacted(o)
		memory(o)
		o.Syncer = syncer
	})
	for range 10 {
		appendAll(t, p, plain(1))
	}
	told := syncer.count()
	if _, err := p.Compact(start, testCleaner()); !errors.Is(err, broken) || !errors.Is(err, log.ErrFailed) {
		t.Errorf("got %v", err)
	}
	if pr := appendAll(t, p, plain(1))[0]; !errors.Is(pr.Err, kerr.KafkaStorageError) {
		t.Errorf("append after it: %v", pr.Err)
	}
	if syncer.count() == told {
		t.Error("the syncer was not told")
	}
	if _, err := p.Compact(start, testCleaner()); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("again: %v", err)
	}
}

// TestCompactClosed: that a topic was deleted before its turn came is nothing to be told of as damage.
func TestCompactClosed(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	mustAppend(t, p, plain(1))
	if err := p.Close(false); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Compact(start, log.Cleaner{}); !errors.Is(err, log.ErrClosed) {
		t.Errorf("%v, want log.ErrClosed", err)
	}
}
