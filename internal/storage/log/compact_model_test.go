package log_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// rec is a record as the model knows it.
type rec struct {
	offset   batch.Offset
	key      string
	value    []byte // nil: a tombstone
	ts       int64
	headers  string
	epoch    batch.Epoch
	producer int64
	txn      *txn
	cleaned  int64 // ms: when a pass first had it below its end; 0: never
}

// txn is a transaction as the model knows it.
type txn struct {
	aborted, ended bool
	marker         batch.Offset
}

// kept is a keyed log that forgets nothing: the slow twin of a compacted one.
type kept struct {
	fs      vfs.FS
	l       *log.Log
	opts    log.OpenOptions
	now     time.Time
	epoch   batch.Epoch
	records []rec
	open    map[int64]*txn
	seq     map[int64]int32
	newest  map[int64]batch.Offset // producer -> last offset of its newest data batch
	serial  int
}

func compactOptions() log.OpenOptions {
	o := defaults()
	o.SegmentBytes, o.IndexInterval, o.RetentionAge = 700, 100, -1
	return log.OpenOptions{Options: o, Compacted: true}
}

func newKept(t testing.TB, fs vfs.FS) *kept {
	k := &kept{fs: fs, opts: compactOptions(), now: epoch0, open: map[int64]*txn{}, seq: map[int64]int32{}, newest: map[int64]batch.Offset{}}
	var err error
	if k.l, err = log.Open(fs, "t-0", k.now, k.opts); err != nil {
		t.Fatal(err)
	}
	return k
}

type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (k *kept) append(t tb, b batch.Batch) {
	t.Helper()
	if err := k.l.Append(k.now, []batch.Batch{b}); err != nil {
		t.Fatalf("append: %v", err)
	}
}

// produce appends a batch with a record for each key; a key that begins with "-" is a tombstone's. A producer id of 0 or
// more makes it idempotent, and with inTxn transactional.
func (k *kept) produce(t tb, codec batch.Codec, producer int64, inTxn bool, keys ...string) {
	t.Helper()
	base := k.l.End()
	f := batch.NewFields(base)
	f.Codec, f.LeaderEpoch = codec, k.epoch
	var tx *txn
	if producer >= 0 {
		f.ProducerID, f.ProducerEpoch, f.BaseSequence = producer, 1, k.seq[producer]
		k.seq[producer] += int32(len(keys))
		f.Transactional = inTxn
	}
	if inTxn {
		if tx = k.open[producer]; tx == nil {
			tx = &txn{}
			k.open[producer] = tx
		}
	}
	var w batch.Builder
	w.Reset(f)
	for i, key := range keys {
		k.serial++
		r := rec{offset: base + batch.Offset(i), key: key, value: fmt.Appendf(nil, "v%d", k.serial), ts: k.now.UnixMilli() + int64(i), epoch: k.epoch, producer: producer, txn: tx}
		if key[0] == '-' {
			r.key, r.value = key[1:], nil
		}
		headers := batch.NewHeaders(batch.Header{Key: "h", Value: []byte(key)})
		r.headers = string(headers)
		k.records = append(k.records, r)
		w.Append(batch.Record{Offset: r.offset, Timestamp: r.ts, Key: []byte(r.key), Value: r.value, Headers: headers})
	}
	b, err := w.Build()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	k.append(t, b)
	if producer >= 0 {
		k.newest[producer] = b.LastOffset()
	}
}

// end ends a producer's transaction, if it has one.
func (k *kept) end(t tb, producer int64, typ batch.ControlType) {
	t.Helper()
	tx := k.open[producer]
	if tx == nil {
		return
	}
	b, err := batch.Marker{Type: typ}.Batch(producer, 1, k.now.UnixMilli())
	if err != nil {
		t.Fatalf("marker: %v", err)
	}
	b.SetBaseOffset(k.l.End())
	b.SetLeaderEpoch(k.epoch)
	k.append(t, b)
	delete(k.open, producer)
	tx.ended, tx.aborted, tx.marker = true, typ == batch.ControlAbort, b.BaseOffset()
}

