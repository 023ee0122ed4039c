package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// similar is one batch of n records of 1.2 KiB that differ in key and time only, as an honest producer of readings sends it.
func similar(t testing.TB, codec batch.Codec, n int) batch.Batch {
	t.Helper()
	f := batch.NewFields(0)
	f.Codec = codec
	var w batch.Builder
	w.Reset(f)
	value := []byte(strings.Repeat("reading=0017;", 95))
	for i := range n {
		w.Append(batch.Record{Offset: batch.Offset(i), Timestamp: start.UnixMilli() + int64(i), Key: fmt.Appendf(nil, "sensor-%02d", i/200), Value: value})
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(b)
}

// TestWellCompressedBatch: 20,000 similar records of 1.2 KiB in one batch are taken by a compacted topic, found by time and compacted.
func TestWellCompressedBatch(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for codec := batch.CodecGzip; codec <= batch.CodecZstd; codec++ {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			p := openTest(t, newFS(t), func(o *OpenOptions) {
				compacted(o)
				o.Log.SegmentBytes, o.MaxMessageBytes, o.Durability = 4<<20, 3<<20, DurabilityMemory
				o.Inflating = NewInflating(1)
				o.Log.Inflate = o.Inflating.Enter
			})
			pr := &Produce{Records: similar(t, codec, n)}
			if codec == batch.CodecZstd && len(pr.Records) > n*1235/256 {
				t.Fatalf("%d bytes of zstd: the ratio is no more than 256", len(pr.Records))
			}
			if p.Append(start, []*Produce{pr}); pr.Err != nil {
				t.Fatal(pr.Err)
			}
			for _, i := range []int64{0, 1, 12_345, n - 1} {
				found, ok, err := p.FindTimestamp(start.UnixMilli()+i, ReadUncommitted)
				if err != nil || !ok || int64(found.Offset) != i || found.Timestamp != start.UnixMilli()+i {
					t.Errorf("timestamp %d: %+v, %t, %v", i, found, ok, err)
				}
			}
			found, ok, err := p.MaxTimestamp(ReadUncommitted)
			if err != nil || !ok || found.Offset != n-1 {
				t.Errorf("largest timestamp: %+v, %t, %v, want offset %d", found, ok, err, n-1)
			}
			last := plain(1)
			last.size = 3<<20 - 200
			mustAppend(t, p, last, last) // the batch above is in a sealed segment then
			done, err := p.Compact(start, log.Cleaner{Memory: 1 << 20, LoadFactor: 0.9, Buffer: 4096})
			if err != nil || done.RecordsKept != 101 {
				t.Errorf("%+v, %v, want the last record of 100 keys, and that of the next batch", done, err)
			}
		})
	}
}

// TestCompressionTypeOfAWellCompressedBatch: such a batch is recompressed, and refused only if the result is above max.message.bytes.
func TestCompressionTypeOfAWellCompressedBatch(t *testing.T) {
	t.Parallel()
	for source := batch.CodecGzip; source <= batch.CodecZstd; source++ {
		for _, target := range []batch.Codec{batch.CodecNone, source%batch.CodecZstd + 1} {
			p := openTest(t, newFS(t), func(o *OpenOptions) {
				o.Compression, o.Durability, o.Log.SegmentBytes, o.MaxMessageBytes = target, DurabilityMemory, 8<<20, 4<<20
			})
			pr := &Produce{Records: similar(t, source, 20_000)}
			p.Append(start, []*Produce{pr})
			if target == batch.CodecNone {
				if !errors.Is(pr.Err, kerr.MessageTooLarge) {
					t.Errorf("%v on a topic of %v: %s, want MESSAGE_TOO_LARGE", source, target, describe(pr))
				}
				continue
			}
			if pr.Err != nil {
				t.Errorf("%v on a topic of %v: %v", source, target, pr.Err)
				continue
			}
			got := readAll(t, p)
			if _, err := got[0].Validate(&batch.Checks{Deep: true, Keys: true}); err != nil || got[0].Codec() != target || got[0].Count() != 20_000 {
				t.Errorf("%v on a topic of %v: %v of %d records, %v", source, target, got[0].Codec(), got[0].Count(), err)
			}
		}
	}
}

// unreadable is a batch whose records are no bytes of its codec, though its checksum is right.
func unreadable(t testing.TB, codec batch.Codec, ms int64) batch.Batch {
	t.Helper()
	b := similar(t, codec, 1)
	clear(b[batch.HeaderSize+20:])
	binary.BigEndian.PutUint64(b[27:], uint64(ms)) // the first record's timestamp
	b.SetMaxTimestamp(ms)
	return b
}

