package partition

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// refused is an offer that Append must refuse.
type refused struct {
	name    string
	records []byte
	options func(*OpenOptions)
	want    *kerr.Error
	at      []int32 // the record errors
}

// malformed are refused for their bytes.
func malformed(good batch.Batch) []refused {
	changed := func(change func(b []byte)) []byte {
		b := slices.Clone([]byte(good))
		change(b)
		return b
	}
	return []refused{
		{name: "no batch", records: nil, want: kerr.InvalidRecord},
		{name: "half a header", records: good[:30], want: kerr.InvalidRecord},
		{name: "cut", records: good[:len(good)-1], want: kerr.InvalidRecord},
		{name: "two batches", records: append(slices.Clone([]byte(good)), good...), want: kerr.InvalidRecord},
		{name: "a remainder", records: append(slices.Clone([]byte(good)), 0), want: kerr.InvalidRecord},
		{name: "magic 0", records: changed(func(b []byte) { b[16] = 0 }), want: kerr.InvalidRecord},
		{name: "magic 1", records: changed(func(b []byte) { b[16] = 1 }), want: kerr.InvalidRecord},
		{name: "magic 3", records: changed(func(b []byte) { b[16] = 3 }), want: kerr.CorruptMessage},
		{name: "short length", records: changed(func(b []byte) { binary.BigEndian.PutUint32(b[8:], 5) }), want: kerr.CorruptMessage},
		{name: "negative length", records: changed(func(b []byte) { b[8] = 0xff }), want: kerr.CorruptMessage},
		{name: "a flipped bit", records: changed(func(b []byte) { b[len(b)-1] ^= 1 }), want: kerr.CorruptMessage},
		{name: "base offset", records: changed(func(b []byte) { b[7] = 9 }), want: kerr.InvalidRecord},
	}
}

// unwanted are refused for what they say.
func unwanted(t *testing.T, good batch.Batch) []refused {
	built := func(change func(*batch.Fields)) []byte {
		o := plain(2)
		o.fields = change
		return o.batch(t)
	}
	return []refused{
		{name: "control", records: built(func(f *batch.Fields) { f.Control = true }), want: kerr.InvalidRecord},
		{name: "log append time", records: built(func(f *batch.Fields) { f.LogAppendTime = true }), want: kerr.InvalidTimestamp},
		{
			name: "transaction", want: kerr.InvalidTxnState,
			records: built(func(f *batch.Fields) { f.Transactional, f.ProducerID, f.ProducerEpoch, f.BaseSequence = true, 1, 0, 0 }),
		},
		{name: "no sequence", records: built(func(f *batch.Fields) { f.ProducerID = 1 }), want: kerr.InvalidRecord},
		{
			name: "too large", records: good, want: kerr.MessageTooLarge,
			options: func(o *OpenOptions) { o.MaxMessageBytes = len(good) - 1 },
		},
		{
			name: "larger than a segment", records: good, want: kerr.RecordListTooLarge,
			options: func(o *OpenOptions) { o.Log.SegmentBytes = int64(len(good) - 1) },
		},
		{
			name: "no key", records: proto{producer: -1, epoch: -1, sequence: -1, count: 3, noKey: true}.batch(t), want: kerr.InvalidRecord,
			options: func(o *OpenOptions) { o.Compact = true }, at: []int32{0, 1, 2},
		},
		{
			name: "too old", records: good, want: kerr.InvalidTimestamp, at: []int32{0, 1},
			options: func(o *OpenOptions) { o.TimestampBefore = -time.Millisecond },
		},
		{
			name: "too new", records: good, want: kerr.InvalidTimestamp, at: []int32{0, 1},
			options: func(o *OpenOptions) { o.TimestampAfter = -time.Millisecond },
		},
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	good := plain(2).batch(t)
	for _, c := range append(malformed(good), unwanted(t, good)...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := openTest(t, newFS(t), c.options)
			pr := &Produce{Records: slices.Clone(c.records)}
			p.Append(start, []*Produce{pr})
			if !errors.Is(pr.Err, c.want) {
				t.Errorf("%s, want %v", describe(pr), c.want)
			}
			if pr.Base != -1 || pr.End != -1 || pr.Count != 0 || pr.Bytes != 0 {
				t.Errorf("a refused batch has results: %+v", pr)
			}
			var records []int32
			for _, e := range pr.RecordErrors {
				records = append(records, e.Index)
			}
			if !slices.Equal(records, c.at) {
				t.Errorf("record errors at %v, want %v", records, c.at)
			}
			if end := p.Offsets().End; end != 0 {
				t.Errorf("the log ends at %d", end)
			}
		})
	}
}