// sealTo makes everything until now compactable.
func (k *kept) seal(t tb) {
	t.Helper()
	k.now = k.now.Add(200 * time.Hour)
	if err := k.l.RollIfOld(k.now); err != nil {
		t.Fatalf("roll: %v", err)
	}
}

const retention = 24 * time.Hour

func settings() log.Compaction {
	return log.Compaction{MinDirtyRatio: 0, DeleteRetention: retention}
}

func (k *kept) cleaner(memory int64) log.Cleaner {
	return log.Cleaner{Memory: memory, LoadFactor: 0.9, Buffer: 300, Newest: func(h batch.Batch) bool {
		return !h.IsControl() && k.newest[h.ProducerID()] == h.LastOffset()
	}}
}

// compact runs a pass, and notes what it had below its end.
func (k *kept) compact(t tb, limit batch.Offset, memory int64) log.Compacted {
	t.Helper()
	done, err := k.l.Compact(k.now, limit, settings(), k.cleaner(memory))
	if err != nil {
		t.Fatalf("compact: %v", err)
	}
	if done.KeyMemory > max(memory, 48) {
		t.Fatalf("keys took %d bytes of %d", done.KeyMemory, memory)
	}
	if done.To > max(limit, done.From) {
		t.Fatalf("compacted to %d, the limit was %d", done.To, limit)
	}
	for i := range k.records {
		if r := &k.records[i]; r.offset < done.To && r.cleaned == 0 {
			r.cleaned = k.now.UnixMilli()
		}
	}
	return done
}

// view is what a log holds.
type view struct {
	records map[batch.Offset]rec
	batches map[batch.Offset]batch.Batch // by last offset
}

// look reads the whole log.
func look(t tb, l *log.Log) view {
	t.Helper()
	v := view{map[batch.Offset]rec{}, map[batch.Offset]batch.Batch{}}
	next := l.Start()
	for next < l.End() {
		r, err := l.Read(next, l.End(), 1<<20, true)
		if err != nil {
			t.Fatalf("read at %d: %v", next, err)
		}
		data := make([]byte, r.Len())
		if _, err := r.ReadAt(data, 0); err != nil && len(data) > 0 {
			t.Fatalf("read at %d: %v", next, err)
		}
		r.Release()
		if len(data) == 0 {
			break // the end was compacted away
		}
		for len(data) > 0 {
			b, rest, err := batch.Next(data)
			if err != nil {
				t.Fatalf("at %d: %v", next, err)
			}
			if err := b.CheckCRC(); err != nil {
				t.Fatalf("at %d: %v", next, err)
			}
			if b.LastOffset() < next {
				t.Fatalf("batch [%d, %d] at offset %d", b.BaseOffset(), b.LastOffset(), next)
			}
			v.take(t, b)
			next, data = b.NextOffset(), rest
		}
	}
	return v
}

func (v view) take(t tb, b batch.Batch) {
	t.Helper()
	v.batches[b.LastOffset()] = b
	for r, err := range b.All(batch.Limit{}) {
		if err != nil {
			t.Fatalf("batch at %d: %v", b.BaseOffset(), err)
		}
		if !b.IsControl() {
			v.records[r.Offset] = rec{
				offset: r.Offset, key: string(r.Key), value: bytes.Clone(r.Value), ts: r.Timestamp,
				headers: string(r.Headers), epoch: b.LeaderEpoch(), producer: b.ProducerID(),
			}
		}
	}
}

