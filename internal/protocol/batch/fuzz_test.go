package batch

import (
	"bytes"
	"errors"
	"testing"
)

// seedBatches adds a good batch of every codec, and the prefix of one.
func seedBatches(f *testing.F) {
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		fields := NewFields(5)
		fields.Codec = codec
		b := build(f, fields, 3, 30)
		f.Add([]byte(b))
		f.Add([]byte(b[:len(b)-1]))
	}
	var w Builder
	w.Reset(NewFields(0))
	w.Append(Record{Headers: NewHeaders(Header{"a", nil}, Header{"b", []byte("c")})})
	b, err := w.Build()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(b))
}

// known fails unless err has one of this package's marks.
func known(t *testing.T, err error) {
	for _, mark := range []error{ErrTruncated, ErrCorrupt, ErrMagic, ErrInvalid, ErrTimestamp, ErrTooLarge} {
		if errors.Is(err, mark) {
			return
		}
	}
	if err != nil {
		t.Fatalf("an error without a mark: %v", err)
	}
}

// FuzzNext splits and validates anything; what Validate accepts, the cursor reads to the end, and the short and the long
// reader of records agree.
func FuzzNext(f *testing.F) {
	seedBatches(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for rest := data; len(rest) > 0; {
			b, after, err := Next(rest)
			known(t, err)
			if err != nil {
				break
			}
			if len(b) != b.Size() || len(b)+len(after) != len(rest) {
				t.Fatalf("%d + %d of %d bytes, size %d", len(b), len(after), len(rest), b.Size())
			}
			rest = after
			b = bytes.Clone(b)
			b.setCRC() // or the fuzzer would see little behind the CRC
			readers(t, b.Records())
			limit := Limit{Bytes: 1 << 20}
			rep, err := b.Validate(&Checks{Deep: true, Timestamps: true, MaxTimestamp: 1 << 50, Limit: limit})
			known(t, err)
			n := int32(0)
			for r, rerr := range b.All(limit) {
				known(t, rerr)
				if rerr == nil {
					n++
					continue
				}
				if err == nil {
					t.Fatalf("validated, but record %d: %v %+v", n, rerr, r)
				}
			}
			if err == nil && (n != b.Count() || !rep.Walked) {
				t.Fatalf("validated %d records, read %d", b.Count(), n)
			}
		}
	})
}

// readers compares the word-wise reader of records with the careful one.
func readers(t *testing.T, p []byte) {
	for at := 0; at < len(p); {
		var short, long layout
		wrong := long.parseLong(p, at)
		if short.parseShort(p, at) && (wrong != flawNone || short != long) {
			t.Fatalf("at %d: %+v, carefully %+v (%v)", at, short, long, wrong)
		}
		if wrong != flawNone {
			return
		}
		at = long.end
	}
}

// FuzzDecompress decompresses anything within its limit, in every codec, the same with a used buffer.
func FuzzDecompress(f *testing.F) {
	for codec := CodecGzip; codec <= CodecZstd; codec++ {
		b, err := Compress(nil, codec, DefaultLevel, bytes.Repeat([]byte("seed "), 100))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(int8(codec), b)
		f.Add(int8(codec), append(bytes.Clone(b), b...))
	}
	f.Add(int8(CodecSnappy), []byte("\xff\xff\xff\xff\x0f"))
	f.Add(int8(CodecZstd), []byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x03\x00\x00\x00"))
	f.Add(int8(CodecZstd), []byte("\x50\x2a\x4d\x18\x02\x00\x00\x00ab"))
	f.Fuzz(func(t *testing.T, codec int8, data []byte) {
		const bound = 64 << 10
		var s stream
		got, err := decompressed(&s, Codec(codec), data, Limit{Bytes: bound})
		known(t, err)
		if Codec(codec) == CodecNone {
			return
		}
		if len(got) > bound {
			t.Fatalf("%d bytes", len(got))
		}
		again, err2 := decompressed(&s, Codec(codec), data, Limit{Bytes: bound})
		if (err == nil) != (err2 == nil) || !bytes.Equal(got, again) {
			t.Fatalf("%d bytes, %v; with a buffer %d bytes, %v", len(got), err, len(again), err2)
		}
	})
}

// FuzzXerial: what the xerial framing carries comes back.
func FuzzXerial(f *testing.F) {
	f.Add([]byte("a"), 1)
	f.Add([]byte("abc"), 40_000)
	f.Fuzz(func(t *testing.T, data []byte, times int) {
		if times < 0 || times > 1000 || len(data) > 1000 {
			return
		}
		src := bytes.Repeat(data, times)
		got, err := decompressed(new(stream), CodecSnappy, appendXerial(nil, src), Limit{})
		if err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(src), err)
		}
	})
}
