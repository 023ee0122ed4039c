package log_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// odd draws a batch at base of some kind, and returns the records that a consumer gets of it.
func odd(t *rapid.T, base batch.Offset) (batch.Batch, []log.TimestampOffset) {
	f := batch.NewFields(base)
	f.Codec = rapid.SampledFrom([]batch.Codec{batch.CodecNone, batch.CodecZstd}).Draw(t, "codec")
	kind := rapid.SampledFrom([]string{"good", "good", "empty", "control", "lying", "unreadable", "damaged"}).Draw(t, "kind")
	f.ProducerID, f.ProducerEpoch, f.BaseSequence = 1, 0, 0
	switch kind {
	case "empty":
		f.LastOffset, f.MaxTimestamp = base+2, rapid.Int64Range(-1, 30).Draw(t, "timestamp")
	case "control":
		f.Control, f.Transactional = true, true
	}
	var w batch.Builder
	w.Reset(f)
	var records []log.TimestampOffset
	for i := range batch.Offset(rapid.IntRange(1, 3).Draw(t, "records")) {
		r := batch.Record{Offset: base + i, Timestamp: rapid.Int64Range(-1, 30).Draw(t, "timestamp"), Key: []byte("key"), Value: []byte("some value")}
		if kind != "empty" {
			w.Append(r)
		}
		if kind == "good" || kind == "lying" {
			records = append(records, log.TimestampOffset{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: batch.NoEpoch})
		}
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case "lying":
		b.SetMaxTimestamp(40)
	case "unreadable":
		b[len(b)-1] ^= 0x55
		b[len(b)-2] ^= 0x55
		b.SetMaxTimestamp(b.MaxTimestamp() + 1)    // computes the CRC
		for r, err := range b.All(batch.Limit{}) { // those before the first that is wrong, if any
			if err == nil {
				records = append(records, log.TimestampOffset{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: batch.NoEpoch})
			}
		}
	case "damaged":
		b[len(b)-1] ^= 1
	}
	return b, records
}

// TestMaxTimestampTwin: the largest timestamp is that of the records which a consumer can fetch, whatever the headers say, as a
// slow twin finds it.
func TestMaxTimestampTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		opts := defaults()
		opts.SegmentBytes, opts.IndexInterval = 400, 100
		l, err := log.Open(vfs.NewMem(), "t-0", epoch0, log.OpenOptions{Options: opts})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close(false)
		var records []log.TimestampOffset
		for range rapid.IntRange(1, 40).Draw(t, "batches") {
			b, some := odd(t, l.End())
			records = append(records, some...)
			if err := l.Append(epoch0, []batch.Batch{b}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.AdvanceStart(batch.Offset(rapid.Int64Range(0, int64(l.End())/2).Draw(t, "start"))); err != nil {
			t.Fatal(err)
		}
		limits := []batch.Offset{l.End(), batch.Offset(rapid.Int64Range(int64(l.Start()), int64(l.End())).Draw(t, "limit"))}
		for _, limit := range append(limits, limits...) {
			var want log.TimestampOffset
			exists := false
			for _, r := range records {
				if r.Offset >= l.Start() && r.Offset < limit && r.Timestamp >= 0 && (!exists || r.Timestamp > want.Timestamp) {
					want, exists = r, true
				}
			}
			if found, ok, err := l.MaxTimestamp(limit); err != nil || ok != exists || found != want {
				t.Fatalf("in [%d, %d): %+v %t %v, want %+v %t", l.Start(), limit, found, ok, err, want, exists)
			}
		}
	})
}

// wellPacked is a batch of n records of size bytes, alike but for their keys, of which there are keys.
func wellPacked(t testing.TB, base batch.Offset, n, size, keys int) batch.Batch {
	t.Helper()
	f := batch.NewFields(base)
	f.Codec = batch.CodecZstd
	var w batch.Builder
	w.Reset(f)
	value := []byte(strings.Repeat("reading=0017;", size/13))
	for i := range batch.Offset(n) {
		w.Append(batch.Record{Offset: base + i, Timestamp: int64(base + i), Key: fmt.Append(nil, "sensor-", int(i)%keys), Value: value})
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWellPackedBatches: batches that hold 300 MiB in some KiB are found by time and compacted, in little memory.
func TestWellPackedBatches(t *testing.T) {
	opts := compactOptions()
	entered, left := 0, 0
	opts.Inflate = func(batch.Batch) func() {
		entered++
		return func() { left++ }
	}
	l := openLog(t, vfs.NewMem(), opts)
	defer l.Close(false)
	n := 300
	if raceEnabled {
		n = 20
	}
	first, second := wellPacked(t, 0, n, 1<<20, 2*n), wellPacked(t, batch.Offset(n), n, 1<<20, n/2)
	if len(first) > 1<<20 {
		t.Fatalf("%d bytes: not well packed", len(first))
	}
	appendAt(t, l, epoch0, first)
	appendAt(t, l, epoch0, second)
	appendAt(t, l, epoch0, mk(t, batch.Offset(2*n), 1, 1, 0, int64(2*n)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, ts := range []int64{0, 1, int64(n) - 1, int64(n), int64(2*n) - 1, int64(2 * n)} {
		if found, ok, err := l.FindTimestamp(ts, l.End()); err != nil || !ok || found.Offset != batch.Offset(ts) {
			t.Errorf("timestamp %d: %+v %t %v", ts, found, ok, err)
		}
	}
	if found, ok, err := l.MaxTimestamp(batch.Offset(2 * n)); err != nil || !ok || int(found.Offset) != 2*n-1 {
		t.Errorf("largest timestamp: %+v %t %v", found, ok, err)
	}
	if entered == 0 || entered != left {
		t.Errorf("%d batches were decompressed, %d given back", entered, left)
	}
	done, err := l.Compact(epoch0.Add(retention), batch.Offset(2*n), settings(), log.Cleaner{Memory: 1 << 20, LoadFactor: 0.9, Buffer: 300})
	if err != nil || done.RecordsKept != int64(n) || done.Records != int64(2*n) {
		t.Fatalf("%+v, %v", done, err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 200<<20 {
		t.Errorf("%d MiB allocated for 600 MiB of records", grown>>20)
	}
	got := 0
	for _, b := range look(t, l).batches {
		if int(b.BaseOffset()) < 2*n {
			got += int(b.Count())
		}
	}
	if got != int(done.RecordsKept) {
		t.Errorf("%d records are left, want %d", got, done.RecordsKept)
	}
}

// TestBrokenChainIsCorrupt: a search that cannot follow the batches says so by the mark of corruption.
func TestBrokenChainIsCorrupt(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	l := openLog(t, fs, log.OpenOptions{Options: defaults()})
	defer l.Close(false)
	appendAt(t, l, epoch0, mk(t, 0, 1, 10, 0, 1), mk(t, 1, 1, 10, 0, 2), mk(t, 2, 1, 10, 0, 3))
	file, err := fs.OpenFile("t-0/00000000000000000000.log", 2)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(mk(t, 0, 1, 10, 0, 1)))
	if _, err := file.WriteAt([]byte{0xff, 0xff}, size+8); err != nil { // the second batch's length
		t.Fatal(err)
	}
	if _, _, err := l.FindTimestamp(3, 3); !errors.Is(err, batch.ErrCorrupt) {
		t.Errorf("find: %v", err)
	}
}