// checkMaxTimestamp compares the largest timestamp with that of the records: emptied batches and markers have larger ones.
func (v view) checkMaxTimestamp(t tb, l *log.Log) {
	t.Helper()
	var want log.TimestampOffset
	exists := false
	for _, r := range v.records {
		if r.offset >= l.Start() && (!exists || r.ts > want.Timestamp || r.ts == want.Timestamp && r.offset < want.Offset) {
			want, exists = log.TimestampOffset{Offset: r.offset, Timestamp: r.ts, Epoch: r.epoch}, true
		}
	}
	for range 2 { // the second answer may be one that was kept
		if found, ok, err := l.MaxTimestamp(l.End()); err != nil || ok != exists || found != want {
			t.Fatalf("the largest timestamp is %+v %t %v, want %+v %t", found, ok, err, want, exists)
		}
	}
}

func same(a, b rec) bool {
	return a.key == b.key && (a.value == nil) == (b.value == nil) && bytes.Equal(a.value, b.value) && a.ts == b.ts &&
		a.headers == b.headers && a.epoch == b.epoch && a.producer == b.producer
}

// check compares the log with the model. Below to it was compacted.
func (k *kept) check(t tb, l *log.Log, to batch.Offset) {
	t.Helper()
	v, start := look(t, l), l.Start()
	last := map[string]rec{}
	for _, r := range k.records {
		if r.txn == nil || r.txn.ended && !r.txn.aborted {
			last[r.key] = r
		}
	}
	kept := map[string]int{}
	for _, r := range k.records {
		got, there := v.records[r.offset]
		if there && !same(got, r) {
			t.Fatalf("record %d is %+v, expected %+v", r.offset, got, r)
		}
		aborted := r.txn != nil && r.txn.aborted
		switch {
		case r.offset < start:
		case !there && r.offset >= to && !aborted:
			t.Fatalf("record %d is gone, only those below %d were compacted", r.offset, to)
		case there && r.offset < to && aborted && k.l.Cleaned() >= to && r.txn.marker < to:
			t.Fatalf("record %d of an aborted transaction is still there", r.offset)
		case there && r.offset < to && !aborted:
			kept[r.key]++
		}
		if there && r.txn != nil && r.txn.ended && v.batches[r.txn.marker] == nil {
			t.Fatalf("record %d is there, the marker of its transaction at %d is not", r.offset, r.txn.marker)
		}
	}
	k.checkKeys(t, v, start, last)
	v.checkMaxTimestamp(t, l)
	if to == k.l.Cleaned() {
		for key, n := range kept {
			if n > 1 {
				t.Fatalf("key %s has %d records below %d", key, n, to)
			}
		}
	}
	for producer, offset := range k.newest {
		if b := v.batches[offset]; offset >= start && (b == nil || b.ProducerID() != producer || b.LastSequence() != k.seq[producer]-1) {
			t.Fatalf("the newest batch of producer %d, which ends at %d, is %v", producer, offset, b)
		}
	}
}

// checkKeys checks that each key's last record is there, or is a tombstone whose time has come.
func (k *kept) checkKeys(t tb, v view, start batch.Offset, last map[string]rec) {
	t.Helper()
	for key, r := range last {
		if _, there := v.records[r.offset]; there || r.offset < start {
			continue
		}
		if r.value != nil {
			t.Fatalf("the last record of key %s at %d is gone", key, r.offset)
		}
		if r.cleaned == 0 || k.now.UnixMilli() < r.cleaned+retention.Milliseconds() {
			t.Fatalf("tombstone at %d went before its time: it was first compacted at %d, it is %d", r.offset, r.cleaned, k.now.UnixMilli())
		}
		for _, old := range k.records {
			if _, there := v.records[old.offset]; there && old.key == key && old.offset < r.offset && (old.txn == nil || !old.txn.aborted) {
				t.Fatalf("record %d of key %s outlived its tombstone at %d", old.offset, key, r.offset)
			}
		}
	}
}

