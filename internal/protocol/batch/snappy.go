package batch

import (
	"encoding/binary"
	"errors"
	"io"
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

var (
	errXerial      = errors.New("xerial block passes the end")
	errSnappyClaim = errors.New("snappy block claims more than it can hold")
)

// isXerial reports whether src begins as the xerial library frames it; anything else is one raw block.
func isXerial(src []byte) bool {
	return len(src) >= len(xerialHeader) && string(src[:len(xerialMagic)]) == xerialMagic
}

// unsnappy decodes src, of either framing, into dst's memory or new one; room is its snappyLen.
func unsnappy(dst, src []byte, room int) (_ []byte, err error) {
	dst = slices.Grow(dst[:0], room)
	if !isXerial(src) {
		return appendSnappy(dst, src)
	}
	for rest := src; len(rest) > 0; {
		var block []byte
		if block, rest, err = nextXerial(rest); err != nil {
			return nil, err
		}
		if dst, err = appendSnappy(dst, block); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// xerialDecoder decodes block after block.
type xerialDecoder struct {
	rest  []byte
	block []byte // decoded; its memory is used again
	read  int    // of block
}

func (d *xerialDecoder) Read(p []byte) (int, error) {
	for d.read == len(d.block) {
		if len(d.rest) == 0 {
			return 0, io.EOF
		}
		block, rest, err := nextXerial(d.rest)
		if err != nil {
			return 0, err
		}
		n, err := rawLen(block)
		if err != nil {
			return 0, err
		}
		d.rest, d.read = rest, 0
		if d.block, err = appendSnappy(slices.Grow(d.block[:0], int(n)), block); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.block[d.read:])
	d.read += n
	return n, nil
}

func (d *xerialDecoder) release() {}

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

// snappyLen is how many bytes src, of either framing, claims to decode to.
func snappyLen(src []byte) (total int64, err error) {
	if !isXerial(src) {
		return rawLen(src)
	}
	for rest := src; len(rest) > 0; {
		var block []byte
		if block, rest, err = nextXerial(rest); err != nil {
			return 0, err
		}
		n, err := rawLen(block)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// snappyLargest is what the largest block of src claims to decode to: blocks are decoded at once.
func snappyLargest(src []byte) (largest int64) {
	if !isXerial(src) {
		largest, _ = rawLen(src) // 0 of one that cannot be read
		return largest
	}
	for rest := src; len(rest) > 0; {
		block, after, err := nextXerial(rest)
		if err != nil {
			break
		}
		n, err := rawLen(block)
		if err != nil {
			break
		}
		largest, rest = max(largest, n), after
	}
	return largest
}

// rawLen is the size that a raw block decodes to. Only claims that its size allows are believed: the best that the format can do
// is a copy of 64 bytes in 3 bytes.
func rawLen(block []byte) (int64, error) {
	if len(block) == 0 {
		return 0, nil
	}
	n, err := snappy.DecodedLen(block)
	if err == nil && int64(n)*3 > int64(len(block))*64 {
		err = errSnappyClaim
	}
	return int64(n), err
}

// appendSnappy appends one raw block to dst, which has room for what it claims.
func appendSnappy(dst, block []byte) ([]byte, error) {
	n, err := rawLen(block)
	if err != nil || len(block) == 0 {
		return dst, err
	}
	if _, err := snappy.Decode(dst[len(dst):len(dst)+int(n)], block); err != nil {
		return nil, err
	}
	return dst[:len(dst)+int(n)], nil
}

// appendXerial appends src in xerial framing.
func appendXerial(dst, src []byte) []byte {
	dst = append(dst, xerialHeader...)
	for block := range slices.Chunk(src, xerialBlock) {
		dst = appendXerialBlock(dst, block)
	}
	return dst
}

func appendXerialBlock(dst, block []byte) []byte {
	most := snappy.MaxEncodedLen(len(block))
	dst = slices.Grow(dst, 4+most)
	at := len(dst)
	n := len(snappy.Encode(dst[at+4:at+4+most], block))
	return binary.BigEndian.AppendUint32(dst, uint32(n))[:at+4+n]
}

// xerialEncoder writes what appendXerial does.
type xerialEncoder struct {
	w     io.Writer
	begun bool
	block []byte
	out   []byte
}

func (e *xerialEncoder) Reset(w io.Writer) { e.w, e.begun, e.block = w, false, e.block[:0] }

func (e *xerialEncoder) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		n := min(len(p), xerialBlock-len(e.block))
		e.block, p = append(e.block, p[:n]...), p[n:]
		if len(e.block) == xerialBlock {
			if err := e.flush(); err != nil {
				return size - len(p), err
			}
		}
	}
	return size, nil
}

func (e *xerialEncoder) flush() error {
	e.out = e.out[:0]
	if !e.begun {
		e.out, e.begun = append(e.out, xerialHeader...), true
	}
	if len(e.block) > 0 {
		e.out = appendXerialBlock(e.out, e.block)
	}
	e.block = e.block[:0]
	_, err := e.w.Write(e.out)
	return err
}

func (e *xerialEncoder) Close() error { return e.flush() }
