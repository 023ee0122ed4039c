package log_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestRetainByTime has the timestamps of hard case 35. The files of Mem were modified at the year 1, so what goes by
// its file's time goes at once.
func TestRetainByTime(t *testing.T) {
	t.Parallel()
	now := epoch0.UnixMilli()
	old, fresh := now-time.Hour.Milliseconds()-10, now-time.Hour.Milliseconds()+10
	for name, c := range map[string]struct {
		timestamps []int64 // of a segment each
		limit      batch.Offset
		want       []int64
	}{
		"nothing is old":                    {[]int64{fresh, now, now}, 3, []int64{0, 1, 2}},
		"the oldest":                        {[]int64{old, now, now}, 3, []int64{1, 2}},
		"only from the front":               {[]int64{now, old, now}, 3, []int64{0, 1, 2}},
		"not beyond the limit":              {[]int64{old, old, now}, 1, []int64{1, 2}},
		"all, the last one is rolled":       {[]int64{old, old, old}, 3, []int64{3}},
		"the year 2300 goes by the file":    {[]int64{10_413_792_000_000, now, now}, 3, []int64{1, 2}},
		"the largest timestamp":             {[]int64{math.MaxInt64, now, now}, 3, []int64{1, 2}},
		"no timestamp":                      {[]int64{-1, now, now}, 3, []int64{1, 2}},
		"timestamp 0":                       {[]int64{0, now, now}, 3, []int64{1, 2}},
		"the limit is within the last one":  {[]int64{old, old, old}, 2, []int64{2}},
		"the limit is below the first one":  {[]int64{old, old, old}, 0, []int64{0, 1, 2}},
		"a segment that is not old between": {[]int64{old, now, old}, 3, []int64{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs, opts := vfs.NewMem(), defaults()
			opts.SegmentBytes, opts.RetentionAge, opts.SegmentAge = 1, time.Hour, math.MaxInt64
			l := openLog(t, fs, log.OpenOptions{Options: opts})
			for _, ts := range c.timestamps {
				appendAt(t, l, epoch0, mk(t, l.End(), 1, 10, 0, ts))
			}
			if _, err := l.Retain(epoch0, c.limit); err != nil {
				t.Fatal(err)
			}
			if got := logs(t, fs); !slices.Equal(got, c.want) || l.Start() != batch.Offset(c.want[0]) {
				t.Errorf("segments %v from %d, expected %v", got, l.Start(), c.want)
			}
		})
	}
}

// TestRetentionWaitsForReaders: a segment is deleted under a reader and read to its end; then its files go.
func TestRetentionWaitsForReaders(t *testing.T) {
	t.Parallel()
	fs, opts := vfs.NewMem(), defaults()
	opts.SegmentBytes, opts.RetentionBytes = 1, 1
	l := openLog(t, fs, log.OpenOptions{Options: opts})
	first := mk(t, 0, 1, 10, 0, epoch0.UnixMilli())
	appendAt(t, l, epoch0, first)
	appendAt(t, l, epoch0, mk(t, 1, 1, 10, 0, epoch0.UnixMilli()))
	r, err := l.Read(0, 2, 1<<20, true)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.Retain(epoch0, 2); n != 1 || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}
	files := func() int {
		list, err := fs.ReadDir("t-0")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	held := files()
	if got := bytesOf(t, &r); string(got) != string(first) {
		t.Error("what is read of a deleted segment differs")
	}
	r.Release() // a second time, which does nothing
	if freed := held - files(); freed != 3 {
		t.Errorf("%d files were freed by the last reader, expected 3", freed)
	}
}

// TestStartWithinBatch is DeleteRecords in the middle of a batch (case 34).
func TestStartWithinBatch(t *testing.T) {
	t.Parallel()
	l := openLog(t, vfs.NewMem(), log.OpenOptions{Options: defaults()})
	b := mk(t, 0, 10, 10, 3, epoch0.UnixMilli())
	appendAt(t, l, epoch0, b, mk(t, 10, 1, 1, 4, epoch0.UnixMilli()))
	if err := l.AdvanceStart(4); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(3, 11, 1, true); err == nil {
		t.Error("read below the start")
	}
	r, err := l.Read(4, 11, 1, true)
	if err != nil || string(bytesOf(t, &r)) != string(b) {
		t.Errorf("read at the start, within a batch: %v", err)
	}
	found, ok, err := l.FindTimestamp(0, 11)
	if want := (log.TimestampOffset{Offset: 4, Timestamp: epoch0.UnixMilli() + 4, Epoch: 3}); !ok || err != nil || found != want {
		t.Errorf("the earliest by time is %v %v %v, expected %v", found, ok, err, want)
	}
	if epoch, end := l.EpochEnd(3); epoch != 3 || end != 10 || l.EpochOf(4) != 3 {
		t.Errorf("epoch 3 ends as %d at %d", epoch, end)
	}
	if err := l.AdvanceStart(100); err != nil || l.Start() != 11 {
		t.Errorf("start %d, %v: it is bounded by the end", l.Start(), err)
	}
}

// TestReadBesideRetention: at no moment is a reader below what retention deletes given later records instead, as if there had never
// been others.
func TestReadBesideRetention(t *testing.T) {
	t.Parallel()
	var look func()
	fs := vfs.Faulty(vfs.NewMem(), func(vfs.Op) error {
		if look != nil {
			look()
		}
		return nil
	})
	opts := defaults()
	opts.SegmentBytes, opts.RetentionBytes = 1, 1
	l := openLog(t, fs, log.OpenOptions{Options: opts})
	for i := range batch.Offset(4) {
		appendAt(t, l, epoch0, mk(t, i, 1, 10, 0, epoch0.UnixMilli()))
	}
	inside, looked := false, 0
	look = func() {
		if inside {
			return
		}
		inside = true
		defer func() { inside = false }()
		looked++
		r, err := l.Read(0, 4, 1<<20, true)
		if errors.Is(err, log.ErrOffsetOutOfRange) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		if b, _, err := batch.Next(bytesOf(t, &r)); err != nil || b.BaseOffset() != 0 {
			t.Errorf("a read at offset 0 gave the batch at %d, %v", b.BaseOffset(), err)
		}
	}
	if n, err := l.Retain(epoch0, 4); n != 3 || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}
	if look = nil; looked < 3 {
		t.Errorf("looked %d times only", looked)
	}
}
