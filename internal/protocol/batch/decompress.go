package batch

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// decoder decompresses one batch's records as a stream. After release it must not be used.
type decoder interface {
	io.Reader
	release()
}

// newDecoder returns a decoder of src, which it aliases. It is lent from a pool, or small.
func newDecoder(codec Codec, src []byte) (decoder, error) {
	switch codec {
	case CodecGzip:
		return newGzipDecoder(src)
	case CodecSnappy:
		return &xerialDecoder{rest: src}, nil
	case CodecLZ4:
		return newLZ4Decoder(src), nil
	case CodecZstd:
		return newZstdDecoder(src)
	case CodecNone, CodecProducer: // need no decoder
	}
	return nil, invalidf("compression codec is %d, expected at most %d", codec, CodecZstd)
}

// The pools hold idle decoders, which are large; nothing can be observed of them but speed.
var (
	gzipDecoders = sync.Pool{New: func() any { return new(gzipDecoder) }}
	lz4Decoders  = sync.Pool{New: func() any { return &lz4Decoder{z: lz4.NewReader(nil)} }}
	zstdDecoders = sync.Pool{New: func() any { return &zstdDecoder{z: newZstd()} }}
	zstdWide     = sync.Pool{New: func() any { return &zstdDecoder{z: newZstd(), wide: true} }} // so that none of them is kept by small batches
)

type gzipDecoder struct {
	src bytes.Reader
	z   gzip.Reader
}

func newGzipDecoder(src []byte) (decoder, error) {
	d := gzipDecoders.Get().(*gzipDecoder)
	d.src.Reset(src)
	if err := d.z.Reset(&d.src); err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

func (d *gzipDecoder) Read(p []byte) (int, error) { return d.z.Read(p) }

func (d *gzipDecoder) release() {
	d.src.Reset(nil)
	gzipDecoders.Put(d)
}

type lz4Decoder struct {
	src bytes.Reader
	z   *lz4.Reader
}

func newLZ4Decoder(src []byte) decoder {
	d := lz4Decoders.Get().(*lz4Decoder)
	d.src.Reset(src)
	d.z.Reset(&d.src)
	return d
}

func (d *lz4Decoder) Read(p []byte) (int, error) { return d.z.Read(p) }

func (d *lz4Decoder) release() {
	d.src.Reset(nil)
	d.z.Reset(nil) // gives the block buffers back
	lz4Decoders.Put(d)
}

// zstdWindowMax is the largest window that the Java consumer accepts: 2^27 bytes. Java's levels 20 to 22 ask for 2^25 to 2^27.
const zstdWindowMax = 128 << 20

// zstdWindowUsual is the largest window, in bytes, of a decoder in the common pool: that of level 19.
const zstdWindowUsual = 8 << 20

func newZstd() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindowMax), zstd.WithDecoderMaxMemory(1<<31))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}

type zstdDecoder struct {
	src  bytes.Reader
	z    *zstd.Decoder
	wide bool
}

func newZstdDecoder(src []byte) (decoder, error) {
	claims, err := zstdClaimsOf(src)
	if err != nil {
		return nil, err
	}
	pool := &zstdDecoders
	if claims.window > zstdWindowUsual {
		pool = &zstdWide
	}
	d := pool.Get().(*zstdDecoder)
	d.src.Reset(src)
	if err := d.z.Reset(&d.src); err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

func (d *zstdDecoder) Read(p []byte) (int, error) { return d.z.Read(p) }

func (d *zstdDecoder) release() {
	d.src.Reset(nil)
	switch {
	case d.z.Reset(nil) != nil: // it has no goroutines, so it may be forgotten
	case d.wide:
		zstdWide.Put(d)
	default:
		zstdDecoders.Put(d)
	}
}

// unzstd decodes src, which decodes to at most room bytes, into dst's memory or new one.
func unzstd(dst, src []byte, room int) ([]byte, error) {
	if cap(dst) < room {
		dst = make([]byte, 0, room)
	}
	d := zstdDecoders.Get().(*zstdDecoder)
	dst, err := d.z.DecodeAll(src, dst[:0:cap(dst)])
	zstdDecoders.Put(d)
	return dst, err
}

// Footprint is about how many bytes of memory it takes to read the records of a compressed batch, beside a record that the reader
// holds. A caller that reads many at a time lets those above FootprintUsual take turns.
func (b Batch) Footprint() int64 {
	switch b.Codec() {
	case CodecZstd:
		claims, err := zstdClaimsOf(b.Records())
		if err != nil {
			return 0 // it cannot be read
		}
		if claims.bytes <= keepBuffer {
			return claims.bytes
		}
		return claims.window
	case CodecSnappy:
		return snappyLargest(b.Records())
	default: // gzip has a window of 32 KiB, lz4 blocks of 4 MiB
		return 0
	}
}

// FootprintUsual is what Footprint says at most of the batches of nearly every producer.
const FootprintUsual = zstdWindowUsual
