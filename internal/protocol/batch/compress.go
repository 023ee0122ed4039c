package batch

import (
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// DefaultLevel asks for the codec's own default, as 0 in compression.zstd.level does.
const DefaultLevel = 0

// CheckLevel refuses a level outside of Kafka's range for compression.gzip.level (1 to 9, or -1), compression.lz4.level
// (1 to 17) or compression.zstd.level (-131072 to 22). Codecs without levels, and DefaultLevel, pass.
func CheckLevel(codec Codec, level int) error {
	low, high := level, level
	switch codec {
	case CodecGzip:
		low, high = -1, 9
	case CodecLZ4:
		low, high = 1, 17
	case CodecZstd:
		low, high = -131072, 22
	case CodecNone, CodecSnappy, CodecProducer: // have no levels
	}
	if level != DefaultLevel && (level < low || level > high) {
		return fmt.Errorf("%v level is %d, expected %d to %d", codec, level, low, high)
	}
	return nil
}

// Compress appends src, compressed as Kafka's Java producer would, to dst. The level is one that CheckLevel passes.
func Compress(dst []byte, codec Codec, level int, src []byte) ([]byte, error) {
	if err := CheckLevel(codec, level); err != nil {
		return dst, err
	}
	switch codec {
	case CodecNone:
		return append(dst, src...), nil
	case CodecGzip, CodecLZ4:
		return compressAll(dst, codec, level, src)
	case CodecSnappy:
		return appendXerial(dst, src), nil
	case CodecZstd:
		return appendZstd(dst, level, src), nil
	case CodecProducer: // is no codec
	}
	return dst, fmt.Errorf("cannot compress with %v", codec)
}

// sink is a slice to write to.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// Idle encoders, which are large; nothing can be observed of them but speed. One pool for each level that differs.
var (
	gzipEncoders [gzip.BestCompression + 1]sync.Pool
	zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool
	zstdStreams  [zstd.SpeedBestCompression + 1]sync.Pool
	lz4Encoders  = sync.Pool{New: func() any { return lz4.NewWriter(nil) }}
)

// encoder is a codec's stream encoder.
type encoder interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// compressor compresses what is written to it, for records that are too many to be held. Close it once.
type compressor struct {
	out  sink // what was compressed so far; an encoder keeps up to a window more
	z    encoder
	pool *sync.Pool // of z
}

// newCompressor returns a compressor that appends to dst. The level is one that CheckLevel passes.
func newCompressor(dst []byte, codec Codec, level int) (*compressor, error) {
	c := &compressor{out: dst}
	err := CheckLevel(codec, level)
	if err != nil {
		return nil, err
	}
	switch codec {
	case CodecNone:
		c.z = &plainEncoder{}
	case CodecSnappy:
		c.z = &xerialEncoder{}
	case CodecGzip:
		c.z, c.pool, err = gzipEncoder(level)
	case CodecLZ4:
		c.z, c.pool, err = lz4Encoder(level)
	case CodecZstd:
		c.z, c.pool = zstdEncoder(level)
	default:
		err = fmt.Errorf("cannot compress with %v", codec)
	}
	if err != nil {
		return nil, err
	}
	c.z.Reset(&c.out)
	return c, nil
}

// Write implements io.Writer.
func (c *compressor) Write(p []byte) (int, error) { return c.z.Write(p) }

// Close completes out and gives the encoder back.
func (c *compressor) Close() error {
	err := c.z.Close()
	c.abandon()
	return err
}

// abandon gives the encoder back instead of Close, for an out of no use.
func (c *compressor) abandon() {
	c.z.Reset(nil)
	if c.pool != nil {
		c.pool.Put(c.z)
	}
	c.z, c.pool = nil, nil
}

// plainEncoder is that of CodecNone.
type plainEncoder struct{ io.Writer }

func (e *plainEncoder) Reset(w io.Writer) { e.Writer = w }
func (e *plainEncoder) Close() error      { return nil }

func gzipEncoder(level int) (encoder, *sync.Pool, error) {
	pool := &gzipEncoders[max(level, 0)]
	if z, ok := pool.Get().(*gzip.Writer); ok {
		return z, pool, nil
	}
	if level <= 0 {
		level = gzip.DefaultCompression
	}
	z, err := gzip.NewWriterLevel(nil, level)
	return z, pool, err
}

// lz4Encoder writes what Java's KafkaLZ4BlockOutputStream does: independent blocks of 64 KiB, no checksums but the
// header's.
func lz4Encoder(level int) (encoder, *sync.Pool, error) {
	z := lz4Encoders.Get().(*lz4.Writer)
	z.Reset(nil)
	err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.CompressionLevelOption(lz4Level(level)))
	return z, &lz4Encoders, err
}

// compressAll appends src, compressed as a stream, to dst.
func compressAll(dst []byte, codec Codec, level int, src []byte) ([]byte, error) {
	c, err := newCompressor(dst, codec, level)
	if err != nil {
		return dst, err
	}
	if _, err := c.Write(src); err != nil {
		c.abandon()
		return dst, err
	}
	err = c.Close()
	return c.out, err
}

// lz4Level maps as Java does: 9, the default, is the fast compressor, all others the high compressor at that level.
func lz4Level(level int) lz4.CompressionLevel {
	switch {
	case level == DefaultLevel || level == 9:
		return lz4.Fast
	case level > 9:
		return lz4.Level9
	}
	return lz4.Level1 << (level - 1)
}

// zstdStreamWindow is the window, in bytes, of what is compressed as a stream: that of Java's default level.
const zstdStreamWindow = 2 << 20

// zstdSpeed is the encoder's level for one of Kafka's.
func zstdSpeed(level int) zstd.EncoderLevel {
	if level == DefaultLevel {
		return zstd.SpeedDefault
	}
	return zstd.EncoderLevelFromZstd(level)
}

func zstdEncoder(level int) (encoder, *sync.Pool) {
	speed := zstdSpeed(level)
	pool := &zstdStreams[speed]
	z, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		z = newZstdEncoder(speed, zstd.WithWindowSize(zstdStreamWindow))
	}
	return z, pool
}

func appendZstd(dst []byte, level int, src []byte) []byte {
	speed := zstdSpeed(level)
	pool := &zstdEncoders[speed]
	z, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		z = newZstdEncoder(speed)
	}
	defer pool.Put(z)
	return z.EncodeAll(src, dst)
}

func newZstdEncoder(speed zstd.EncoderLevel, more ...zstd.EOption) *zstd.Encoder {
	options := []zstd.EOption{
		zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true),
	}
	z, err := zstd.NewWriter(nil, append(options, more...)...)
	if err != nil {
		panic(err) // the options are constants
	}
	return z
}
