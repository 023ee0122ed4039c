package partition

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// TestReadRange: what is asked below the start or above the end is out of range; what is not committed yet is only
// not there yet.
func TestReadRange(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	mustAppend(t, p, plain(10), plain(10))
	mustSync(t, p)
	mustAppend(t, p, plain(10)) // [20, 30) is not committed
	if low, err := p.DeleteRecords(5); err != nil || low != 5 {
		t.Fatalf("delete records: %d, %v", low, err)
	}
	for _, c := range []struct {
		offset batch.Offset
		want   *kerr.Error
		first  batch.Offset // of the first batch read; -1: nothing
	}{
		{-1, kerr.OffsetOutOfRange, -1},
		{4, kerr.OffsetOutOfRange, -1},
		{5, nil, 0}, // the whole batch, as in Kafka
		{9, nil, 0},
		{10, nil, 10},
		{19, nil, 10},
		{20, nil, -1},
		{25, nil, -1},
		{30, nil, -1},
		{31, kerr.OffsetOutOfRange, -1},
	} {
		r, marks, err := p.Read(Fetch{Offset: c.offset, LeaderEpoch: 5, MaxBytes: 1 << 20})
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("offset %d: %v, want %v", c.offset, err, c.want)
		}
		if want := (Offsets{Start: 5, HighWatermark: 20, LastStable: 20, End: 30}); marks != want {
			t.Errorf("offset %d: %+v, want %+v", c.offset, marks, want)
		}
		if first := firstOffset(t, &r); first != c.first {
			t.Errorf("offset %d: reads from %d, want %d", c.offset, first, c.first)
		}
		if r.Len() > 0 && lastOffset(t, &r) >= 20 {
			t.Errorf("offset %d: reads what is not committed", c.offset)
		}
		r.Release()
	}
}

type ranged interface {
	Len() int
	ReadAt(dst []byte, off int64) (int, error)
}

func firstOffset(t *testing.T, r ranged) batch.Offset {
	t.Helper()
	if r.Len() == 0 {
		return -1
	}
	data := make([]byte, r.Len())
	if n, err := r.ReadAt(data, 0); n < len(data) {
		t.Fatal(err)
	}
	b, _, err := batch.Next(data)
	if err != nil {
		t.Fatal(err)
	}
	return b.BaseOffset()
}

func lastOffset(t *testing.T, r ranged) batch.Offset {
	t.Helper()
	data := make([]byte, r.Len())
	if n, err := r.ReadAt(data, 0); n < len(data) {
		t.Fatal(err)
	}
	last := batch.Offset(-1)
	for len(data) > 0 {
		b, rest, err := batch.Next(data)
		if err != nil {
			break
		}
		last, data = b.LastOffset(), rest
	}
	return last
}

func TestReadEpochs(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), memory)
	mustAppend(t, p, plain(1))
	for epoch, want := range map[batch.Epoch]*kerr.Error{
		batch.NoEpoch: nil, 5: nil, 4: kerr.FencedLeaderEpoch, 6: kerr.UnknownLeaderEpoch,
	} {
		r, _, err := p.Read(Fetch{LeaderEpoch: epoch, MaxBytes: 100, Whole: true})
		if want == nil && err != nil || want != nil && !errors.Is(err, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, err, want)
		}
		r.Release()
	}
}

// TestEpochEnd is OffsetForLeaderEpoch over two leaderships and one without a record yet.
func TestEpochEnd(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), memory)
	mustAppend(t, p, plain(3))
	if err := p.Lead(start, 8); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, p, plain(4))
	if err := p.Lead(start, 9); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		asked, epoch batch.Epoch
		end          batch.Offset
	}{
		{10, batch.NoEpoch, -1}, {9, 9, 7}, {8, 8, 7}, {7, 5, 3}, {5, 5, 3},
	} {
		if epoch, end := p.EpochEnd(c.asked); epoch != c.epoch || end != c.end {
			t.Errorf("epoch %d ends as %d at %d, want %d at %d", c.asked, epoch, end, c.epoch, c.end)
		}
	}
	if epoch := p.EpochOf(2); epoch != 5 {
		t.Errorf("the epoch of offset 2 is %d, want 5", epoch)
	}
}

