package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Limit bounds what records may decompress to. The zero value has the defaults below.
type Limit struct {
	Bytes int // never more than this; default DefaultLimitBytes
	Ratio int // never more than this times the compressed size, once past FreeBytes; default DefaultLimitRatio
}

// The defaults of a Limit. Honest batches stay far below: text compresses some 10 times, a megabyte of one repeated
// record some 1,000 times, while 256 MiB of zeros fit in 8 KiB of zstd.
const (
	DefaultLimitBytes = 64 << 20
	DefaultLimitRatio = 256
	// FreeBytes may be decompressed from any size, since very small batches can have very large ratios.
	FreeBytes = 4 << 20
)

// of is the bound in bytes for n compressed bytes.
func (l Limit) of(n int) int {
	if l.Bytes <= 0 {
		l.Bytes = DefaultLimitBytes
	}
	if l.Ratio <= 0 {
		l.Ratio = DefaultLimitRatio
	}
	return min(l.Bytes, max(FreeBytes, n*l.Ratio))
}

// Decompress is src decompressed, in the memory of dst (whose content is lost) if it has room, else in new memory.
// Memory grows with what comes out, not with what sizes in src claim, and stays within twice the limit.
// Errors: ErrTooLarge, which names the limit; ErrInvalid for bytes the codec cannot read.
func Decompress(dst []byte, codec Codec, src []byte, limit Limit) ([]byte, error) {
	bound := limit.of(len(src))
	var err error
	switch dst = dst[:0]; codec {
	case CodecNone:
		return src, nil
	case CodecGzip:
		dst, err = gunzip(dst, src, bound)
	case CodecSnappy:
		dst, err = unsnappy(dst, src, bound)
	case CodecLZ4:
		dst, err = unlz4(dst, src, bound)
	case CodecZstd:
		dst, err = unzstd(dst, src, bound)
	default:
		return nil, invalidf("compression codec is %d, expected at most %d", codec, CodecZstd)
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, fmt.Errorf("%w: %d bytes of %v exceed the limit of %d bytes", ErrTooLarge, len(src), codec, bound)
	case err != nil:
		return nil, invalidf("decompress %d bytes of %v: %v", len(src), codec, err)
	}
	return dst, nil
}

// The pools hold idle decoders, which are large; nothing can be observed of them but speed.
var (
	gzipDecoders = sync.Pool{New: func() any { return new(gzipDecoder) }}
	lz4Decoders  = sync.Pool{New: func() any { return &lz4Decoder{z: lz4.NewReader(nil)} }}
	zstdDecoders = sync.Pool{New: newZstdDecoder}
)

type gzipDecoder struct {
	src bytes.Reader
	z   gzip.Reader
}

func gunzip(dst, src []byte, bound int) ([]byte, error) {
	d := gzipDecoders.Get().(*gzipDecoder)
	defer func() {
		d.src.Reset(nil)
		gzipDecoders.Put(d)
	}()
	d.src.Reset(src)
	if err := d.z.Reset(&d.src); err != nil {
		return nil, err
	}
	return readAll(dst, &d.z, len(src), bound)
}

type lz4Decoder struct {
	src bytes.Reader
	z   *lz4.Reader
}

func unlz4(dst, src []byte, bound int) ([]byte, error) {
	d := lz4Decoders.Get().(*lz4Decoder)
	d.src.Reset(src)
	d.z.Reset(&d.src)
	dst, err := readAll(dst, d.z, len(src), bound)
	d.src.Reset(nil)
	d.z.Reset(nil) // gives the block buffers back
	lz4Decoders.Put(d)
	return dst, err
}

// readAll appends what r gives to dst, whose memory starts at a few times the compressed size and doubles on demand.
func readAll(dst []byte, r io.Reader, compressed, bound int) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			room := min(max(2*cap(dst), 4*compressed, 512), bound+1)
			dst = append(make([]byte, 0, room), dst...)
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), bound+1)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > bound:
			return nil, ErrTooLarge
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return nil, err
		}
	}
}

// maxZstdWindow is the largest window the Java consumer accepts: 2^27 bytes. Decoding whole frames never allocates it.
const maxZstdWindow = 128 << 20

func newZstdDecoder() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderMaxMemory(1<<31))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}

// unzstd decodes frame after frame into memory whose capacity is the bound: the decoder stops at it, over all frames.
func unzstd(dst, src []byte, bound int) ([]byte, error) {
	most, err := zstdBound(src)
	if err != nil {
		return nil, err
	}
	room := min(most, bound)
	if cap(dst) < room {
		dst = make([]byte, 0, room)
	}
	d := zstdDecoders.Get().(*zstd.Decoder)
	dst, err = d.DecodeAll(src, dst[:0:min(cap(dst), bound)])
	zstdDecoders.Put(d)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, ErrTooLarge
	}
	return dst, err
}
