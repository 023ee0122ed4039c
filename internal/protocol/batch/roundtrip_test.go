package batch

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// kgoCodecs are the codecs of kgo, by ours.
var kgoCodecs = map[Codec]kgo.CompressionCodec{
	CodecNone: kgo.NoCompression(), CodecGzip: kgo.GzipCompression(), CodecSnappy: kgo.SnappyCompression(),
	CodecLZ4: kgo.Lz4Compression(), CodecZstd: kgo.ZstdCompression(),
}

// nullableBytes draws nil, empty or a few bytes, which are all different to Kafka.
func nullableBytes(most int) *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.Just([]byte(nil)), rapid.Just([]byte{}), rapid.SliceOfN(rapid.Byte(), 1, most))
}

// drawRecords draws records of one batch from offset base; dense means without gaps.
func drawRecords(t *rapid.T, base Offset, dense bool) []Record {
	records := make([]Record, rapid.IntRange(1, 40).Draw(t, "count"))
	at := base
	for i := range records {
		if !dense {
			at += Offset(rapid.IntRange(0, 100_000).Draw(t, "gap"))
		}
		var headers []Header
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			headers = append(headers, Header{Key: rapid.String().Draw(t, "name"), Value: nullableBytes(20).Draw(t, "content")})
		}
		records[i] = Record{
			Offset: at, Delta: int32(at - base), Sequence: NoSequence,
			Timestamp: rapid.OneOf(rapid.Int64Range(-1, 1<<45), rapid.Int64Range(1<<40, 1<<40+100)).Draw(t, "timestamp"),
			Key:       nullableBytes(300).Draw(t, "key"),
			Value:     nullableBytes(20_000).Draw(t, "value"),
			Headers:   NewHeaders(headers...),
		}
		at++
	}
	return records
}

func sameRecord(a, b Record) error {
	same := func(x, y []byte) bool { return bytes.Equal(x, y) && (x == nil) == (y == nil) }
	switch {
	case a.Offset != b.Offset || a.Delta != b.Delta || a.Timestamp != b.Timestamp || a.Sequence != b.Sequence:
		return fmt.Errorf("%d+%d seq %d at %d != %d+%d seq %d at %d", a.Offset, a.Delta, a.Sequence, a.Timestamp, b.Offset, b.Delta, b.Sequence, b.Timestamp)
	case !same(a.Key, b.Key) || !same(a.Value, b.Value):
		return fmt.Errorf("key %q value %q != key %q value %q", a.Key, a.Value, b.Key, b.Value)
	}
	if err := sameHeaders(a.Headers, b.Headers); err != nil {
		return err
	}
	return nil
}

func sameHeaders(a, b Headers) error {
	list := func(h Headers) (pairs []string) {
		for k, v := range h.All() {
			pairs = append(pairs, fmt.Sprintf("%q=%q,%v", k, v, v == nil))
		}
		return pairs
	}
	if x, y := list(a), list(b); !slices.Equal(x, y) || len(x) != a.Len() || len(y) != b.Len() {
		return fmt.Errorf("headers %v != %v", x, y)
	}
	return nil
}

// TestOurBatchesByKmsg: kmsg and kgo read what the builder writes.
func TestOurBatchesByKmsg(t *testing.T) {
	decompressor := kgo.DefaultDecompressor()
	rapid.Check(t, func(t *rapid.T) {
		f := NewFields(Offset(rapid.Int64Range(0, 1<<50).Draw(t, "base")))
		f.Codec = Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
		f.Transactional = rapid.Bool().Draw(t, "transactional")
		f.ProducerID, f.ProducerEpoch, f.BaseSequence = 9, 3, rapid.Int32Range(0, 1<<30).Draw(t, "sequence")
		records := drawRecords(t, f.BaseOffset, true)
		b := buildOf(t, f, records)

		var theirs kmsg.RecordBatch
		if err := theirs.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		if theirs.FirstOffset != int64(f.BaseOffset) || theirs.NumRecords != int32(len(records)) || theirs.LastOffsetDelta != int32(len(records)-1) ||
			theirs.ProducerID != 9 || theirs.ProducerEpoch != 3 || theirs.FirstSequence != f.BaseSequence ||
			theirs.Attributes != b.Attributes() || theirs.MaxTimestamp != b.MaxTimestamp() || uint32(theirs.CRC) != crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)) {
			t.Fatalf("kmsg reads %+v", theirs)
		}
		plain, err := decompressor.Decompress(theirs.Records, kgo.CompressionCodecType(f.Codec))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range records {
			var r kmsg.Record
			if err := r.ReadFrom(plain); err != nil {
				t.Fatal(err)
			}
			size, at := varint(plain, 0)
			plain = plain[at+int(size):]
			var headers []Header
			for _, h := range r.Headers {
				headers = append(headers, Header(h))
			}
			got := Record{
				Offset: f.BaseOffset + Offset(r.OffsetDelta), Delta: r.OffsetDelta, Sequence: NoSequence,
				Timestamp: theirs.FirstTimestamp + r.TimestampDelta64, Key: r.Key, Value: r.Value, Headers: NewHeaders(headers...),
			}
			if err := sameRecord(got, want); err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
		}
		if len(plain) != 0 {
			t.Fatalf("%d bytes left", len(plain))
		}
	})
}

