package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// raw is one record's bytes: its size, then the fields given.
func raw(fields ...any) []byte {
	var body []byte
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			body = binary.AppendVarint(body, int64(f))
		case int64:
			body = binary.AppendVarint(body, f)
		case string:
			body = append(body, f...)
		}
	}
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

// batchOf is a batch that claims count records, which are the bytes given; change edits it before the CRC is made.
func batchOf(count int32, records []byte, change func(Batch)) Batch {
	w := Builder{fields: NewFields(0), count: count, max: 1000, base: 1000}
	w.fields.ProducerID, w.fields.BaseSequence = 1, 0
	b := Batch(append(make([]byte, HeaderSize), records...))
	w.putHeader(b, count-1)
	if change != nil {
		change(b)
		b.setCRC()
	}
	return b
}

func TestValidateRefuses(t *testing.T) {
	const attr = "\x00"
	good := raw(attr, 0, 0, 1, "k", 1, "v", 0)
	tail := strings.Repeat("t", 40) // keeps the end of the batch away, so that the word-wise reader is used
	long := raw(attr, 0, 1, -1, 40, tail, 0)
	first := func(record []byte) Batch { return batchOf(2, append(bytes.Clone(record), long...), nil) }
	set16 := func(pos int, bits byte) func(Batch) { return func(b Batch) { b[pos] |= bits } }
	for name, c := range map[string]struct {
		b    Batch
		want error
		text string
	}{
		"good":                       {batchOf(1, good, nil), nil, ""},
		"good, two":                  {first(good), nil, ""},
		"crc":                        {append(bytes.Clone(batchOf(1, good, nil)[:70]), 'x', 'y'), ErrCorrupt, "crc"},
		"no records":                 {batchOf(0, nil, nil), ErrInvalid, "count is 0"},
		"delta is not count - 1":     {batchOf(1, good, func(b Batch) { b[posLastOffsetDelta+3] = 1 }), ErrInvalid, "last offset delta is 1"},
		"count above the records":    {batchOf(2, good, nil), ErrInvalid, "record 1: its size"},
		"count below the records":    {batchOf(1, append(bytes.Clone(good), long...), nil), ErrInvalid, "stand after"},
		"codec 5":                    {batchOf(1, good, set16(posAttributes+1, 5)), ErrInvalid, "codec is 5"},
		"control by a client":        {batchOf(1, good, set16(posAttributes+1, attrControl)), ErrInvalid, "control"},
		"delete horizon by a client": {batchOf(1, good, set16(posAttributes+1, attrDeleteHorizon)), ErrInvalid, "horizon"},
		"append time by a client":    {batchOf(1, good, set16(posAttributes+1, attrLogAppendTime)), ErrTimestamp, "LogAppendTime"},
		"sequence -1":                {batchOf(1, good, func(b Batch) { b[posBaseSequence] = 0x80 }), ErrInvalid, "sequence"},
		"transaction of nobody": {batchOf(1, good, func(b Batch) {
			b[posAttributes+1] |= attrTransactional
			b[posProducerID] = 0xff
		}), ErrInvalid, "transactional"},
		"size passes the end":  {batchOf(1, good[:len(good)-1], nil), ErrInvalid, "record 0: its size"},
		"negative size":        {first([]byte{1}), ErrInvalid, "record 0: its size"},
		"size of 0":            {first([]byte{0}), ErrInvalid, "record 0: its timestamp"},
		"endless size":         {first(bytes.Repeat([]byte{0xff}, 12)), ErrInvalid, "record 0: its size"},
		"no offset delta":      {first(raw(attr, 0)), ErrInvalid, "record 0: its timestamp"},
		"key passes":           {first(raw(attr, 0, 0, 40, "k", 1, "v", 0)), ErrInvalid, "record 0: its key"},
		"value passes":         {first(raw(attr, 0, 0, 1, "k", 9, "v", 0)), ErrInvalid, "record 0: its value"},
		"huge key":             {first(raw(attr, 0, 0, int64(math.MaxInt64), "k", 1, "v", 0)), ErrInvalid, "record 0: its key"},
		"no header count":      {first(raw(attr, 0, 0, 1, "k", 1, "v")), ErrInvalid, "record 0: its headers"},
		"negative headers":     {first(raw(attr, 0, 0, 1, "k", 1, "v", -1)), ErrInvalid, "record 0: its headers"},
		"many headers":         {first(raw(attr, 0, 0, 1, "k", 1, "v", 1<<30)), ErrInvalid, "record 0: its headers"},
		"null header key":      {first(raw(attr, 0, 0, 1, "k", 1, "v", 1, -1, -1)), ErrInvalid, "record 0: its headers"},
		"header passes":        {first(raw(attr, 0, 0, 1, "k", 1, "v", 1, 1, "h", 9, "v")), ErrInvalid, "record 0: its headers"},
		"bytes after headers":  {first(raw(attr, 0, 0, 1, "k", 1, "v", 0, "x")), ErrInvalid, "record 0: its fields end"},
		"offset delta 1 first": {first(raw(attr, 0, 1, 1, "k", 1, "v", 0)), ErrInvalid, "record 0: its offset delta"},
		"offset delta -1":      {first(raw(attr, 0, -1, 1, "k", 1, "v", 0)), ErrInvalid, "record 0: its offset delta"},
	} {
		_, err := c.b.Validate(&Checks{Client: true})
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.text)
		}
	}
}

