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
	case CodecGzip:
		return appendGzip(dst, level, src)
	case CodecSnappy:
		return appendXerial(dst, src), nil
	case CodecLZ4:
		return appendLZ4(dst, level, src)
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
	lz4Encoders  = sync.Pool{New: func() any { return lz4.NewWriter(nil) }}
)

func appendGzip(dst []byte, level int, src []byte) ([]byte, error) {
	pool := &gzipEncoders[max(level, 0)]
	z, ok := pool.Get().(*gzip.Writer)
	if !ok {
		if level <= 0 {
			level = gzip.DefaultCompression
		}
		var err error
		if z, err = gzip.NewWriterLevel(nil, level); err != nil {
			return dst, err
		}
	}
	defer pool.Put(z)
	out := sink(dst)
	z.Reset(&out)
	err := writeAll(z, src)
	z.Reset(nil)
	return out, err
}

// appendLZ4 writes what Java's KafkaLZ4BlockOutputStream does: independent blocks of 64 KiB, no checksums but the
// header's.
func appendLZ4(dst []byte, level int, src []byte) ([]byte, error) {
	z := lz4Encoders.Get().(*lz4.Writer)
	defer lz4Encoders.Put(z)
	out := sink(dst)
	z.Reset(&out)
	err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.CompressionLevelOption(lz4Level(level)))
	if err == nil {
		err = writeAll(z, src)
	}
	z.Reset(nil)
	return out, err
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

func appendZstd(dst []byte, level int, src []byte) []byte {
	speed := zstd.SpeedDefault
	if level != DefaultLevel {
		speed = zstd.EncoderLevelFromZstd(level)
	}
	pool := &zstdEncoders[speed]
	z, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		var err error
		z, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			panic(err) // the options are constants
		}
	}
	defer pool.Put(z)
	return z.EncodeAll(src, dst)
}

func writeAll(w io.WriteCloser, src []byte) error {
	if _, err := w.Write(src); err != nil {
		return err
	}
	return w.Close()
}
