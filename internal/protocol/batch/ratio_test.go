package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// similar is a batch of n records of about 1 KiB that differ in a few bytes, as an honest producer of readings has them.
func similar(tb testing.TB, codec Codec, n int) Batch {
	tb.Helper()
	f := NewFields(1000)
	f.Codec = codec
	var w Builder
	w.Reset(f)
	value := []byte(strings.Repeat("reading=0017;", 80))
	for i := range n {
		copy(value, fmt.Sprintf("%08d", i))
		w.Append(Record{Offset: 1000 + Offset(i), Timestamp: 5000 + int64(i), Key: fmt.Appendf(nil, "sensor-%d", i%100), Value: value})
	}
	b, err := w.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestSimilarRecords: 20,000 records of 1 KiB that compress to a fraction are read, checked and written in every codec, in memory
// that has nothing to do with their number.
func TestSimilarRecords(t *testing.T) {
	count := 20_000
	if raceEnabled {
		count = 2_000
	}
	for codec := CodecGzip; codec <= CodecZstd; codec++ {
		t.Run(codec.String(), func(t *testing.T) {
			b := similar(t, codec, count)
			if codec == CodecZstd && len(b) > 256<<10 {
				t.Fatalf("%d bytes: the records are not similar", len(b))
			}
			var c Cursor
			walk := func() {
				t.Helper()
				n := 0
				for ; c.Next(); n++ {
					if r := c.Record(); r.Offset != 1000+Offset(n) || r.Timestamp != 5000+int64(n) {
						t.Fatalf("record %d has offset %d, timestamp %d", n, r.Offset, r.Timestamp)
					}
					if want := fmt.Sprintf("sensor-%d", n%100); !c.bare && (string(c.Record().Key) != want || len(c.Record().Value) != 1040) {
						t.Fatalf("record %d has key %q and a value of %d bytes", n, c.Record().Key, len(c.Record().Value))
					}
				}
				if n != count || c.Err() != nil {
					t.Fatalf("%d of %d records: %v", n, count, c.Err())
				}
			}
			var again Batch
			grown := allocated(func() {
				for _, reset := range []func(Batch, Limit) error{c.Reset, c.ResetBare} {
					if err := reset(b, Limit{}); err != nil {
						t.Fatal(err)
					}
					walk()
					if err := c.Rewind(); err != nil {
						t.Fatal(err)
					}
					walk()
				}
				if seen, err := b.Validate(&Checks{Client: true, Keys: true}); err != nil || int(seen.MaxTimestampDelta) != count-1 {
					t.Fatalf("%+v, %v", seen, err)
				}
				var err error
				if again, err = Recompress(b, codec, DefaultLevel, Limit{}, 2*len(b)+1<<20); err != nil {
					t.Fatal(err)
				}
			})
			// The decoder's and the encoder's tables and windows, and what snappy makes of it (5 % of 20 MB).
			if most := uint64(36<<20 + 4*len(b)); grown > most && !raceEnabled {
				t.Errorf("%d bytes allocated for a batch of %d bytes, expected at most %d", grown, len(b), most)
			}
			if err := c.Reset(again, Limit{}); err != nil {
				t.Fatal(err)
			}
			walk()
			if _, err := Recompress(b, CodecNone, DefaultLevel, Limit{}, 1<<20); !errors.Is(err, ErrTooLarge) {
				t.Errorf("all of it without compression within 1 MiB: %v, want ErrTooLarge", err)
			}
		})
	}
}

// TestLargeRecords: a record that does not fit the window is checked without being held, and held within the limit.
func TestLargeRecords(t *testing.T) {
	value := bytes.Repeat([]byte("0123456789"), 300_000)
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		f := NewFields(0)
		f.Codec = codec
		var w Builder
		w.Reset(f)
		for i := range Offset(4) {
			w.Append(Record{Offset: i, Timestamp: int64(i), Key: value[:10*i], Value: value, Headers: NewHeaders(Header{"h", value[:200_000]}, Header{"i", nil})})
		}
		b, err := w.Build()
		if err != nil {
			t.Fatal(err)
		}
		if seen, err := b.Validate(&Checks{Client: true, Deep: true, Limit: Limit{Record: 1}}); err != nil || seen.MaxTimestamp != 3 {
			t.Errorf("%v: %+v, %v", codec, seen, err)
		}
		if seen, err := b.Validate(&Checks{Client: true, Keys: true, Limit: Limit{Record: 3_200_100}}); err != nil || seen.MaxTimestamp != 3 {
			t.Errorf("%v: %+v, %v", codec, seen, err)
		}
		_, err = b.Validate(&Checks{Client: true, Keys: true, Limit: Limit{Record: 3_000_000}})
		if codec != CodecNone && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: a record above the limit is accepted for compaction: %v", codec, err)
		}
		n := 0
		for r, err := range b.All(Limit{}) {
			if err != nil || !bytes.Equal(r.Value, value) || r.Headers.Len() != 2 {
				t.Fatalf("%v: record %d has %d bytes and %d headers: %v", codec, n, len(r.Value), r.Headers.Len(), err)
			}
			n++
		}
		if n != 4 {
			t.Errorf("%v: %d records", codec, n)
		}
		var c Cursor
		if err := c.Reset(b, Limit{Record: 3_000_000}); err == nil && c.Next() && codec != CodecNone {
			t.Errorf("%v: a record above the limit is held", codec)
		}
		if err := c.Err(); err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: %v", codec, err)
		}
		c.Close()
	}
}

// TestPassingJudgesAlike: what is wrong with a record is found alike whether it is in memory or passes by.
func TestPassingJudgesAlike(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	for i := range 400 {
		key, value := make([]byte, dice.IntN(20)), make([]byte, windowSize+dice.IntN(2*windowSize))
		record := []byte{0, 2, 0}
		record = appendNullable(record, key)
		record = appendNullable(record, value)
		record = append(record, NewHeaders(Header{"name", value[:dice.IntN(windowSize)]}, Header{"", nil})...)
		places := []int{1, 2, 3, 4, 3 + varintLen(int64(len(key))) + len(key), len(record) - 1, len(record) - 2, len(record) - 3}
		if place := places[dice.IntN(len(places))]; i > 0 {
			record[place] = byte(dice.Uint32())
		}
		if i%3 == 0 {
			record = record[:len(record)-dice.IntN(3)]
		}
		plain := append(binary.AppendVarint(nil, int64(len(record)+dice.IntN(2))), record...)
		var whole, passing stream
		if err := whole.open(CodecNone, plain, Limit{}); err != nil {
			t.Fatal(err)
		}
		packed, err := Compress(nil, CodecGzip, DefaultLevel, plain)
		if err != nil {
			t.Fatal(err)
		}
		if err := passing.open(CodecGzip, packed, Limit{}); err != nil {
			t.Fatal(err)
		}
		var a, b layout
		wrongA, wrongB := whole.next(&a, true), passing.next(&b, false)
		// A record cut short is seen at its first field behind the end by the one, by its size by the other.
		if wrongA != wrongB && (wrongA != flawSize || wrongB == flawNone) {
			t.Fatalf("%d: in memory %v, passing by %v", i, wrongA, wrongB)
		}
		if wrongA == flawNone && (a.timestampDelta != b.timestampDelta || a.offsetDelta != b.offsetDelta ||
			a.key.length != b.key.length || a.value.length != b.value.length || whole.ends() != passing.ends()) {
			t.Fatalf("%d: in memory %+v, passing by %+v", i, a, b)
		}
		passing.close()
	}
}
