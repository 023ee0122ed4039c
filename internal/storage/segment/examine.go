package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Piece is a stretch of a segment's log: batches that are whole, or bytes in whose place batches stood.
type Piece struct {
	Pos, Size  int64
	Base, Next batch.Offset // the offsets [Base, Next)
	Epoch      batch.Epoch  // of the last whole batch up to here, or batch.NoEpoch
	Whole      bool
	// Mended says of a whole batch that what no CRC covers in its header is damaged, and known by what stands around it: see PutHead.
	Mended bool
	// Torn says that a crash has left the bytes at the log's end: nothing there was acknowledged, and the next start cuts them off.
	Torn bool
	Why  string // what was found where batches are not whole
}

// Examine reads the log of a sealed segment and tells where its batches are whole. The pieces follow on one another from the segment's base to
// l.Limit, if a segment follows; else to the log's end, which is at least l.Durable where bytes below it are damaged. It changes nothing.
func (s *Segment) Examine(l Limits) ([]Piece, error) {
	file, err := s.File()
	if err != nil {
		return nil, err
	}
	e := examination{segment: s, limits: l, next: s.base, epoch: batch.NoEpoch}
	e.walk = walk{file: file, end: s.Size(), buf: make([]byte, min(recoverChunk, s.Size()))}
	for e.walk.pos < e.walk.end {
		if err := e.step(); err != nil {
			return nil, err
		}
	}
	if l.Followed && !l.Gaps && e.next < l.Limit {
		e.add(Piece{Pos: e.walk.pos, Base: e.next, Next: l.Limit, Why: "nothing: the log ends, and the next one begins later"})
	}
	return e.pieces, nil
}

// examination is one Examine.
type examination struct {
	segment *Segment
	limits  Limits
	walk    walk
	next    batch.Offset
	epoch   batch.Epoch
	pieces  []Piece
}

// add appends a piece. Whole batches that follow on one another are one piece.
func (e *examination) add(p Piece) {
	p.Epoch = e.epoch
	if n := len(e.pieces); n > 0 && p.Whole && !p.Mended && e.pieces[n-1].Whole && !e.pieces[n-1].Mended {
		last := &e.pieces[n-1]
		last.Size, last.Next, last.Epoch = last.Size+p.Size, p.Next, p.Epoch
	} else {
		e.pieces = append(e.pieces, p)
	}
	e.walk.pos = p.Pos + p.Size
	e.next = p.Next
}

// step takes the batch at the walk's position, or what stands there up to the next one.
func (e *examination) step() error {
	s, w, limit := e.segment, &e.walk, e.limits.limit(e.segment)
	header, size, wrong := w.batch(e.next, limit)
	if w.failed != nil {
		return fmt.Errorf("read %s at position %d: %w", s.Name(Log), w.pos, w.failed)
	}
	if wrong == nil && (header.BaseOffset() == e.next || e.fits(header, w.pos+size)) {
		e.epoch = header.LeaderEpoch()
		e.add(Piece{Pos: w.pos, Size: size, Base: e.next, Next: header.NextOffset(), Whole: true})
		return nil
	}
	if moved, err := e.moved(); moved.Size > 0 || err != nil {
		if err == nil {
			e.add(moved)
		}
		return err
	}
	if wrong == nil {
		wrong = fmt.Errorf("base offset %d, expected %d", header.BaseOffset(), e.next)
	}
	bad := Piece{Pos: w.pos, Base: e.next, Why: wrong.Error()}
	if crc := (&crcError{}); errors.As(wrong, &crc) {
		leads, err := w.pos < w.led, error(nil)
		if !leads {
			leads, err = s.leadsOn(w, header, size, e.limits)
		}
		if err != nil {
			return err
		}
		if leads {
			bad.Size, bad.Next = size, header.NextOffset()
			e.add(bad)
			return nil
		}
	}
	return e.skip(bad)
}

// skip adds a bad piece up to the next batch that is whole, or the log's end.
func (e *examination) skip(bad Piece) error {
	s, w, limit := e.segment, &e.walk, e.limits.limit(e.segment)
	for from := w.pos + 1; ; {
		at, err := s.nextWhole(from, w.end, e.next, limit)
		if err != nil && !errors.Is(err, batch.ErrCorrupt) {
			return err
		}
		if at < 0 {
			break
		}
		var head [batch.HeaderSize]byte
		ahead := walk{file: w.file, end: w.end, pos: at, buf: make([]byte, batch.HeaderSize)}
		if !ahead.copy(head[:], at) {
			return fmt.Errorf("read %s at position %d: %w", s.Name(Log), at, ahead.failed)
		}
		header, size, err := parseHeader(head[:], w.end-at)
		if err == nil && e.fits(header, at+int64(size)) {
			return e.addUpTo(bad, at, header.BaseOffset())
		}
		from = at + 1
	}
	next := e.next
	switch {
	case e.limits.Followed:
		next = limit
	case e.next < e.limits.Durable:
		next = e.limits.Durable
	default:
		bad.Torn = true
	}
	return e.addUpTo(bad, w.end, next)
}

