package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// windowSize is how many bytes of decompressed records a stream has in memory, where no single record needs more.
const windowSize = 128 << 10

// keepBuffer is the largest buffer, in bytes, that a stream keeps for its next batch, and what is decompressed at once.
const keepBuffer = 4 << 20

// stream is a batch's records as a window that moves over them. Of an uncompressed batch the window is all there is; a
// compressed one is decompressed as the window moves. The window grows for a record that is held, up to the limit, and by
// what was decompressed, never by what a size claims. The zero value is ready for reset; close gives back what it borrowed.
type stream struct {
	p     []byte  // the window
	at    int     // the next record begins at p[at]
	done  bool    // nothing follows p
	moved bool    // p is not the records' beginning any more
	from  decoder // what follows p, while done is not set

	codec  Codec
	packed int   // compressed bytes
	left   int64 // how many bytes may still be decompressed
	limit  Limit
	most   int64  // of a record that is passed over; 0: as the format allows
	buf    []byte // the memory of p, if it is the stream's
	err    error  // why the records end early
}

// reset puts the window at the beginning of b's records. Errors: ErrTooLarge, ErrInvalid.
func (s *stream) reset(b Batch, limit Limit) error {
	codec := b.Codec()
	if b.Count() == 0 && len(b.Records()) == 0 {
		codec = CodecNone // Kafka leaves the codec of a batch that it empties
	}
	return s.open(codec, b.Records(), limit)
}

// open is reset for records, compressed by codec.
func (s *stream) open(codec Codec, records []byte, limit Limit) error {
	s.close()
	*s = stream{codec: codec, packed: len(records), limit: limit.orDefault(), buf: s.buf}
	s.left = s.limit.Bytes
	if codec == CodecNone {
		s.p, s.done = records, true
		return nil
	}
	whole, err := s.whole(records)
	if err == nil && !whole {
		s.from, err = newDecoder(s.codec, records)
	}
	if err != nil {
		s.fail(err)
	}
	return s.err
}

// whole decompresses records at once if their headers say that they are small, or if the codec has no other way.
func (s *stream) whole(records []byte) (done bool, err error) {
	var room int64
	switch s.codec {
	case CodecZstd:
		claims, err := zstdClaimsOf(records)
		if room = claims.bytes; err != nil || room > keepBuffer {
			return false, err
		}
		s.p, err = unzstd(s.buf, records, int(room))
		if err != nil {
			return false, err
		}
	case CodecSnappy:
		if room, err = snappyLen(records); err != nil || room > keepBuffer && isXerial(records) {
			return false, err
		}
		if room > s.left {
			return false, ErrTooLarge
		}
		if s.p, err = unsnappy(s.buf, records, int(room)); err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	s.done = true
	if cap(s.p) <= keepBuffer {
		s.buf = s.p[:0]
	}
	if s.left -= int64(len(s.p)); s.left < 0 {
		return false, ErrTooLarge
	}
	return true, nil
}

// close ends the stream and gives the decoder back. A second close does nothing.
func (s *stream) close() {
	s.finish()
	s.p, s.at = nil, 0
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
}

// fail ends the records with err, marked and with what was decompressed.
func (s *stream) fail(err error) {
	s.finish()
	switch {
	case s.err != nil:
	case err == ErrTooLarge: //nolint:errorlint // the bare mark is that of all records together
		s.err = fmt.Errorf("%w: %d bytes of %v exceed the limit of %d bytes", ErrTooLarge, s.packed, s.codec, s.limit.Bytes)
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrInvalid):
		s.err = err
	default:
		s.err = invalidf("decompress %d bytes of %v: %v", s.packed, s.codec, err)
	}
}

// fill decompresses until need bytes stand in the window from the next record on, or all that follow. It drops what was read
// before only for want of room: then the window is no more the records' beginning, from which a reader may begin again.
func (s *stream) fill(need int) {
	if s.done {
		return
	}
	n := len(s.p)
	if room := cap(s.buf); room < windowSize || room-s.at < need {
		if room < windowSize {
			s.buf = make([]byte, windowSize)
		}
		s.moved = s.moved || s.at > 0
		n = copy(s.buf[:cap(s.buf)], s.p[s.at:])
		s.at = 0
	}
	for n-s.at < need && !s.done {
		if n == cap(s.buf) {
			grown := make([]byte, min(2*n, max(need, windowSize)))
			copy(grown, s.buf[:n])
			s.buf = grown
		}
		n += s.read(s.buf[n:cap(s.buf)])
	}
	s.p = s.buf[:n]
}