// TestSearchPassesOverWhatCannotBeRead: a plain topic takes batches unread, so a client can write ones that nobody can decompress.
// They hide no record from a search by time.
func TestSearchPassesOverWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for codec := batch.CodecGzip; codec <= batch.CodecZstd; codec++ {
		p := openTest(t, newFS(t), memory)
		at := func(after time.Duration) proto {
			o := plain(1)
			o.at = start.Add(after)
			return o
		}
		mustAppend(t, p, at(time.Second))
		bad := &Produce{Records: unreadable(t, codec, start.Add(time.Hour).UnixMilli())}
		if p.Append(start, []*Produce{bad}); bad.Err != nil {
			t.Fatal(bad.Err)
		}
		mustAppend(t, p, at(2*time.Second))
		if found, ok, err := p.FindTimestamp(start.UnixMilli()+1500, ReadUncommitted); err != nil || !ok || found.Offset != 2 {
			t.Errorf("%v: timestamp of 1.5 s: %+v, %t, %v, want offset 2", codec, found, ok, err)
		}
		if found, ok, err := p.MaxTimestamp(ReadUncommitted); err != nil || !ok || found.Offset != 2 {
			t.Errorf("%v: largest timestamp: %+v, %t, %v, want offset 2", codec, found, ok, err)
		}
		mustAppend(t, p, at(3*time.Second)) // it is no failure of the partition
	}
}

// TestMaxTimestampIsARecords: a batch that compaction emptied and kept for its producer has the largest timestamp, but no record.
func TestMaxTimestampIsARecords(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), func(o *OpenOptions) {
		compacted(o)
		o.Durability = DurabilityMemory
	})
	newest := from(9, 0, 0, 1)
	newest.at = start.Add(time.Hour)
	mustAppend(t, p, newest)
	for range 8 {
		mustAppend(t, p, plain(1))
	}
	if _, err := p.Compact(start, testCleaner()); err != nil {
		t.Fatal(err)
	}
	if first := readAll(t, p)[0]; first.Count() != 0 || first.MaxTimestamp() != newest.at.UnixMilli() {
		t.Fatalf("the producer's batch has %d records", first.Count())
	}
	found, ok, err := p.MaxTimestamp(ReadUncommitted)
	if err != nil || !ok || found.Timestamp != start.UnixMilli() || found.Offset == 0 {
		t.Errorf("largest timestamp: %+v, %t, %v, want a record's", found, ok, err)
	}
}

// TestCorruptIsNoDiskError: what was read and is damaged is answered with CORRUPT_MESSAGE; the disk is well.
func TestCorruptIsNoDiskError(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	p := openTest(t, fs, memory)
	last := plain(1)
	last.at = start.Add(time.Hour)
	mustAppend(t, p, plain(1), plain(1), last)
	file, err := fs.OpenFile(testID.String()+"/00000000000000000000.log", 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{0xff}, int64(len(plain(1).batch(t)))+8); err != nil { // the second batch's length
		t.Fatal(err)
	}
	if _, ok, err := p.FindTimestamp(start.UnixMilli(), ReadUncommitted); !ok || err != nil {
		t.Errorf("before the damage: %t, %v", ok, err)
	}
	if _, _, err := p.FindTimestamp(start.UnixMilli()+1, ReadUncommitted); !errors.Is(err, kerr.CorruptMessage) {
		t.Errorf("past the damage: %v, want CORRUPT_MESSAGE", err)
	}
	if _, _, err := p.MaxTimestamp(ReadUncommitted); !errors.Is(err, kerr.CorruptMessage) {
		t.Errorf("largest timestamp: %v, want CORRUPT_MESSAGE", err)
	}
	_, _, err = p.Read(Fetch{Offset: 2, LeaderEpoch: batch.NoEpoch, MaxBytes: 1 << 20})
	if !errors.Is(err, kerr.CorruptMessage) {
		t.Errorf("a fetch past the damage: %v, want CORRUPT_MESSAGE", err)
	}
}

// TestInflatingTakesTurns: any number of usual batches up to the places, and one large one among them.
func TestInflatingTakesTurns(t *testing.T) {
	t.Parallel()
	in := NewInflating(3)
	usual := similar(t, batch.CodecZstd, 10)
	f := batch.NewFields(0)
	f.Codec = batch.CodecZstd
	// 128 blocks of a run of 128 KiB, in a window of 128 MiB.
	frame := []byte("\x28\xb5\x2f\xfd\x00\x88")
	for i := range 128 {
		frame = append(frame, 1<<1, 0, 0x10, 0)
		if i == 127 {
			frame[len(frame)-4] |= 1
		}
	}
	large := append(slices.Clone(usual[:batch.HeaderSize]), frame...)
	if large.Footprint() <= batch.FootprintUsual {
		t.Fatalf("footprint %d", large.Footprint())
	}
	leaveLarge := in.Enter(large)
	waiting := make(chan func())
	go func() { waiting <- in.Enter(large) }()
	leave := []func(){in.Enter(usual), in.Enter(usual)}
	leave[0]()
	select {
	case <-waiting:
		t.Fatal("two large batches at a time")
	default:
	}
	leaveLarge()
	(<-waiting)()
	leave[1]()
	if len(in.places)+len(in.large) != 0 {
		t.Errorf("%d and %d places are taken", len(in.places), len(in.large))
	}
}
