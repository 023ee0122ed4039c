package batch

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func TestSetInPlace(t *testing.T) {
	b := build(t, NewFields(0), 3, 10)
	crc := b.CRC()
	b.SetBaseOffset(1 << 40)
	b.SetLeaderEpoch(12)
	if err := b.CheckCRC(); err != nil || b.CRC() != crc {
		t.Fatal("offset and epoch are inside the CRC:", err)
	}
	if b.BaseOffset() != 1<<40 || b.LastOffset() != 1<<40+2 || b.NextOffset() != 1<<40+3 || b.LeaderEpoch() != 12 {
		t.Fatal(b.BaseOffset(), b.LastOffset(), b.NextOffset(), b.LeaderEpoch())
	}
	b.SetLogAppendTime(777)
	if err := b.CheckCRC(); err != nil || b.CRC() == crc || !b.IsLogAppendTime() || b.MaxTimestamp() != 777 {
		t.Fatal(err, b.IsLogAppendTime(), b.MaxTimestamp())
	}
	for r, err := range b.All(Limit{}) {
		if err != nil || r.Timestamp != 777 {
			t.Fatal(r.Timestamp, err)
		}
	}
	b.SetMaxTimestamp(1002)
	if err := b.CheckCRC(); err != nil || b.IsLogAppendTime() || b.CRC() != crc {
		t.Fatal("not as it was:", err)
	}
}

func TestHeaderOf(t *testing.T) {
	f := NewFields(9)
	f.ProducerID, f.ProducerEpoch, f.BaseSequence, f.Codec = 4, 2, math.MaxInt32-1, CodecLZ4
	b := build(t, f, 5, 100)
	h, err := HeaderOf(b[:HeaderSize+3])
	if err != nil || len(h) != HeaderSize || h.Size() != len(b) || h.RecordsBytes() != len(b.Records()) || h.Codec() != CodecLZ4 {
		t.Fatal(len(h), err)
	}
	if h.LastSequence() != 2 { // max-1, max, 0, 1, 2
		t.Fatal(h.LastSequence())
	}
	var last Record
	for r := range b.All(Limit{}) {
		last = r
	}
	if last.Sequence != 2 || last.Offset != 13 {
		t.Fatalf("%+v", last)
	}
	for _, n := range []int{0, LogOverhead - 1, PeekLen, HeaderSize - 1} {
		if _, err := HeaderOf(b[:n]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	var short *TruncatedError
	if _, _, err := Next(b[:len(b)-1]); !errors.As(err, &short) || short.Need != len(b) || short.Have != len(b)-1 {
		t.Error(err)
	}
}

func TestMarkers(t *testing.T) {
	for _, m := range []Marker{{ControlAbort, 0}, {ControlCommit, 1 << 30}} {
		b, err := m.Batch(77, 5, 1234)
		if err != nil {
			t.Fatal(err)
		}
		if !b.IsControl() || !b.IsTransactional() || b.ProducerID() != 77 || b.ProducerEpoch() != 5 || b.BaseSequence() != NoSequence || b.LastSequence() != NoSequence {
			t.Fatalf("%x", []byte(b))
		}
		for r, err := range b.All(Limit{}) {
			got, ok, perr := ParseMarker(r)
			if err != nil || perr != nil || !ok || got != m || r.Timestamp != 1234 {
				t.Fatal(got, ok, err, perr)
			}
			// Kafka's schema: version 0, type; version 0, coordinator epoch.
			if !bytes.Equal(r.Key, []byte{0, 0, 0, byte(m.Type)}) || len(r.Value) != 6 {
				t.Fatalf("% x: % x", r.Key, r.Value)
			}
		}
	}
	if _, ok, err := ParseMarker(Record{Key: []byte{0, 0, 0, 2}}); ok || err != nil {
		t.Error("a leader change ends no transaction:", ok, err)
	}
	for _, r := range []Record{{}, {Key: []byte{0, 0, 0}}, {Key: []byte{0, 0, 0, 1}, Value: []byte{0}}} {
		if _, _, err := ParseMarker(r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestEmptyBatch(t *testing.T) {
	f := NewFields(100)
	f.LastOffset, f.ProducerID, f.ProducerEpoch, f.BaseSequence, f.MaxTimestamp, f.Codec = 120, 3, 1, 40, 5000, CodecGzip
	b := buildOf(t, f, nil)
	if len(b) != HeaderSize || b.NextOffset() != 121 || b.LastSequence() != 60 || b.MaxTimestamp() != 5000 || b.Codec() != CodecNone {
		t.Fatalf("%x", []byte(b))
	}
	for _, err := range b.All(Limit{}) {
		t.Fatal("a record", err)
	}
	if got, _, err := Next(b); err != nil || got.CheckCRC() != nil {
		t.Fatal(err)
	}
}

func TestBuilderRefuses(t *testing.T) {
	for name, offsets := range map[string][]Offset{
		"before the base": {9}, "twice": {10, 10}, "backwards": {12, 11}, "too far": {10, 10 + math.MaxInt32 + 1},
	} {
		var w Builder
		w.Reset(NewFields(10))
		for _, o := range offsets {
			w.Append(Record{Offset: o})
		}
		if b, err := w.Build(); err == nil {
			t.Errorf("%s: built %x", name, []byte(b))
		}
	}
}

// TestNothingPerRecord: reading and writing records costs no allocation for each of them.
func TestNothingPerRecord(t *testing.T) {
	b := build(t, NewFields(0), 1000, 100)
	checks := &Checks{Client: true, Keys: true, Timestamps: true, MaxTimestamp: math.MaxInt64}
	if n := testing.AllocsPerRun(10, func() {
		if _, err := b.Validate(checks); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Validate: %v allocations", n)
	}
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		packed, err := Recompress(b, codec, DefaultLevel, Limit{}, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		var c Cursor
		var w Builder
		if n := testing.AllocsPerRun(10, func() {
			w.Reset(FieldsOf(packed))
			for err := c.Reset(packed, Limit{}); err == nil && c.Next(); {
				w.Append(c.Record())
			}
			if _, err := w.Build(); err != nil || c.Err() != nil {
				t.Fatal(err, c.Err())
			}
		}); n > 300 { // the race detector makes pools forget now and then
			t.Errorf("%v: %v allocations for 1000 records", codec, n)
		}
	}
}