// addUpTo adds a piece that ends at position end, where offset next follows: a bad one, or the batch that it turns out to be.
func (e *examination) addUpTo(bad Piece, end int64, next batch.Offset) error {
	bad.Size, bad.Next = end-bad.Pos, next
	mended, err := e.mended(bad.Pos, bad.Size)
	if err != nil {
		return err
	}
	if mended.Size > 0 {
		bad = mended
	}
	e.add(bad)
	return nil
}

// fits reports whether the batch of header, whose CRC is right, has the offsets that what follows it, at end, asks for.
func (e *examination) fits(header batch.Batch, end int64) bool {
	next, found := header.NextOffset(), e.limits.Limit
	if end == e.walk.end && !e.limits.Followed {
		return true
	}
	if end < e.walk.end {
		var head [batch.HeaderSize]byte
		ahead := walk{file: e.walk.file, end: e.walk.end, pos: end, buf: make([]byte, batch.HeaderSize)}
		if !ahead.copy(head[:min(batch.HeaderSize, e.walk.end-end)], end) {
			return false
		}
		after, _, err := parseHeader(head[:], e.walk.end-end)
		if err != nil {
			return false
		}
		found = after.BaseOffset()
	}
	return found == next || e.limits.Gaps && found > next
}

// moved is the batch at the walk's position if nothing but its base offset is wrong: its CRC is right, and by its number of offsets
// what follows begins where it should.
func (e *examination) moved() (Piece, error) {
	w := &e.walk
	var head [batch.HeaderSize]byte
	if w.end-w.pos < batch.HeaderSize || !w.copy(head[:], w.pos) {
		return Piece{}, w.failed
	}
	size := int64(int32(binary.BigEndian.Uint32(head[8:]))) + batch.LogOverhead
	if size < batch.HeaderSize || size > w.end-w.pos {
		return Piece{}, nil
	}
	return e.mended(w.pos, size)
}

// mended is the batch of size bytes at pos if nothing is wrong in it but what no CRC covers: its base offset, its length, its magic. What
// follows must begin where it ends.
func (e *examination) mended(pos, size int64) (Piece, error) {
	s, w := e.segment, &e.walk
	var head [batch.HeaderSize]byte
	if size < batch.HeaderSize || !w.copy(head[:], pos) {
		return Piece{}, w.failed
	}
	Piece{Base: e.next, Size: size}.PutHead(head[:])
	header, _, err := parseHeader(head[:], size)
	last := pos+size == w.end && !e.limits.Followed // nothing follows that would tell
	if err != nil || last && header.NextOffset() != e.limits.Durable || !e.fits(header, pos+size) {
		return Piece{}, nil //nolint:nilerr // a header that cannot be parsed is not to be mended
	}
	whole, err := s.whole(header, pos, size)
	if err != nil || !whole {
		return Piece{}, err
	}
	e.epoch = header.LeaderEpoch()
	return Piece{Pos: pos, Size: size, Base: e.next, Next: header.NextOffset(), Whole: true, Mended: true, Why: "a damaged header"}, nil
}

// PutHead writes the fields of a batch's header that no CRC covers and that the piece tells, over those in head.
func (p Piece) PutHead(head []byte) {
	binary.BigEndian.PutUint64(head, uint64(p.Base))
	binary.BigEndian.PutUint32(head[8:], uint32(p.Size-batch.LogOverhead))
	head[batch.PeekLen-1] = 2
}

// Empty are batches without records that hold the offsets [base, next), as compaction leaves them: a reader goes on at next.
func Empty(base, next batch.Offset, epoch batch.Epoch) (bytes []byte) {
	for base < next {
		delta := min(int64(next-base), 1<<30) - 1
		b := make([]byte, batch.HeaderSize)
		put := binary.BigEndian
		put.PutUint64(b, uint64(base))
		put.PutUint32(b[8:], batch.HeaderSize-batch.LogOverhead)
		put.PutUint32(b[12:], uint32(max(epoch, 0)))
		b[batch.PeekLen-1] = 2
		put.PutUint32(b[23:], uint32(delta))
		for _, at := range []int{27, 35, 43} { // no timestamps, no producer
			put.PutUint64(b[at:], ^uint64(0))
		}
		put.PutUint16(b[51:], ^uint16(0))
		put.PutUint32(b[53:], ^uint32(0))
		put.PutUint32(b[17:], crc32.Checksum(b[crcStart:], castagnoli))
		bytes = append(bytes, b...)
		base += batch.Offset(delta) + 1
	}
	return bytes
}
