package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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

// decompressed is src decompressed as a stream does it, into s.
func decompressed(s *stream, codec Codec, src []byte, limit Limit) ([]byte, error) {
	var all []byte
	_, err := passOver(s, codec, src, limit, func(piece []byte) { all = append(all, piece...) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// passOver gives use what src decompresses to, piece by piece, and returns the bytes.
func passOver(s *stream, codec Codec, src []byte, limit Limit, use func([]byte)) (n int64, err error) {
	defer s.close()
	if err := s.open(codec, src, limit); err != nil {
		return 0, err
	}
	for {
		if s.fill(1); s.at == len(s.p) || s.err != nil {
			return n, s.err
		}
		n += int64(len(s.p) - s.at)
		use(s.p[s.at:])
		s.at = len(s.p)
	}
}

// TestRatio: whatever a batch decompresses to, it takes memory for the codec's window only.
func TestRatio(t *testing.T) {
	huge := 64 << 20
	if raceEnabled {
		huge = 8 << 20
	}
	snappyOne := snappy.Encode(nil, make([]byte, 1<<20))
	xerial := []byte(xerialHeader)
	for range huge >> 20 {
		xerial = binary.BigEndian.AppendUint32(xerial, uint32(len(snappyOne)))
		xerial = append(xerial, snappyOne...)
	}
	for name, c := range map[string]struct {
		codec Codec
		src   []byte
	}{
		"zstd, blocks of four bytes": {CodecZstd, zstdRuns(huge / zstdBlock)},
		"zstd, one frame":            {CodecZstd, zeros(t, huge, zstdWriter(t))},
		"zstd, frames":               {CodecZstd, bytes.Repeat(zeros(t, 1<<20, zstdWriter(t)), huge>>20)},
		"gzip, one member":           {CodecGzip, zeros(t, huge, gzipWriter)},
		"gzip, members":              {CodecGzip, bytes.Repeat(zeros(t, 1<<20, gzipWriter), huge>>20)},
		"lz4, one frame":             {CodecLZ4, zeros(t, huge, lz4Writer)},
		"lz4, frames":                {CodecLZ4, bytes.Repeat(zeros(t, 1<<20, lz4Writer), huge>>20)},
		"snappy, xerial":             {CodecSnappy, xerial},
	} {
		t.Run(name, func(t *testing.T) {
			var (
				n   int64
				err error
				s   stream
			)
			grown := allocated(func() { n, err = passOver(&s, c.codec, c.src, Limit{}, func([]byte) {}) })
			if n != int64(huge) || err != nil {
				t.Fatalf("%d of %d bytes: %v", n, huge, err)
			}
			if most := uint64(24 << 20); grown > most && !raceEnabled { // lz4 has blocks of 4 MiB
				t.Errorf("%d bytes allocated for %d compressed bytes, expected at most %d", grown, len(c.src), most)
			}
			if n, err := passOver(&s, c.codec, c.src, Limit{Bytes: int64(huge) - 1}, func([]byte) {}); !errors.Is(err, ErrTooLarge) {
				t.Errorf("one byte less than there is: %d bytes, %v; want ErrTooLarge", n, err)
			}
		})
	}
}

// TestBombs: what claims more than it is, or than a limit, takes no memory for the claim.
func TestBombs(t *testing.T) {
	raw := snappy.Encode(nil, make([]byte, 80<<20))
	for name, c := range map[string]struct {
		codec Codec
		src   []byte
		want  error
	}{
		"zstd, claims 2^60 bytes":  {CodecZstd, []byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x03\x00\x00\x00"), ErrInvalid},
		"zstd, window of 2^41":     {CodecZstd, []byte("\x28\xb5\x2f\xfd\x00\xf8\x0b\x00\x00\x00"), ErrInvalid},
		"snappy, claims 4 GiB":     {CodecSnappy, []byte("\xff\xff\xff\xff\x0f"), ErrInvalid},
		"snappy, claims 1 MiB":     {CodecSnappy, []byte("\x80\x80\x40\x00a"), ErrInvalid},
		"snappy, a bit too much":   {CodecSnappy, append([]byte("\x80\x80\x40"), make([]byte, 1<<20/22-8)...), ErrInvalid},
		"snappy, above the limit":  {CodecSnappy, raw, ErrTooLarge},
		"snappy, xerial lies":      {CodecSnappy, []byte(xerialHeader + "\x7f\xff\xff\xffab"), ErrInvalid},
		"snappy, xerial cut short": {CodecSnappy, []byte(xerialHeader + "\x00\x00"), ErrInvalid},
		"gzip, nothing":            {CodecGzip, nil, ErrInvalid},
		"codec 7":                  {7, []byte("a"), ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var (
				err error
				s   stream
			)
			grown := allocated(func() { _, err = decompressed(&s, c.codec, c.src, Limit{Bytes: 64 << 20}) })
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if grown > 1<<20 {
				t.Errorf("allocated %d bytes for a claim", grown)
			}
		})
	}
}

// TestFootprint: what takes much memory at a time says so, before it is read.
func TestFootprint(t *testing.T) {
	const huge = 32 << 20
	wide := bytes.Clone(zstdRuns(1024))
	wide[5] = 0x88 // a window of 2^27 bytes
	for name, c := range map[string]struct {
		codec Codec
		src   []byte
		want  int64
	}{
		"zstd, small":     {CodecZstd, zstdRuns(2), 256 << 10},
		"zstd, large":     {CodecZstd, zstdRuns(1024), 128 << 10},
		"zstd, wide":      {CodecZstd, wide, 128 << 20},
		"zstd, wide once": {CodecZstd, append(zstdRuns(1024), wide...), 128 << 20},
		"zstd, damaged":   {CodecZstd, wide[:9], 0},
		"snappy, raw":     {CodecSnappy, snappy.Encode(nil, make([]byte, huge)), huge},
		"snappy, xerial":  {CodecSnappy, appendXerial(nil, make([]byte, huge)), xerialBlock},
		"gzip":            {CodecGzip, zeros(t, huge, gzipWriter), 0},
	} {
		b := make(Batch, HeaderSize, HeaderSize+len(c.src))
		b[posAttributes+1] = byte(c.codec)
		if got := append(b, c.src...).Footprint(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
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

// TestLimitIsExact: a limit lets through exactly its number of bytes, in every codec, whether or not they are decompressed at once.
func TestLimitIsExact(t *testing.T) {
	for _, size := range []int{240_000, keepBuffer + 240_000} {
		src := bytes.Repeat([]byte("some text that repeats, "), size/24)
		for codec := CodecGzip; codec <= CodecZstd; codec++ {
			packed, err := Compress(nil, codec, DefaultLevel, src)
			if err != nil {
				t.Fatal(err)
			}
			var s stream
			if got, err := decompressed(&s, codec, packed, Limit{Bytes: int64(len(src))}); err != nil || !bytes.Equal(got, src) {
				t.Errorf("%v: %d of %d bytes, %v", codec, len(got), len(src), err)
			}
			_, err = decompressed(&s, codec, packed, Limit{Bytes: int64(len(src)) - 1})
			if limit := fmt.Sprintf("limit of %d bytes", len(src)-1); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), limit) {
				t.Errorf("%v: %v, want ErrTooLarge and the %s", codec, err, limit)
			}
			for _, cut := range []int{1, 5, len(packed) / 2} {
				if got, err := decompressed(&s, codec, packed[:len(packed)-cut], Limit{}); err == nil && bytes.Equal(got, src) {
					t.Errorf("%v: whole although %d bytes are missing", codec, cut)
				}
			}
		}
	}
}
