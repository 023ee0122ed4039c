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
		n, err := snappyLen(src)
		if err != nil {
			return nil, err
		}
		return appendSnappy(slices.Grow(dst, min(n, bound)), src, bound)
	}
	total, err := xerialLen(src)
	if err != nil {
		return nil, err
	}
	dst = slices.Grow(dst, min(total, bound))
	for rest := src; len(rest) > 0; {
		var block []byte
		if block, rest, err = nextXerial(rest); err != nil {
			return nil, err
		}
		if dst, err = appendSnappy(dst, block, bound); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// nextXerial splits off the first block, which is nil if src ends after a header. Streams may stand one after the
// other, each with its header.
func nextXerial(src []byte) (block, rest []byte, err error) {
	for len(src) >= len(xerialHeader) && string(src[:len(xerialMagic)]) == xerialMagic {
		src = src[len(xerialHeader):]
	}
	if len(src) == 0 {
		return nil, nil, nil
	}
	if len(src) < 4 {
		return nil, nil, errXerial
	}
	n := binary.BigEndian.Uint32(src)
	if uint64(n) > uint64(len(src)-4) {
		return nil, nil, errXerial
	}
	return src[4 : 4+n], src[4+n:], nil
}

// xerialLen is what the blocks of src claim to decode to, so that room is made once.
func xerialLen(src []byte) (total int, err error) {
	for rest := src; len(rest) > 0; {
		var block []byte
		if block, rest, err = nextXerial(rest); err != nil {
			return 0, err
		}
		n, err := snappyLen(block)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// snappyLen is the size that a raw block decodes to; only claims that its size allows are believed.
func snappyLen(block []byte) (int, error) {
	if len(block) == 0 {
		return 0, nil
	}
	n, err := snappy.DecodedLen(block)
	if err == nil && n > snappyRatio*len(block) {
		err = errSnappyClaim
	}
	return n, err
}

// appendSnappy appends one raw block.
func appendSnappy(dst, block []byte, bound int) ([]byte, error) {
	n, err := snappyLen(block)
	switch {
	case err != nil || len(block) == 0:
		return dst, err
	case n > bound-len(dst):
		return nil, ErrTooLarge
	}
	if _, err := snappy.Decode(dst[len(dst):len(dst)+n], block); err != nil {
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