// reopen closes the log and opens it again.
func (k *kept) reopen(t tb, clean bool) {
	t.Helper()
	if _, err := k.l.Sync(); err != nil {
		t.Fatalf("sync: %v", err)
	}
	opts := k.opts
	opts.StartOffset, opts.Cleaned, opts.Clean = k.l.Start(), k.l.Cleaned(), clean
	cleaned, end := k.l.Cleaned(), k.l.End()
	if err := k.l.Close(clean); err != nil {
		t.Fatalf("close: %v", err)
	}
	var err error
	if k.l, err = log.Open(k.fs, "t-0", k.now, opts); err != nil {
		t.Fatalf("open: %v", err)
	}
	if k.l.Cleaned() != cleaned || k.l.End() != end {
		t.Fatalf("reopened with cleaned %d and end %d, expected %d and %d", k.l.Cleaned(), k.l.End(), cleaned, end)
	}
}

var codecs = []batch.Codec{batch.CodecNone, batch.CodecNone, batch.CodecGzip, batch.CodecSnappy, batch.CodecLZ4, batch.CodecZstd}

func TestCompactModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newKept(&testing.T{}, vfs.NewMem())
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "-a", "-b", "-c", "-d"}), 1, 6)
		to := batch.Offset(0)
		t.Repeat(map[string]func(*rapid.T){
			"produce": func(t *rapid.T) {
				producer := rapid.Int64Range(-1, 3).Draw(t, "producer")
				inTxn := producer >= 2 // a producer is transactional or it is not
				k.produce(t, rapid.SampledFrom(codecs).Draw(t, "codec"), producer, inTxn, keys.Draw(t, "keys")...)
			},
			"end": func(t *rapid.T) {
				k.end(t, rapid.Int64Range(2, 3).Draw(t, "producer"), rapid.SampledFrom([]batch.ControlType{batch.ControlAbort, batch.ControlCommit}).Draw(t, "type"))
			},
			"pass time": func(t *rapid.T) {
				k.now = k.now.Add(time.Duration(rapid.Int64Range(1, 30).Draw(t, "hours")) * time.Hour)
			},
			"lead":   func(_ *rapid.T) { k.epoch++ },
			"seal":   func(t *rapid.T) { k.seal(t) },
			"reopen": func(t *rapid.T) { k.reopen(t, rapid.Bool().Draw(t, "clean")) },
			"trim": func(t *rapid.T) {
				start := k.l.Start()
				if err := k.l.AdvanceStart(start + batch.Offset(rapid.Int64Range(0, int64(k.l.End()-start)/3).Draw(t, "by"))); err != nil {
					t.Fatalf("trim: %v", err)
				}
			},
			"compact": func(t *rapid.T) {
				limit := k.l.End() - batch.Offset(rapid.Int64Range(0, int64(k.l.End()-k.l.Start())/4).Draw(t, "back"))
				memory := rapid.SampledFrom([]int64{48, 100, 200, 1 << 20}).Draw(t, "memory")
				to = max(to, k.compact(t, limit, memory).To)
			},
			"": func(t *rapid.T) { k.check(t, k.l, to) },
		})
	})
}

func TestCompactGoesOnUntilClean(t *testing.T) {
	t.Parallel()
	k := newKept(t, vfs.NewMem())
	for i := range 300 {
		k.produce(t, codecs[i%len(codecs)], -1, false, fmt.Sprint("key", i%97), fmt.Sprint("key", (i*7)%89))
	}
	k.seal(t)
	before := k.l.Size()
	for passes := 0; ; passes++ {
		done := k.compact(t, k.l.End(), 20*24)
		k.check(t, k.l, done.To)
		if dirt, err := k.l.Dirt(k.now, k.l.End(), settings()); err != nil {
			t.Fatal(err)
		} else if !dirt.Due(0) {
			break
		}
		if done.To == done.From || passes > 100 {
			t.Fatalf("pass %d went from %d to %d", passes, done.From, done.To)
		}
	}
	if k.l.Size() > before/2 || k.l.Cleaned() != 600 {
		t.Errorf("%d bytes of %d are left, clean up to %d", k.l.Size(), before, k.l.Cleaned())
	}
	again := k.compact(t, k.l.End(), 1<<20)
	if again.Replaced != 0 {
		t.Errorf("a clean log was compacted again: %+v", again)
	}
}
