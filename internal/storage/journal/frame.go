package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

const (
	// block is what headers and frames begin on: no disk tears a write below it and hurts what stood before.
	block = 4096
	// FrameMax bounds a frame, in bytes.
	FrameMax = 1 << 20

	version    = 1
	headMagic  = "ottlajnl"
	frameMagic = "OTLF"

	headSize  = 48
	frameHead = 40
	entryHead = 48

	kindBytes = 1
	kindVoid  = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a table that never changes

// errFrame marks what is no frame.
var errFrame = errors.New("malformed frame")

// header begins a half.
type header struct {
	generation uint64
	sequence   uint64 // of the first frame
	half       int64  // bytes of a half
	secret     uint64
}

// put writes magic, CRC of what follows it, version, and the fields.
func (h header) put(dst []byte) {
	copy(dst, headMagic)
	binary.BigEndian.PutUint32(dst[12:], version)
	binary.BigEndian.PutUint64(dst[16:], h.generation)
	binary.BigEndian.PutUint64(dst[24:], h.sequence)
	binary.BigEndian.PutUint64(dst[32:], uint64(h.half))
	binary.BigEndian.PutUint64(dst[40:], h.secret)
	binary.BigEndian.PutUint32(dst[8:], crc32.Checksum(dst[12:headSize], castagnoli))
}

// errVersion is a journal that only a newer program can replay.
var errVersion = errors.New("journal of a newer program")

// parseHeader reads a half's header; ok is false if none stands there.
func parseHeader(src []byte) (h header, ok bool, err error) {
	if len(src) < headSize || string(src[:8]) != headMagic ||
		binary.BigEndian.Uint32(src[8:]) != crc32.Checksum(src[12:headSize], castagnoli) {
		return h, false, nil
	}
	if v := binary.BigEndian.Uint32(src[12:]); v != version {
		return h, false, fmt.Errorf("%w: version %d, this program knows %d: start the program that wrote %s", errVersion, v, version, File)
	}
	h.generation = binary.BigEndian.Uint64(src[16:])
	h.sequence = binary.BigEndian.Uint64(src[24:])
	h.half = int64(binary.BigEndian.Uint64(src[32:]))
	h.secret = binary.BigEndian.Uint64(src[40:])
	return h, true, nil
}

// Entry is bytes of one partition, or what voids those before.
type Entry struct {
	Key
	Base  batch.Offset // of the segment
	Pos   int64        // of the bytes in the segment's log
	End   batch.Offset // the log's end behind them
	Bytes []byte
	void  bool
}

// frameSize is what a frame of length bytes of entries takes in the file.
func frameSize(length int) int64 { return (int64(frameHead+length) + block - 1) / block * block }

// stamp fills in the head of frame, whose entries stand behind it.
func stamp(frame []byte, generation, sequence, secret uint64, count int) {
	copy(frame, frameMagic)
	binary.BigEndian.PutUint64(frame[8:], secret)
	binary.BigEndian.PutUint64(frame[16:], generation)
	binary.BigEndian.PutUint64(frame[24:], sequence)
	binary.BigEndian.PutUint32(frame[32:], uint32(len(frame)-frameHead))
	binary.BigEndian.PutUint32(frame[36:], uint32(count))
	binary.BigEndian.PutUint32(frame[4:], crc32.Checksum(frame[8:], castagnoli))
}

// frame is a frame's head.
type frame struct {
	secret     uint64
	generation uint64
	sequence   uint64
	length     int // bytes of entries
	count      int
}

// parseHead reads a frame's head; its CRC is not checked yet.
func parseHead(src []byte) (f frame, ok bool) {
	if len(src) < frameHead || string(src[:4]) != frameMagic {
		return f, false
	}
	f.secret = binary.BigEndian.Uint64(src[8:])
	f.generation = binary.BigEndian.Uint64(src[16:])
	f.sequence = binary.BigEndian.Uint64(src[24:])
	length, count := binary.BigEndian.Uint32(src[32:]), binary.BigEndian.Uint32(src[36:])
	if length > FrameMax-frameHead || count > length/entryHead {
		return f, false
	}
	f.length, f.count = int(length), int(count)
	return f, true
}

// parseFrame checks a whole frame and appends its entries, which alias src, to entries.
func parseFrame(src []byte, entries []Entry) (frame, []Entry, error) {
	f, ok := parseHead(src)
	if !ok || len(src) < frameHead+f.length {
		return f, entries, fmt.Errorf("%w: head", errFrame)
	}
	src = src[:frameHead+f.length]
	if crc := binary.BigEndian.Uint32(src[4:]); crc != crc32.Checksum(src[8:], castagnoli) {
		return f, entries, fmt.Errorf("%w: CRC32C is %08x, expected %08x", errFrame, crc32.Checksum(src[8:], castagnoli), crc)
	}
	rest := src[frameHead:]
	for range f.count {
		e, n, ok := parseEntry(rest)
		if !ok {
			return f, entries, fmt.Errorf("%w: entry", errFrame)
		}
		entries, rest = append(entries, e), rest[n:]
	}
	if len(rest) > 0 {
		return f, entries, fmt.Errorf("%w: %d bytes behind %d entries", errFrame, len(rest), f.count)
	}
	return f, entries, nil
}

func parseEntry(src []byte) (e Entry, n int, ok bool) {
	if len(src) < entryHead {
		return e, 0, false
	}
	dir, length := int(binary.BigEndian.Uint16(src[2:])), int64(binary.BigEndian.Uint32(src[4:]))
	copy(e.Topic[:], src[8:24])
	e.Base = batch.Offset(binary.BigEndian.Uint64(src[24:]))
	e.Pos = int64(binary.BigEndian.Uint64(src[32:]))
	e.End = batch.Offset(binary.BigEndian.Uint64(src[40:]))
	e.void = src[0] == kindVoid
	known := src[0] == kindBytes || e.void && length == 0
	if !known || length > int64(len(src)-entryHead-dir) || e.Base < 0 || e.Pos < 0 || e.Pos+length < 0 || e.End < e.Base {
		return e, 0, false
	}
	n = entryHead + dir + int(length)
	e.Dir = string(src[entryHead : entryHead+dir])
	e.Bytes = src[entryHead+dir : n]
	return e, n, true
}

// appendEntry writes an entry's head and directory; its length bytes follow.
func appendEntry(dst []byte, e Entry, length int64) []byte {
	kind := byte(kindBytes)
	if e.void {
		kind = kindVoid
	}
	dst = append(dst, kind, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(e.Dir)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(length))
	dst = append(dst, e.Topic[:]...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Base))
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Pos))
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.End))
	return append(dst, e.Dir...)
}