// read decompresses into p, at least one byte of it unless the stream is done then.
func (s *stream) read(p []byte) int {
	for range 100 {
		n, err := s.from.Read(p)
		if s.left -= int64(n); s.left < 0 {
			s.fail(ErrTooLarge)
			return 0
		}
		switch {
		case errors.Is(err, io.EOF):
			s.finish()
			return n
		case err != nil:
			s.fail(err)
			return n
		case n > 0:
			return n
		}
	}
	s.fail(io.ErrNoProgress)
	return 0
}

// finish gives the decoder back: nothing follows the window.
func (s *stream) finish() {
	s.done = true
	if s.from != nil {
		s.from.release()
		s.from = nil
	}
}

// rewind puts the window at the beginning again, if it has not moved; else it reports false.
func (s *stream) rewind() bool {
	if s.moved || s.err != nil {
		return false
	}
	s.at = 0
	return true
}

// ends reports whether no byte follows the records that were read. It reads on to the codec's end, whose checksum counts.
func (s *stream) ends() bool {
	if s.at == len(s.p) {
		s.fill(1)
	}
	return s.at == len(s.p)
}

// next reads the layout of the next record, whose positions are those in s.p, and moves behind it. With hold all of the
// record is in the window; without it, of a record larger than windowSize only the lengths of its parts are known.
// A decompression that failed is in s.err, whatever flaw is returned.
func (s *stream) next(at *layout, hold bool) flaw {
	for {
		wrong := at.parse(s.p, s.at)
		if wrong == flawNone {
			s.at = at.end
			return flawNone
		}
		if wrong != flawSize || s.done {
			return wrong
		}
		size, body := varint(s.p, s.at)
		switch total := int64(body-s.at) + size; {
		case body < 0 && len(s.p)-s.at >= binary.MaxVarintLen64:
			return flawSize
		case body < 0:
			s.fill(binary.MaxVarintLen64)
		case size < 0 || size > math.MaxInt32:
			return flawSize
		case total <= windowSize:
			s.fill(int(total))
		case !hold && (s.most == 0 || size <= s.most):
			return s.pass(at)
		case !hold || size > int64(s.limit.Record):
			s.fail(fmt.Errorf("%w: a record of %d bytes exceeds the limit of %d bytes", ErrTooLarge, size, s.limit.Record))
			return flawSize
		default:
			s.fill(int(total))
		}
	}
}

// pass reads the record at s.at without having all of it in memory, as parseLong does.
func (s *stream) pass(l *layout) flaw {
	size, body := varint(s.p, s.at)
	s.at = body
	r := passing{s: s, left: size}
	r.skip(1) // the attributes, which have no meaning yet
	l.timestampDelta, l.offsetDelta = r.varint(), r.varint()
	if r.left < 0 {
		return flawFields
	}
	if l.key = r.nullable(); r.left < 0 {
		return flawKey
	}
	if l.value = r.nullable(); r.left < 0 {
		return flawValue
	}
	count := r.varint()
	if count < 0 || count > r.left/2 {
		return flawHeaders
	}
	for range count {
		if key := r.nullable(); key.length < 0 || r.left < 0 {
			return flawHeaders
		}
		if r.nullable(); r.left < 0 {
			return flawHeaders
		}
	}
	if r.left != 0 {
		return flawEnd
	}
	l.headers, l.end = s.at, s.at
	return flawNone
}

// passing is the rest of one record that is passed over; left is negative once a part passed its end, or the stream's.
type passing struct {
	s    *stream
	left int64
}

func (r *passing) skip(n int64) {
	if n < 0 || n > r.left {
		r.left = -1
		return
	}
	r.left -= n
	for s := r.s; ; {
		here := min(n, int64(len(s.p)-s.at))
		s.at += int(here)
		if n -= here; n == 0 {
			return
		}
		if s.done {
			r.left = -1
			return
		}
		s.fill(1)
	}
}

func (r *passing) varint() int64 {
	s := r.s
	if len(s.p)-s.at < binary.MaxVarintLen64 {
		s.fill(binary.MaxVarintLen64)
	}
	v, at := varint(s.p, s.at)
	if at < 0 || r.left < int64(at-s.at) {
		r.left = -1
		return 0
	}
	r.left -= int64(at - s.at)
	s.at = at
	return v
}

// nullable passes over a field and returns its length, without a position.
func (r *passing) nullable() span {
	n := r.varint()
	if r.left < 0 || n < 0 {
		return span{0, -1}
	}
	r.skip(n)
	return span{0, int(min(n, math.MaxInt32))}
}
