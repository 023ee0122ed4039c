package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// windowSize is how much one read of a header scan takes: two index intervals, so that an index lookup and one
// read find nearly every batch.
const windowSize = 8 << 10

// windows lends the buffers of header scans.
var windows = sync.Pool{New: func() any { return new([windowSize]byte) }} //nolint:gochecknoglobals // a pool has no state that a caller can see

// cursor walks the batch headers of [pos, end) of a segment's log.
type cursor struct {
	seg  *Segment
	file vfs.File
	pos  int64 // of the next header
	end  int64
	from int64 // position of window[0]
	have int   // bytes of window that are filled
	last int   // size of the batch before pos

	window *[windowSize]byte
}

// cursor returns a cursor that close must give back.
func (s *Segment) cursor(pos, end int64) (cursor, error) {
	file, err := s.File()
	if err != nil {
		return cursor{}, err
	}
	return cursor{seg: s, file: file, pos: pos, end: end, window: windows.Get().(*[windowSize]byte)}, nil
}

func (c *cursor) close() { windows.Put(c.window) }

// next returns the header of the batch at c.pos, its position and its whole size, and goes on to the next one. The header
// is valid until the next call. At the end the error is io.EOF.
func (c *cursor) next() (header batch.Batch, pos int64, size int, err error) {
	if c.pos == c.end {
		return nil, c.pos, 0, io.EOF
	}
	b, err := c.bytes(c.pos)
	if err != nil {
		return nil, c.pos, 0, err
	}
	header, size, err = parseHeader(b, c.end-c.pos)
	if err != nil {
		return nil, c.pos, 0, c.corrupt(err)
	}
	pos = c.pos
	c.pos += int64(size)
	c.last = size
	return header, pos, size, nil
}

// bytes returns what the window has from pos on: a header at least, or all there is up to c.end.
func (c *cursor) bytes(pos int64) ([]byte, error) {
	want := int(min(batch.HeaderSize, c.end-pos))
	if at := pos - c.from; c.have > 0 && at >= 0 && at+int64(want) <= int64(c.have) {
		return c.window[at:c.have], nil
	}
	fill := int(min(windowSize, c.end-pos))
	if c.last > windowSize {
		fill = want // large batches: nothing behind the header will be wanted
	}
	n, err := c.file.ReadAt(c.window[:fill], pos)
	if n < fill {
		c.have = 0
		if err == nil || errors.Is(err, io.EOF) {
			return nil, &CorruptError{c.seg.Name(Log), pos, fmt.Sprintf("%d bytes", fill), fmt.Sprintf("the file's end after %d", n)}
		}
		return nil, fmt.Errorf("read %s at position %d: %w", c.seg.Name(Log), pos, err)
	}
	c.from, c.have = pos, fill
	return c.window[:fill], nil
}

func (c *cursor) corrupt(err error) error {
	return &CorruptError{c.seg.Name(Log), c.pos, "a record batch", err.Error()}
}

// parseHeader judges the header at b, of which room bytes are there in all, and returns the batch's size.
func parseHeader(b []byte, room int64) (batch.Batch, int, error) {
	header, err := batch.HeaderOf(b)
	if err != nil {
		return nil, 0, err
	}
	size, err := batch.PeekSize(b)
	if err != nil {
		return nil, 0, err
	}
	if int64(size) > room {
		return nil, 0, &batch.TruncatedError{Have: int(min(room, math.MaxInt32)), Need: size}
	}
	return header, size, nil
}