func TestValidateAllowsBrokers(t *testing.T) {
	marker, err := Marker{Type: ControlCommit, CoordinatorEpoch: 3}.Batch(9, 2, 1234)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := marker.Validate(&Checks{}); err != nil {
		t.Error(err)
	}
	if _, err := marker.Validate(&Checks{Client: true}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// TestValidateKeysAndTimestamps: each bad record is named, up to a bound, in compressed batches too.
func TestValidateKeysAndTimestamps(t *testing.T) {
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		f := NewFields(0)
		f.Codec = codec
		b := buildOf(t, f, []Record{
			{Offset: 0, Timestamp: 100, Key: []byte("k")},
			{Offset: 1, Timestamp: 900, Value: []byte("v")},
			{Offset: 2, Timestamp: NoTimestamp, Key: []byte{}},
			{Offset: 3, Timestamp: 50, Key: []byte("k")},
		})
		for name, c := range map[string]struct {
			checks Checks
			want   error
			bad    []int32
		}{
			"nothing asked":  {Checks{}, nil, nil},
			"in range":       {Checks{Timestamps: true, MinTimestamp: 50, MaxTimestamp: 900}, nil, nil},
			"keys":           {Checks{Keys: true}, ErrInvalid, []int32{1}},
			"too late":       {Checks{Timestamps: true, MinTimestamp: 0, MaxTimestamp: 899}, ErrTimestamp, []int32{1}},
			"too early":      {Checks{Timestamps: true, Deep: true, MinTimestamp: 60, MaxTimestamp: 900}, ErrTimestamp, []int32{3}},
			"early and late": {Checks{Timestamps: true, MinTimestamp: 200, MaxTimestamp: 300}, ErrTimestamp, []int32{0, 1, 3}},
			"keys and times": {Checks{Keys: true, Timestamps: true, MinTimestamp: 60, MaxTimestamp: 900}, ErrTimestamp, []int32{1, 3}},
		} {
			_, err := b.Validate(&c.checks)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, %s: %v, want %v", codec, name, err, c.want)
			}
			var bad []int32
			if invalid, ok := errors.AsType[*InvalidError](err); ok {
				for _, r := range invalid.Records {
					bad = append(bad, r.Index)
				}
			}
			if len(bad) != len(c.bad) {
				t.Fatalf("%v, %s: records %v, want %v", codec, name, bad, c.bad)
			}
			for i := range bad {
				if bad[i] != c.bad[i] {
					t.Fatalf("%v, %s: records %v, want %v", codec, name, bad, c.bad)
				}
			}
		}
	}
	_, err := build(t, NewFields(0), 1000, 1).Validate(&Checks{Timestamps: true, MaxTimestamp: 0})
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Records) != MaxRecordErrors {
		t.Errorf("%v: %d record errors", err, len(invalid.Records))
	}
}

// TestShallow: without a reason to, compressed records are not looked at.
func TestShallow(t *testing.T) {
	f := NewFields(0)
	f.Codec = CodecZstd
	b := build(t, f, 10, 10)
	copy(b.Records(), "not zstd")
	b.setCRC()
	rep, err := b.Validate(&Checks{Client: true, Timestamps: true, MaxTimestamp: 2000})
	if err != nil || rep.Walked || rep.MaxTimestamp != 1009 || rep.MaxTimestampDelta != 9 {
		t.Errorf("%+v, %v", rep, err)
	}
	for name, checks := range map[string]Checks{"deep": {Deep: true}, "keys": {Keys: true}, "late": {Timestamps: true, MaxTimestamp: 1008}} {
		if _, err := b.Validate(&checks); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReportCorrectsMaxTimestamp: a header that is wrong about its records is corrected, not refused, as in Kafka.
func TestReportCorrectsMaxTimestamp(t *testing.T) {
	b := buildOf(t, NewFields(0), []Record{{Timestamp: 5}, {Offset: 1, Timestamp: 9}, {Offset: 2, Timestamp: 9}})
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], 0)
	b.setCRC()
	rep, err := b.Validate(&Checks{Client: true})
	if err != nil || rep.MaxTimestamp != 9 || rep.MaxTimestampDelta != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	b.SetMaxTimestamp(rep.MaxTimestamp)
	if err := b.CheckCRC(); err != nil || b.MaxTimestamp() != 9 {
		t.Fatal(b.MaxTimestamp(), err)
	}
}
