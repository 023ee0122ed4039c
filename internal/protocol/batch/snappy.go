package batch

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/klauspost/compress/snappy"
)

// Java's producers frame snappy as the xerial library does: a 16-byte header, then blocks, each a 4-byte length and raw
// snappy. Others (librdkafka before 1.0, some Go clients) send one raw snappy block. Both are read; xerial is written.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = xerialMagic + "\x00\x00\x00\x01\x00\x00\x00\x01" // version, oldest compatible version
	xerialBlock  = 32 << 10                                         // bytes before compression, as snappy-java cuts them
)

// snappyRatio is above what any snappy block reaches (64 bytes for a 3-byte copy), so more is a lie.
const snappyRatio = 64

var (
	errXerial      = errors.New("xerial block passes the end")
	errSnappyClaim = errors.New("snappy block claims more than it can hold")
)

func unsnappy(dst, src []byte, bound int) ([]byte, error) {
	if len(src) < len(xerialHeader) || string(src[:len(xerialMagic)]) != xerialMagic {
		return appendSnappy(dst, src, bound)
	}
	for len(src) > 0 {
		// Streams may stand one after the other, each with its header.
		if len(src) >= len(xerialHeader) && string(src[:len(xerialMagic)]) == xerialMagic {
			src = src[len(xerialHeader):]
			continue
		}
		if len(src) < 4 {
			return nil, errXerial
		}
		n := binary.BigEndian.Uint32(src)
		if uint64(n) > uint64(len(src)-4) {
			return nil, errXerial
		}
		var err error
		if dst, err = appendSnappy(dst, src[4:4+n], bound); err != nil {
			return nil, err
		}
		src = src[4+n:]
	}
	return dst, nil
}

// appendSnappy appends one raw block, judging the size it claims before it makes room.
func appendSnappy(dst, src []byte, bound int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	switch {
	case err != nil:
		return nil, err
	case n > bound-len(dst):
		return nil, ErrTooLarge
	case n > snappyRatio*len(src):
		return nil, errSnappyClaim
	}
	dst = slices.Grow(dst, n)
	if _, err := snappy.Decode(dst[len(dst):len(dst)+n], src); err != nil {
		return nil, err
	}
	return dst[:len(dst)+n], nil
}

// appendXerial appends src in xerial framing.
func appendXerial(dst, src []byte) []byte {
	dst = append(dst, xerialHeader...)
	for block := range slices.Chunk(src, xerialBlock) {
		most := snappy.MaxEncodedLen(len(block))
		dst = slices.Grow(dst, 4+most)
		at := len(dst)
		n := len(snappy.Encode(dst[at+4:at+4+most], block))
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))[:at+4+n]
	}
	return dst
}
