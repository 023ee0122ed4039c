package batch

import (
	"encoding/binary"
	"fmt"
)

// Recompress is b with its records compressed by codec at level (see CheckLevel), in new memory of at most most bytes; all header
// fields stay but codec, length and CRC. The records go through a window; see Limit. It is what a broker-side compression.type does.
// Errors: ErrInvalid; ErrTooLarge, also of a result above most bytes.
func Recompress(b Batch, codec Codec, level int, limit Limit, most int) (Batch, error) {
	var s stream
	defer s.close()
	if err := s.reset(b, limit); err != nil {
		return nil, err
	}
	s.fill(windowSize)
	out := make([]byte, HeaderSize, HeaderSize+min(len(b), most))
	copy(out, b)
	out, err := recompress(out, &s, codec, level, most)
	switch {
	case err != nil:
		return nil, err
	case s.err != nil: // found by the last read
		return nil, s.err
	case len(out) > most:
		return nil, fmt.Errorf("%w: the batch has more than %d bytes as %v", ErrTooLarge, most, codec)
	}
	re := Batch(out)
	binary.BigEndian.PutUint32(re[posLength:], uint32(len(re)-LogOverhead))
	re[posAttributes+1] = re[posAttributes+1]&^codecMask | byte(codec)
	re.setCRC()
	return re, nil
}

// recompress appends to out what s has, or enough of it to exceed most.
func recompress(out []byte, s *stream, codec Codec, level, most int) ([]byte, error) {
	if s.done && len(s.p) <= compressAtOnce {
		return Compress(out, codec, level, s.p)
	}
	c, err := newCompressor(out, codec, level)
	if err != nil {
		return nil, err
	}
	for {
		piece := s.p[s.at:min(len(s.p), s.at+windowSize)]
		if _, err := c.Write(piece); err != nil {
			c.abandon()
			return nil, err
		}
		if len(c.out) > most || s.err != nil {
			c.abandon()
			return c.out, s.err
		}
		if s.at += len(piece); s.at < len(s.p) {
			continue
		}
		if s.fill(1); s.at == len(s.p) {
			break
		}
	}
	err = c.Close()
	return c.out, err
}
