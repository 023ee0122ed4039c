package batch

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// zstdBlock is the most one block of a zstd frame decodes to, in bytes (RFC 8878, 3.1.1.2.3).
const zstdBlock = 128 << 10

var errZstdFrames = errors.New("zstd frames end early")

// zstdBound is an upper bound, in bytes, of what the frames of src decode to. It walks the frames' and blocks' headers
// (3 bytes each) and believes a declared content size only if it is smaller than what the blocks can hold.
func zstdBound(src []byte) (int, error) {
	total := 0
	for len(src) > 0 {
		var header zstd.Header
		rest, err := header.DecodeAndStrip(src)
		if err != nil {
			return 0, err
		}
		if header.Skippable {
			if uint64(header.SkippableSize) > uint64(len(rest)) {
				return 0, errZstdFrames
			}
			src = rest[header.SkippableSize:]
			continue
		}
		blocks, rest, err := zstdBlocks(rest)
		if err != nil {
			return 0, err
		}
		if header.HasCheckSum {
			if len(rest) < 4 {
				return 0, errZstdFrames
			}
			rest = rest[4:]
		}
		if header.HasFCS && header.FrameContentSize < uint64(blocks) {
			blocks = int(header.FrameContentSize)
		}
		total += blocks
		src = rest
	}
	return total, nil
}

// zstdBlocks is what the blocks at b can decode to at most, and what follows the last.
func zstdBlocks(b []byte) (most int, rest []byte, err error) {
	for last := false; !last; {
		if len(b) < 3 {
			return 0, nil, errZstdFrames
		}
		h := uint32(binary.LittleEndian.Uint16(b)) | uint32(b[2])<<16
		last = h&1 != 0
		size := int(h >> 3)
		stored := size
		switch h >> 1 & 3 {
		case 0: // raw
			most += size
		case 1: // one byte, size times
			most += min(size, zstdBlock)
			stored = 1
		default:
			most += zstdBlock
		}
		if stored > len(b)-3 {
			return 0, nil, errZstdFrames
		}
		b = b[3+stored:]
	}
	return most, b, nil
}