// TestTheirBatches: we read what kmsg and kgo write.
func TestTheirBatches(t *testing.T) {
	compressors := map[Codec]kgo.Compressor{}
	for codec, theirs := range kgoCodecs {
		c, err := kgo.DefaultCompressor(theirs)
		if err != nil {
			t.Fatal(err)
		}
		compressors[codec] = c
	}
	rapid.Check(t, func(t *rapid.T) {
		codec := Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
		base := Offset(rapid.Int64Range(0, 1<<50).Draw(t, "base"))
		records := drawRecords(t, base, true)
		b := theirBatch(t, codec, compressors[codec], base, records)
		if _, rest, err := Next(b); err != nil || len(rest) != 0 {
			t.Fatal(len(rest), err)
		}
		if _, err := b.Validate(&Checks{Client: true, Deep: true}); err != nil {
			t.Fatal(err)
		}
		i := 0
		for r, err := range b.All(Limit{}) {
			if err != nil {
				t.Fatal(err)
			}
			records[i].Sequence = AddSequence(5, records[i].Delta)
			if err := sameRecord(r, records[i]); err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
			i++
		}
		if i != len(records) {
			t.Fatalf("%d of %d records", i, len(records))
		}
	})
}

// theirBatch encodes records with kmsg and kgo.
func theirBatch(t *rapid.T, codec Codec, compressor kgo.Compressor, base Offset, records []Record) Batch {
	var plain []byte
	first, largest := records[0].Timestamp, NoTimestamp
	for _, r := range records {
		rec := kmsg.Record{TimestampDelta64: r.Timestamp - first, OffsetDelta: r.Delta, Key: r.Key, Value: r.Value}
		for k, v := range r.Headers.All() {
			rec.Headers = append(rec.Headers, kmsg.Header{Key: string(k), Value: v})
		}
		// Length is the writer's to fill in; it counts what follows it, and a length of 0 takes one byte.
		rec.Length = int32(len(rec.AppendTo(nil)) - 1)
		plain = rec.AppendTo(plain)
		largest = max(largest, r.Timestamp)
	}
	packed := plain
	if codec != CodecNone {
		var used kgo.CompressionCodecType
		packed, used = compressor.Compress(new(bytes.Buffer), plain)
		if Codec(used) != codec {
			t.Fatalf("kgo compressed with %v", used)
		}
	}
	batch := kmsg.RecordBatch{
		FirstOffset: int64(base), Length: int32(HeaderSize - LogOverhead + len(packed)), PartitionLeaderEpoch: -1, Magic: 2,
		Attributes: int16(codec), LastOffsetDelta: int32(len(records) - 1), FirstTimestamp: first, MaxTimestamp: largest,
		ProducerID: 8, ProducerEpoch: 1, FirstSequence: 5, NumRecords: int32(len(records)), Records: packed,
	}
	raw := batch.AppendTo(nil)
	batch.CRC = int32(crc32.Checksum(raw[posAttributes:], crc32.MakeTable(crc32.Castagnoli)))
	return batch.AppendTo(nil)
}

func buildOf(t interface{ Fatal(...any) }, f Fields, records []Record) Batch {
	var w Builder
	w.Reset(f)
	for _, r := range records {
		w.Append(r)
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRewrite: a batch written again by its own fields is itself, gaps and all, and recompression changes only how
// the records are stored.
func TestRewrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := NewFields(Offset(rapid.Int64Range(0, 1<<50).Draw(t, "base")))
		f.Codec = Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
		f.LeaderEpoch = 4
		if rapid.Bool().Draw(t, "horizon") {
			f.HasDeleteHorizon, f.DeleteHorizon = true, 1<<41
		}
		if rapid.Bool().Draw(t, "append time") {
			f.LogAppendTime, f.MaxTimestamp = true, 1<<40
		}
		records := drawRecords(t, f.BaseOffset, false)
		f.LastOffset = records[len(records)-1].Offset + 10
		b := buildOf(t, f, records)
		if b.LastOffset() != f.LastOffset || b.NextOffset() != f.LastOffset+1 {
			t.Fatalf("last offset %d, want %d", b.LastOffset(), f.LastOffset)
		}
		recompressed, err := Recompress(b, Codec(rapid.IntRange(0, 4).Draw(t, "to")), DefaultLevel, Limit{}, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for _, same := range []Batch{b, recompressed} {
			if err := same.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			var w Builder
			w.Reset(FieldsOf(b))
			i := 0
			for r, err := range same.All(Limit{}) {
				if err != nil {
					t.Fatal(err)
				}
				want := records[i]
				if f.LogAppendTime {
					want.Timestamp = f.MaxTimestamp
				}
				if err := sameRecord(r, want); err != nil {
					t.Fatal(err)
				}
				r.Timestamp = records[i].Timestamp // LogAppendTime hides it, and the deltas are made of it
				w.Append(r)
				i++
			}
			again, err := w.Build()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, b) {
				t.Fatalf("not itself:\n%x\n%x", again[:HeaderSize], b[:HeaderSize])
			}
		}
	})
}
