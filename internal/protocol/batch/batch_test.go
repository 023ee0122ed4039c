package batch

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// build makes a batch of n records of value bytes each.
func build(tb testing.TB, f Fields, n, value int) Batch {
	tb.Helper()
	var w Builder
	w.Reset(f)
	v := bytes.Repeat([]byte("v"), value)
	for i := range n {
		w.Append(Record{Offset: f.BaseOffset + Offset(i), Timestamp: 1000 + int64(i), Key: fmt.Append(nil, "key", i), Value: v})
	}
	b, err := w.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestBuildValidateIterate(t *testing.T) {
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		f := NewFields(7)
		f.Codec = codec
		b := build(t, f, 100, 50)
		got, rest, err := Next(append(bytes.Clone(b), "tail"...))
		if err != nil || string(rest) != "tail" || !bytes.Equal(got, b) {
			t.Fatalf("%v: next: %d bytes, rest %q, %v", codec, len(got), rest, err)
		}
		rep, err := b.Validate(&Checks{Client: true, Deep: true, Keys: true})
		if err != nil || rep != (Report{Walked: true, MaxTimestamp: 1099, MaxTimestampDelta: 99}) {
			t.Fatalf("%v: %+v %v", codec, rep, err)
		}
		n := 0
		for r, err := range b.All(Limit{}) {
			if err != nil || r.Offset != Offset(7+n) || r.Timestamp != int64(1000+n) || string(r.Key) != fmt.Sprint("key", n) {
				t.Fatalf("%v: record %d: %+v %v", codec, n, r, err)
			}
			n++
		}
		if n != 100 {
			t.Fatalf("%v: %d records", codec, n)
		}
	}
}

func TestNextRefuses(t *testing.T) {
	good := build(t, NewFields(0), 1, 1)
	change := func(at int, to ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], to)
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":             {nil, ErrTruncated},
		"part of a header":  {good[:30], ErrTruncated},
		"one byte short":    {good[:len(good)-1], ErrTruncated},
		"length 48":         {change(posLength, 0, 0, 0, 48), ErrCorrupt},
		"negative length":   {change(posLength, 0xff, 0xff, 0xff, 0xff), ErrCorrupt},
		"huge length":       {change(posLength, 0x7f, 0xff, 0xff, 0xff), ErrCorrupt},
		"largest length":    {change(posLength, 0x7f, 0xff, 0xff, 0xff-LogOverhead), ErrTruncated},
		"magic 1":           {change(posMagic, 1), ErrMagic},
		"magic 3":           {change(posMagic, 3), ErrCorrupt},
		"negative offset":   {change(posBaseOffset, 0x80), ErrCorrupt},
		"offset at the end": {change(posBaseOffset, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), ErrCorrupt},
		"negative delta":    {change(posLastOffsetDelta, 0x80), ErrCorrupt},
		"negative count":    {change(posCount, 0x80), ErrCorrupt},
	} {
		got, rest, err := Next(c.b)
		if !errors.Is(err, c.want) || got != nil || len(rest) != len(c.b) {
			t.Errorf("%s: %v, %d bytes, %d left", name, err, len(got), len(rest))
		}
	}
}
