package server

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// sizePrefix is the length field before a frame, in bytes.
const sizePrefix = 4

// input is the bytes of a connection that were read and not yet parsed: buf.b[r:w]. It has no buffer while there are none.
type input struct {
	pool *buffers
	buf  *buffer
	r, w int
	// last is the whole size of the last frame that was larger than readBuffer, or 0 after a smaller one: what to expect next.
	last int
}

// next takes the next whole frame, without its size prefix; nil if there is none yet. The frame is valid until more is read.
func (in *input) next(limit int) ([]byte, error) {
	if in.w-in.r < sizePrefix {
		return nil, nil
	}
	size := int(int32(binary.BigEndian.Uint32(in.buf.b[in.r:])))
	if size < 0 || size > limit {
		return nil, notAFrame(in.buf.b[in.r:in.w], size, limit)
	}
	from := in.r + sizePrefix
	if in.w-from < size {
		return nil, nil
	}
	in.r = from + size
	in.last = 0
	if size+sizePrefix > readBuffer {
		in.last = size + sizePrefix
	}
	return in.buf.b[from:in.r:in.r], nil
}

// need is the whole size of the frame that has begun, or 0 while its size is not there.
func (in *input) need() int {
	if in.w-in.r < sizePrefix {
		return 0
	}
	return sizePrefix + int(binary.BigEndian.Uint32(in.buf.b[in.r:]))
}

// freshHead is how many bytes of a large first frame must show a produce request's header, client id included.
const freshHead = 1 << 10

// checkFresh bounds the frame that is awaited on a connection whose first request was not begun: to freshFrameMax, or to freshProduceMax if
// what came of it is the header of a produce request. Clients that learnt of this broker from another one begin with a full batch here.
func (in *input) checkFresh() error {
	size, limit := in.need()-sizePrefix, freshFrameMax
	if size <= limit || size <= freshProduceMax && in.partial() < freshHead {
		return nil
	}
	if h, _, err := wire.ParseHeader(in.buf.b[in.r+sizePrefix : in.w]); err == nil && h.Key == kmsg.Produce {
		limit = freshProduceMax
	}
	if size > limit {
		return badFrame(fmt.Errorf("first frame of %d bytes, the limit before the first request was served is %d: let the client ask for "+
			"ApiVersions first, or send less at once", size, limit))
	}
	return nil
}

// partial is how many bytes of an unfinished frame are there.
func (in *input) partial() int { return in.w - in.r }

// wanted is the size of the buffer to read into: after a large frame, one for another of that size.
func (in *input) wanted() int { return max(readBuffer, min(in.last, freeBuffer)) }

// lend gets a buffer of n bytes to read into.
func (in *input) lend(n int) {
	in.buf = in.pool.lend(n)
	in.r, in.w = 0, 0
}

// unread puts the last frame back, which had size bytes with its prefix: next returns it again.
func (in *input) unread(size int64) { in.r -= int(size) }

// space is where to read to. It ends with the frame that is awaited if that is a large one, so that the next is not torn.
func (in *input) space() []byte {
	end := len(in.buf.b)
	if want := max(in.need(), in.last); want > readBuffer {
		end = min(end, in.r+want)
	}
	return in.buf.b[in.w:end]
}

// move puts the unparsed bytes at the front of b, which becomes the buffer.
func (in *input) move(b *buffer) {
	n := copy(b.b, in.buf.b[in.r:in.w])
	if b != in.buf {
		in.pool.back(in.buf)
	}
	in.buf, in.r, in.w = b, 0, n
}

// shrink gives up memory before a wait: all of it if nothing is there, else all but about twice what is.
func (in *input) shrink() {
	if in.buf == nil {
		return
	}
	n := in.partial()
	if n == 0 {
		in.pool.back(in.buf)
		in.buf, in.r, in.w = nil, 0, 0
		return
	}
	if 2*n <= len(in.buf.b)/2 {
		in.move(in.pool.lend(2 * n))
	}
}

// freeBuffer is the largest buffer that is lent before a frame's size is known.
const freeBuffer = 1<<20 + bufferSlack

// room makes room for the rest of the frame that has begun. The buffer grows with the bytes that came, not with the size that was claimed: to twice
// its size, or at once to the size of the frame before. The budget is asked first.
func (c *conn) room() error {
	in := &c.in
	if in.buf == nil {
		return nil
	}
	if in.partial() == 0 {
		in.r, in.w = 0, 0
		return nil
	}
	need := max(in.need(), in.partial()+1)
	switch size := len(in.buf.b); {
	case need <= size-in.r:
	case need <= size:
		in.move(in.buf)
	default:
		target := min(need, max(2*size, in.last))
		if err := c.grow(int64(bufferSize(target)), int64(bufferSize(need))); err != nil {
			return err
		}
		in.move(in.pool.lend(target))
		c.settle()
	}
	return nil
}
