package partition

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// results says what became of a group, in short.
func results(group []*Produce) []string {
	var out []string
	for _, pr := range group {
		text := describe(pr)
		if code, ok := errors.AsType[*kerr.Error](pr.Err); ok {
			text = code.Message
		}
		out = append(out, text)
	}
	return out
}

func checkResults(t *testing.T, group []*Produce, want ...string) {
	t.Helper()
	if got := results(group); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestAppendGroup(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), memory)
	group := appendAll(t, p, plain(3), from(1, 0, 0, 2), plain(1), from(1, 0, 2, 4))
	checkResults(t, group, "[0, 3)", "[3, 5)", "[5, 6)", "[6, 10)")
	if group[1].Count != 2 || group[1].Bytes != len(group[1].Records) || group[1].AppendTime != batch.NoTimestamp {
		t.Errorf("%+v", group[1])
	}
	next := batch.Offset(0)
	for _, b := range readAll(t, p) {
		if b.BaseOffset() != next || b.LeaderEpoch() != 5 {
			t.Errorf("stored at %d with epoch %d, want %d and 5", b.BaseOffset(), b.LeaderEpoch(), next)
		}
		next = b.NextOffset()
	}
	if next != 10 {
		t.Errorf("stored to %d, want 10", next)
	}
}

// TestRefusedTakesNoOffset: what is refused in a group leaves no hole, and what its producer sends after it is a gap.
func TestRefusedTakesNoOffset(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), memory)
	bad := from(1, 0, 0, 2).produce(t)
	bad.Records[len(bad.Records)-1] ^= 1
	group := []*Produce{
		plain(1).produce(t), bad, from(1, 0, 2, 2).produce(t), from(2, 0, 0, 2).produce(t), from(2, 0, 9, 1).produce(t),
		from(2, 0, 0, 2).produce(t), from(2, 0, 2, 2).produce(t),
	}
	p.Append(start, group)
	checkResults(t, group, "[0, 1)", "CORRUPT_MESSAGE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "[1, 3)",
		"OUT_OF_ORDER_SEQUENCE_NUMBER", "duplicate [1, 3)", "[3, 5)")
	checkResults(t, appendAll(t, p, from(1, 0, 0, 2), from(1, 0, 2, 2)), "[5, 7)", "[7, 9)")
	if n := len(readAll(t, p)); n != 5 {
		t.Errorf("%d batches are stored, want 5", n)
	}
}

func TestProducers(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	for i := range int32(6) {
		mustAppend(t, p, from(1, 0, i*10, 10))
	}
	checkResults(t, appendAll(t, p, from(1, 0, 10, 10), from(1, 0, 50, 10), from(1, 0, 0, 10), from(1, 1, 5, 1), from(1, 1, 0, 1),
		from(1, 0, 60, 1)),
		"duplicate [10, 20)", "duplicate [50, 60)", "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER", "[60, 61)",
		"INVALID_PRODUCER_EPOCH")
}

// TestGroupOverSegments: a group larger than a segment is written in parts, and is judged as one.
func TestGroupOverSegments(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	p := openTest(t, fs, func(o *OpenOptions) { o.Durability, o.Log.SegmentBytes = DurabilityMemory, 1000 })
	var group []*Produce
	for i := range int32(20) {
		o := from(1, 0, i, 1)
		o.size = 200
		group = append(group, o.produce(t))
	}
	repeat := from(1, 0, 19, 1)
	repeat.size = 200
	group = append(group, repeat.produce(t), from(1, 0, 25, 1).produce(t))
	p.Append(start, group)
	for i, pr := range group[:20] {
		if pr.Err != nil || pr.Base != batch.Offset(i) {
			t.Errorf("batch %d: %s", i, describe(pr))
		}
	}
	checkResults(t, group[20:], "duplicate [19, 20)", "OUT_OF_ORDER_SEQUENCE_NUMBER")
	if n := p.log.Segments(); n < 5 {
		t.Errorf("%d segments, want at least 5", n)
	}
	if n := len(readAll(t, p)); n != 20 {
		t.Errorf("%d batches are stored, want 20", n)
	}
	if len(p.mu.snapshots) != snapshotsKept {
		t.Errorf("%d producer snapshots are kept, want %d", len(p.mu.snapshots), snapshotsKept)
	}
}

