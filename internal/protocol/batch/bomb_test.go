package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// zeros writes n zero bytes through a compressor.
func zeros(tb testing.TB, n int, compressor func(io.Writer) io.WriteCloser) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := compressor(&out)
	block := make([]byte, 1<<20)
	for range n / len(block) {
		if _, err := w.Write(block); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func zstdWriter(tb testing.TB) func(io.Writer) io.WriteCloser {
	return func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			tb.Fatal(err)
		}
		return z
	}
}

func gzipWriter(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

func lz4Writer(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) }

// zstdRuns is a zstd frame of n blocks of four bytes, each a run of 128 KiB of zeros.
func zstdRuns(n int) []byte {
	b := []byte("\x28\xb5\x2f\xfd\x00\x38") // no content size, a window of 128 KiB
	for i := range n {
		b = append(b, 1<<1, 0, 0x10, 0)
		if i == n-1 {
			b[len(b)-4] |= 1
		}
	}
	return b
}

// TestBombs: what decompresses to far more than it is stops at the limit, and takes memory of the limit's order.
func TestBombs(t *testing.T) {
	const huge = 80 << 20 // more than DefaultLimitBytes
	zstdBomb := zeros(t, huge, zstdWriter(t))
	oneMiB := zeros(t, 1<<20, zstdWriter(t))
	lz4One := zeros(t, 1<<20, lz4Writer)
	gzipOne := zeros(t, 1<<20, gzipWriter)
	snappyOne := snappy.Encode(nil, make([]byte, 1<<20))
	xerial := []byte(xerialHeader)
	for range 80 {
		xerial = binary.BigEndian.AppendUint32(xerial, uint32(len(snappyOne)))
		xerial = append(xerial, snappyOne...)
	}
	for name, c := range map[string]struct {
		codec Codec
		src   []byte
		limit Limit
		want  error
	}{
		"zstd, 256 MiB in 8 KiB":   {CodecZstd, zstdRuns(2048), Limit{}, ErrTooLarge},
		"zstd, runs, any ratio":    {CodecZstd, zstdRuns(2048), Limit{Ratio: 1 << 20}, ErrTooLarge},
		"zstd":                     {CodecZstd, zstdBomb, Limit{}, ErrTooLarge},
		"zstd, any ratio":          {CodecZstd, zstdBomb, Limit{Ratio: 1 << 20}, ErrTooLarge},
		"zstd, small limit":        {CodecZstd, zstdBomb, Limit{Bytes: 100 << 10}, ErrTooLarge},
		"zstd, many frames":        {CodecZstd, bytes.Repeat(oneMiB, 200), Limit{}, ErrTooLarge},
		"zstd, claims 2^60 bytes":  {CodecZstd, []byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x03\x00\x00\x00"), Limit{}, ErrTooLarge},
		"zstd, window of 2^41":     {CodecZstd, []byte("\x28\xb5\x2f\xfd\x00\xf8\x0b\x00\x00\x00"), Limit{}, ErrInvalid},
		"gzip":                     {CodecGzip, zeros(t, huge, gzipWriter), Limit{}, ErrTooLarge},
		"gzip, many members":       {CodecGzip, bytes.Repeat(gzipOne, 200), Limit{Bytes: 10 << 20}, ErrTooLarge},
		"lz4":                      {CodecLZ4, zeros(t, huge, lz4Writer), Limit{}, ErrTooLarge},
		"lz4, many frames":         {CodecLZ4, bytes.Repeat(lz4One, 200), Limit{Bytes: 10 << 20}, ErrTooLarge},
		"snappy":                   {CodecSnappy, snappy.Encode(nil, make([]byte, huge)), Limit{}, ErrTooLarge},
		"snappy, claims 4 GiB":     {CodecSnappy, []byte("\xff\xff\xff\xff\x0f"), Limit{}, ErrInvalid},
		"snappy, claims 1 MiB":     {CodecSnappy, []byte("\x80\x80\x40\x00a"), Limit{}, ErrInvalid},
		"snappy, xerial blocks":    {CodecSnappy, xerial, Limit{}, ErrTooLarge},
		"snappy, xerial lies":      {CodecSnappy, []byte(xerialHeader + "\x7f\xff\xff\xffab"), Limit{}, ErrInvalid},
		"snappy, xerial cut short": {CodecSnappy, []byte(xerialHeader + "\x00\x00"), Limit{}, ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			grown := allocated(func() { _, err = Decompress(nil, c.codec, c.src, c.limit) })
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if bound := c.limit.of(len(c.src)); errors.Is(err, ErrTooLarge) && !strings.Contains(err.Error(), "limit of ") {
				t.Errorf("does not name the limit of %d: %v", bound, err)
			}
			// Twice the limit for the buffer that doubled, and the codec's own tables and blocks (lz4's are 4 MiB, and the race detector makes pools
			// forget).
			most := uint64(3*c.limit.of(len(c.src)) + 48<<20)
			if errors.Is(c.want, ErrInvalid) {
				most = 24 << 20
			}
			if grown > most {
				t.Errorf("allocated %d bytes, expected at most %d", grown, most)
			}
		})
	}
}

// allocated is how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLimitIsExact: a limit lets through exactly its number of bytes, in every codec.
func TestLimitIsExact(t *testing.T) {
	src := bytes.Repeat([]byte("some text that repeats, "), 10_000)
	for codec := CodecGzip; codec <= CodecZstd; codec++ {
		packed, err := Compress(nil, codec, DefaultLevel, src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decompress(nil, codec, packed, Limit{Bytes: len(src)}); err != nil || !bytes.Equal(got, src) {
			t.Errorf("%v: %d of %d bytes, %v", codec, len(got), len(src), err)
		}
		if _, err := Decompress(nil, codec, packed, Limit{Bytes: len(src) - 1}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: %v, want ErrTooLarge", codec, err)
		}
		if _, err := Decompress(make([]byte, 0, 1<<20), codec, packed, Limit{Bytes: len(src) - 1}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v into a large buffer: %v, want ErrTooLarge", codec, err)
		}
		for _, cut := range []int{1, 5, len(packed) / 2} {
			if got, err := Decompress(nil, codec, packed[:len(packed)-cut], Limit{}); err == nil && bytes.Equal(got, src) {
				t.Errorf("%v: whole although %d bytes are missing", codec, cut)
			}
		}
	}
}
