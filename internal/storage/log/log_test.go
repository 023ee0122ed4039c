package log_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

var epoch0 = time.UnixMilli(1_700_000_000_000)

func defaults() log.Options {
	return log.Options{
		SegmentBytes: 1 << 30, SegmentAge: 7 * 24 * time.Hour, IndexInterval: 4096, IndexBytesMax: 10 << 20,
		RetentionBytes: -1, RetentionAge: 7 * 24 * time.Hour,
	}
}

// mk makes a batch of n records at base, each with size bytes of value.
func mk(t testing.TB, base batch.Offset, n, size int, epoch batch.Epoch, ts int64) batch.Batch {
	t.Helper()
	var w batch.Builder
	w.Reset(batch.NewFields(base))
	for i := range n {
		w.Append(batch.Record{Delta: int32(i), Offset: base + batch.Offset(i), Timestamp: ts + int64(i), Value: bytes.Repeat([]byte{byte(base)}, size)})
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	b.SetLeaderEpoch(epoch)
	return b
}

func TestSmoke(t *testing.T) {
	fs := vfs.NewMem()
	opts := defaults()
	opts.SegmentBytes = 2000
	opts.IndexInterval = 100
	l, err := log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	var all []batch.Batch
	next := batch.Offset(0)
	for i := range 100 {
		b := mk(t, next, 3, 50, batch.Epoch(i/30), epoch0.UnixMilli()+int64(i)*1000)
		next = b.NextOffset()
		all = append(all, b)
		if err := l.Append(epoch0, []batch.Batch{b}); err != nil {
			t.Fatal(err)
		}
	}
	if end, err := l.Sync(); err != nil || end != next {
		t.Fatal(end, err)
	}
	check := func(l *log.Log) {
		for _, b := range all {
			for o := b.BaseOffset(); o < b.NextOffset(); o++ {
				r, err := l.Read(o, l.End(), 1, true)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]byte, r.Len())
				r.ReadAt(got, 0)
				if !bytes.Equal(got, b) {
					t.Fatal("differs at", o, len(got), len(b))
				}
				r.Release()
			}
			f, ok, err := l.FindTimestamp(b.BaseTimestamp()+1, l.End())
			if err != nil || !ok || f.Offset != b.BaseOffset()+1 {
				t.Fatal(f, ok, err, b.BaseOffset())
			}
		}
		t.Log(l.Segments(), l.Size(), l.LatestEpoch(), l.Recovery())
	}
	check(l)
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	l, err = log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts, Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	check(l)
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
	l, err = log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	check(l)
	if err := l.Truncate(150); err != nil {
		t.Fatal(err)
	}
	if l.End() != 150 {
		t.Fatal(l.End())
	}
	all = all[:50]
	check(l)
	if err := l.AdvanceStart(20); err != nil {
		t.Fatal(err)
	}
	if err := l.TruncateAll(500); err != nil {
		t.Fatal(err)
	}
	if l.Start() != 500 || l.End() != 500 || l.Size() != 0 {
		t.Fatal(l.Start(), l.End(), l.Size())
	}
}