func TestNotLeader(t *testing.T) {
	t.Parallel()
	p, err := Open(newFS(t), testID.String(), testID, start, OpenOptions{Options: testOptions()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(false)
	if pr := appendAll(t, p, plain(1))[0]; !errors.Is(pr.Err, kerr.NotLeaderForPartition) {
		t.Errorf("%s", describe(pr))
	}
	if _, _, err := p.Read(Fetch{LeaderEpoch: batch.NoEpoch}); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("read: %v", err)
	}
	if err := p.Lead(start, 3); err != nil {
		t.Fatal(err)
	}
	if err := p.Lead(start, 2); !errors.Is(err, kerr.FencedLeaderEpoch) {
		t.Errorf("lead at an older epoch: %v", err)
	}
	if epoch := p.LeaderEpoch(); epoch != 3 {
		t.Errorf("leader epoch %d, want 3", epoch)
	}
}

// TestNoSpace is case 27: a full disk refuses produces, for now; the same sequence is accepted when there is room.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	full := false
	syncer := &dirtied{}
	fs := vfs.Faulty(newFS(t), func(op vfs.Op) error {
		if full && op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, ".log") {
			return syscall.ENOSPC
		}
		return nil
	})
	p := openTest(t, fs, func(o *OpenOptions) { o.Syncer = syncer })
	first := mustAppend(t, p, from(1, 0, 0, 2))[0]
	mustSync(t, p)
	full = true
	checkResults(t, appendAll(t, p, from(1, 0, 2, 2), from(1, 0, 0, 2), from(1, 0, 2, 2), plain(1)),
		"KAFKA_STORAGE_ERROR", "duplicate [0, 2)", "KAFKA_STORAGE_ERROR", "KAFKA_STORAGE_ERROR")
	if marks := p.Offsets(); marks.End != 2 || marks.HighWatermark != 2 {
		t.Errorf("%+v after a refused write", marks)
	}
	if done, err := p.Await(first.End); !done || err != nil {
		t.Errorf("what was committed before: %t, %v", done, err)
	}
	if n := len(readAll(t, p)); n != 1 {
		t.Errorf("%d batches are readable, want 1", n)
	}
	if low, err := p.DeleteRecords(1); low != 1 || err != nil {
		t.Errorf("delete records: %d, %v", low, err)
	}
	full = false
	checkResults(t, appendAll(t, p, from(1, 0, 2, 2), plain(1)), "[2, 4)", "[4, 5)")
	mustSync(t, p)
}

// TestFailedWriteIsFinal is case 22: after an I/O error nothing is appended, and no offset is given twice.
func TestFailedWriteIsFinal(t *testing.T) {
	t.Parallel()
	fail := false
	mem, syncer := newFS(t), &dirtied{}
	fs := vfs.Faulty(mem, func(op vfs.Op) error {
		if fail && op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, ".log") {
			return &vfs.ShortWriteError{N: 30, Err: syscall.EIO}
		}
		return nil
	})
	p := openTest(t, fs, func(o *OpenOptions) { o.Syncer = syncer })
	mustAppend(t, p, plain(2))
	mustSync(t, p)
	w := NewWaiter()
	p.Watch(w)
	fail = true
	told := syncer.count()
	checkResults(t, appendAll(t, p, plain(1), plain(1)), "KAFKA_STORAGE_ERROR", "KAFKA_STORAGE_ERROR")
	fail = false
	checkResults(t, appendAll(t, p, plain(1)), "KAFKA_STORAGE_ERROR")
	if syncer.count() == told {
		t.Error("the syncer was not told of the failure")
	}
	if err := p.Sync(); !errors.Is(err, kerr.KafkaStorageError) || !errors.Is(err, syscall.EIO) {
		t.Errorf("sync: %v", err)
	}
	if done, err := p.Await(3); done || !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("await what was not written: %t, %v", done, err)
	}
	if done, err := p.Await(2); !done || err != nil {
		t.Errorf("await what was committed before: %t, %v", done, err)
	}
	if _, _, err := p.Read(Fetch{LeaderEpoch: batch.NoEpoch}); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("read: %v", err)
	}
	if len(w.C) != 1 {
		t.Error("the waiter was not woken")
	}
	if err := p.Close(true); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("close: %v", err)
	}
	again := openTest(t, mem.CrashClone(vfs.CrashOptions{Keep: 100}), nil)
	if marks := again.Offsets(); marks.End != 2 {
		t.Errorf("%+v after opening again", marks)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	p := openTest(t, newFS(t), func(o *OpenOptions) {
		memory(o)
		o.Log.SegmentBytes, o.Log.IndexInterval = 1<<30, 1<<30
	})
	group := make([]*Produce, 8)
	image := from(1, 0, 0, 10).batch(t)
	for i := range group {
		group[i] = &Produce{Records: slices.Clone(image)}
	}
	sequence := int32(0)
	step := func() {
		for _, pr := range group {
			copy(pr.Records, image)
			setSequence(pr.Records, sequence)
			sequence += 10
		}
		p.Append(start, group)
		if group[7].Err != nil {
			t.Fatal(group[7].Err)
		}
	}
	step()
	// The file in memory grows by pages; what is left for the eight batches must be less than one each.
	if n := testing.AllocsPerRun(200, step); n > 4 {
		t.Errorf("%v allocations for a group of %d", n, len(group))
	}
}