func TestTimestampsBelowTheHighWatermark(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	at := func(after time.Duration) proto {
		o := plain(1)
		o.at = start.Add(after)
		return o
	}
	if _, ok, err := p.MaxTimestamp(ReadCommitted); ok || err != nil {
		t.Errorf("of an empty log: %t, %v", ok, err)
	}
	mustAppend(t, p, at(time.Second), at(3*time.Second), at(2*time.Second))
	mustSync(t, p)
	mustAppend(t, p, at(time.Minute)) // not committed
	found, ok, err := p.MaxTimestamp(ReadUncommitted)
	if err != nil || !ok || found.Offset != 1 {
		t.Errorf("largest timestamp: %+v, %t, %v, want offset 1", found, ok, err)
	}
	found, ok, err = p.FindTimestamp(start.Add(2*time.Second).UnixMilli(), ReadUncommitted)
	if err != nil || !ok || found.Offset != 1 {
		t.Errorf("timestamp of 2 s: %+v, %t, %v, want offset 1", found, ok, err)
	}
	if found, ok, err = p.FindTimestamp(start.Add(4*time.Second).UnixMilli(), ReadUncommitted); ok || err != nil {
		t.Errorf("timestamp of 4 s: %+v, %t, %v, want nothing", found, ok, err)
	}
}

func TestDeleteRecords(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	mustAppend(t, p, plain(10))
	mustSync(t, p)
	mustAppend(t, p, plain(10))
	for _, c := range []struct {
		before, low batch.Offset
		want        *kerr.Error
	}{
		{4, 4, nil}, {2, 4, nil}, {11, -1, kerr.OffsetOutOfRange}, {-2, -1, kerr.OffsetOutOfRange}, {-1, 10, nil}, {0, 10, nil},
	} {
		low, err := p.DeleteRecords(c.before)
		if low != c.low || c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("before %d: %d, %v, want %d, %v", c.before, low, err, c.low, c.want)
		}
	}
	opts := testOptions()
	opts.Delete, opts.Compact = false, true
	p.SetOptions(opts)
	if _, err := p.DeleteRecords(1); !errors.Is(err, kerr.PolicyViolation) {
		t.Errorf("of a compacted topic: %v", err)
	}
}

// TestRetentionStopsAtTheHighWatermark is case 30.
func TestRetentionStopsAtTheHighWatermark(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), func(o *OpenOptions) {
		o.Log.SegmentBytes, o.Log.RetentionAge = 300, time.Hour
	})
	for range 4 {
		mustAppend(t, p, plain(2))
	}
	mustSync(t, p)
	for range 10 {
		mustAppend(t, p, plain(2))
	}
	w := NewWaiter()
	p.Watch(w)
	if err := p.Maintain(start.Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	marks := p.Offsets()
	if marks.Start == 0 || marks.Start > marks.HighWatermark || marks.HighWatermark != 8 {
		t.Errorf("%+v after retention", marks)
	}
	if len(w.C) != 1 {
		t.Error("the waiter was not woken by the new log start")
	}
}

func TestMaintainExpiresProducers(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	mustAppend(t, p, from(1, 0, 0, 5))
	checkResults(t, appendAll(t, p, from(1, 0, 50, 5)), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	if err := p.Maintain(start.Add(25 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	checkResults(t, appendAll(t, p, from(1, 0, 50, 5)), "[5, 10)")
}

// TestRetentionBySizeOnAppend: a log does not outgrow retention.bytes until the next timer.
func TestRetentionBySizeOnAppend(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), func(o *OpenOptions) {
		memory(o)
		o.Log.SegmentBytes, o.Log.RetentionBytes = 1000, 3000
	})
	for range 100 {
		mustAppend(t, p, plain(5))
		if size := p.Size(); size > 3000+1000 {
			t.Fatalf("%d bytes with retention.bytes=3000 and segments of 1000", size)
		}
	}
	if p.Offsets().Start == 0 {
		t.Error("nothing was deleted")
	}
}
