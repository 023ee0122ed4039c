package batch

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// zstdBlock is the most one block of a zstd frame decodes to, in bytes (RFC 8878, 3.1.1.2.3).
const zstdBlock = 128 << 10

var errZstdFrames = errors.New("zstd frames end early")

// zstdClaims is what the headers of zstd frames say of their content.
type zstdClaims struct {
	bytes  int64 // an upper bound of what all frames decode to
	window int64 // the largest window that a decoder needs
}

// zstdClaimsOf walks the frames' and blocks' headers (3 bytes each) of src. A declared content size is believed only if it is
// smaller than what the blocks can hold.
func zstdClaimsOf(src []byte) (all zstdClaims, err error) {
	for len(src) > 0 {
		var header zstd.Header
		rest, err := header.DecodeAndStrip(src)
		if err != nil {
			return all, err
		}
		if header.Skippable {
			if uint64(header.SkippableSize) > uint64(len(rest)) {
				return all, errZstdFrames
			}
			src = rest[header.SkippableSize:]
			continue
		}
		content, rest, err := zstdBlocks(rest)
		if err != nil {
			return all, err
		}
		if header.HasCheckSum {
			if len(rest) < 4 {
				return all, errZstdFrames
			}
			rest = rest[4:]
		}
		window := header.WindowSize
		if header.HasFCS && header.SingleSegment {
			window = header.FrameContentSize
		}
		if window > zstdWindowMax {
			return all, zstd.ErrWindowSizeExceeded
		}
		if header.HasFCS && header.FrameContentSize < uint64(content) {
			content = int64(header.FrameContentSize)
		}
		all.bytes += content
		all.window = max(all.window, int64(window))
		src = rest
	}
	return all, nil
}

// zstdBlocks is what the blocks at b can decode to at most, and what follows the last.
func zstdBlocks(b []byte) (most int64, rest []byte, err error) {
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
			most += int64(size)
		case 1: // one byte, size times
			most += int64(min(size, zstdBlock))
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
