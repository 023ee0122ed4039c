package batch

import (
	"fmt"
	"testing"
)

// sized is a batch of about size bytes with values of value bytes.
func sized(tb testing.TB, codec Codec, size, value int) Batch {
	f := NewFields(0)
	f.Codec = codec
	return build(tb, f, size/(value+15), value)
}

func BenchmarkValidate(b *testing.B) {
	for _, size := range []int{16 << 10, 1 << 20} {
		for _, value := range []int{100, 1024} {
			one := sized(b, CodecNone, size, value)
			b.Run(fmt.Sprintf("%dKiB/%dB", size>>10, value), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(one)))
				checks := &Checks{Client: true}
				for b.Loop() {
					if _, err := one.Validate(checks); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(one.Count()), "ns/record")
			})
		}
	}
}

// BenchmarkCRC is the floor of BenchmarkValidate.
func BenchmarkCRC(b *testing.B) {
	for _, size := range []int{16 << 10, 1 << 20} {
		one := sized(b, CodecNone, size, 100)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(one)))
			for b.Loop() {
				if err := one.CheckCRC(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(one.Count()), "ns/record")
		})
	}
}

func BenchmarkCursor(b *testing.B) {
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		one := sized(b, codec, 64<<10, 100)
		b.Run(codec.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(64 << 10)
			var c Cursor
			for b.Loop() {
				for err := c.Reset(one, Limit{}); err == nil && c.Next(); {
				}
				if c.Err() != nil {
					b.Fatal(c.Err())
				}
			}
		})
	}
}

func BenchmarkBuilder(b *testing.B) {
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		source := sized(b, CodecNone, 64<<10, 100)
		b.Run(codec.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(64 << 10)
			f := FieldsOf(source)
			f.Codec = codec
			var c Cursor
			var w Builder
			for b.Loop() {
				w.Reset(f)
				for err := c.Reset(source, Limit{}); err == nil && c.Next(); {
					w.Append(c.Record())
				}
				if _, err := w.Build(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