// TestTimestampLimits is case 35: records at the limits are accepted, those without a timestamp always.
func TestTimestampLimits(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), func(o *OpenOptions) {
		o.TimestampBefore, o.TimestampAfter = time.Hour, time.Minute
	})
	at := func(ms int64) proto {
		o := plain(1)
		o.at = time.UnixMilli(ms)
		return o
	}
	mustAppend(t, p, at(start.Add(-time.Hour).UnixMilli()), at(start.Add(time.Minute).UnixMilli()), at(batch.NoTimestamp))
	for _, ms := range []int64{
		start.Add(-time.Hour).UnixMilli() - 1, start.Add(time.Minute).UnixMilli() + 1, 1<<63 - 1, 10_413_792_000_000,
	} {
		if pr := appendAll(t, p, at(ms))[0]; !errors.Is(pr.Err, kerr.InvalidTimestamp) {
			t.Errorf("timestamp %d: %s", ms, describe(pr))
		}
	}
}

func TestLogAppendTime(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), func(o *OpenOptions) {
		o.LogAppendTime, o.TimestampBefore, o.Durability = true, 0, DurabilityMemory
	})
	old := from(1, 0, 0, 2)
	old.at = start.Add(-1000 * time.Hour) // does not count
	pr := mustAppend(t, p, old)[0]
	if pr.AppendTime != start.UnixMilli() {
		t.Errorf("append time %d, want %d", pr.AppendTime, start.UnixMilli())
	}
	got := readAll(t, p)
	if len(got) != 1 || !got[0].IsLogAppendTime() || got[0].MaxTimestamp() != start.UnixMilli() {
		t.Errorf("stored with log append time %t, timestamp %d", got[0].IsLogAppendTime(), got[0].MaxTimestamp())
	}
	again := &Produce{Records: old.batch(t)}
	p.Append(start.Add(time.Hour), []*Produce{again})
	if !again.Duplicate || again.AppendTime != start.UnixMilli() {
		t.Errorf("retry: %s, append time %d, want the original's %d", describe(again), again.AppendTime, start.UnixMilli())
	}
}

func TestCompressionTypeRecompresses(t *testing.T) {
	t.Parallel()
	for _, source := range []batch.Codec{batch.CodecNone, batch.CodecGzip, batch.CodecZstd} {
		for _, target := range []batch.Codec{batch.CodecNone, batch.CodecLZ4, batch.CodecSnappy, batch.CodecProducer} {
			p := openTest(t, newFS(t), func(o *OpenOptions) { o.Compression, o.Durability = target, DurabilityMemory })
			o := from(4, 0, 0, 50)
			o.fields = func(f *batch.Fields) { f.Codec = source }
			mustAppend(t, p, o)
			want := target
			if target == batch.CodecProducer {
				want = source
			}
			got := readAll(t, p)
			if len(got) != 1 || got[0].Codec() != want || got[0].Count() != 50 || got[0].ProducerID() != 4 {
				t.Errorf("%v on a topic of %v: %v of %d records", source, target, got[0].Codec(), got[0].Count())
			}
			if _, err := got[0].Validate(&batch.Checks{Deep: true}); err != nil {
				t.Errorf("%v on a topic of %v: %v", source, target, err)
			}
		}
	}
}

// TestBombTakesNoMemory: a topic that asks for decompression is not a way to fill memory.
func TestBombTakesNoMemory(t *testing.T) {
	for target, want := range map[batch.Codec]error{batch.CodecLZ4: nil, batch.CodecNone: kerr.MessageTooLarge} {
		p := openTest(t, newFS(t), func(o *OpenOptions) { o.Compression, o.Durability = target, DurabilityMemory })
		o := plain(1)
		o.size = 80 << 20
		o.fields = func(f *batch.Fields) { f.Codec = batch.CodecZstd }
		pr := o.produce(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.Append(start, []*Produce{pr})
		runtime.ReadMemStats(&after)
		if !errors.Is(pr.Err, want) {
			t.Errorf("%v: %s, want %v", target, describe(pr), want)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 { // the race detector makes pools forget
			t.Errorf("%v: %d MiB allocated for a batch of %d bytes", target, grown>>20, len(pr.Records))
		}
	}
}

// TestWrongMaxTimestampIsCorrected: indexes and retention go by the header, so it must not lie.
func TestWrongMaxTimestampIsCorrected(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), memory)
	b := plain(2).batch(t)
	b.SetMaxTimestamp(1 << 62)
	pr := &Produce{Records: b}
	p.Append(start, []*Produce{pr})
	if pr.Err != nil {
		t.Fatal(pr.Err)
	}
	if got := readAll(t, p)[0].MaxTimestamp(); got != start.UnixMilli() {
		t.Errorf("timestamp %d is stored, want the records' %d", got, start.UnixMilli())
	}
}
