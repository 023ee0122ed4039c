package server

import (
	"fmt"
	"time"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/partition"
)

// outgoing is what is about to be written.
type outgoing struct {
	out  api.Out
	sent []entry
}

// outKept is the largest memory of an outgoing, in bytes, that is kept for use again.
const outKept = 256 << 10

func (s *Server) putOutgoing(o *outgoing) {
	o.out.Reset()
	if cap(o.out.Bytes) > outKept {
		o.out.Bytes = nil
	}
	clear(o.sent)
	o.sent = o.sent[:0]
	s.outs.Put(o)
}

// pen is what a writer goroutine waits with.
type pen struct {
	waiter  *partition.Waiter
	timer   *time.Timer
	closing <-chan struct{} // the server's; nil once it was seen
}

func newPen() *pen {
	p := &pen{waiter: partition.NewWaiter(), timer: time.NewTimer(time.Hour)}
	p.timer.Stop()
	return p
}

// answer sends the replies that are ready, unless a writer is at it. If the first is not, it starts a writer.
func (c *conn) answer() error {
	if !c.queue.claim() {
		return nil
	}
	if _, _, err := c.send(nil); err != nil {
		c.queue.kill()
		return err
	}
	if !c.queue.release() {
		c.srv.wg.Go(c.write)
	}
	return nil
}

// write is the writer: it sends replies until the queue is empty or the connection is cut.
func (c *conn) write() {
	p := c.srv.pens.Get().(*pen)
	defer c.srv.pens.Put(p)
	p.closing = c.srv.closing
	for {
		waiting, deadline, err := c.send(p.waiter)
		switch {
		case err != nil:
			c.cut()
			c.queue.kill()
			return
		case !waiting:
			if c.queue.release() {
				return
			}
		case !c.sleep(p, deadline):
			c.queue.kill()
			return
		}
	}
}

// sleep waits until the pen's waiter is woken, the deadline (zero: none) has come, or the server begins to close; false if the connection was cut.
func (c *conn) sleep(p *pen, deadline time.Time) bool {
	if !deadline.IsZero() {
		p.timer.Reset(time.Until(deadline))
		defer p.timer.Stop()
	}
	select {
	case <-p.waiter.C:
	case <-p.timer.C:
	case <-p.closing:
		p.closing = nil // one look more, since a reply may want to wait no longer
	case <-c.ctx.Done():
		return false
	}
	return true
}

// send polls replies from the first on and writes those that are ready. If one is not, waiting is set, with the time until which it may
// wait. It is the sender's.
func (c *conn) send(w *partition.Waiter) (waiting bool, deadline time.Time, err error) {
	o := c.srv.outs.Get().(*outgoing)
	defer c.srv.putOutgoing(o)
	now := time.Now()
	e := c.queue.next(false)
	for ; e != nil && err == nil; e = c.queue.next(true) {
		before := o.out.Len()
		var ready bool
		if ready, deadline = e.reply.Poll(now, w, &o.out); !ready {
			waiting = true
			break
		}
		e.out, e.reply = o.out.Len()-before, nil
		o.sent = append(o.sent, *e)
		if o.out.Len() >= writeMax {
			err = c.flush(o)
			now = time.Now()
		}
	}
	if err == nil {
		err = c.flush(o)
	}
	c.queue.signal()
	return waiting, deadline, err
}

// flush writes what was collected and tells the observer.
func (c *conn) flush(o *outgoing) error {
	if len(o.sent) == 0 {
		return nil
	}
	if err := c.writeOut(&o.out); err != nil {
		return fmt.Errorf("write response: %w", err)
	}
	now := time.Now()
	for i := range o.sent {
		e := &o.sent[i]
		c.srv.opts.Observer.Answered(e.key, e.version, now.Sub(e.received), e.in, e.out)
	}
	clear(o.sent)
	o.sent = o.sent[:0]
	o.out.Reset()
	return nil
}

// writeOut writes the bytes, and the ranges where they belong. After an error the connection is of no use: sizes were sent.
func (c *conn) writeOut(out *api.Out) error {
	from := 0
	for i := range out.Ranges {
		cut := &out.Ranges[i]
		if err := c.writeBytes(out.Bytes[from:cut.At]); err != nil {
			return err
		}
		from = cut.At
		if err := c.writeRange(cut); err != nil {
			return err
		}
	}
	return c.writeBytes(out.Bytes[from:])
}

// writeChunk is how many bytes a client must take before it gets new time, which WriteTimeout is for.
const writeChunk = 1 << 20

// writeBytes writes b.
func (c *conn) writeBytes(b []byte) error {
	for len(b) > 0 {
		chunk := b[:min(len(b), writeChunk)]
		b = b[len(chunk):]
		c.extend()
		if _, err := c.nc.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// extend gives the client new time to take what is written, unless it has most of it left.
func (c *conn) extend() {
	now := time.Now()
	if timeout := c.srv.opts.WriteTimeout; c.writeDeadline.Sub(now) < timeout*3/4 {
		c.writeDeadline = now.Add(timeout)
		_ = c.nc.SetWriteDeadline(c.writeDeadline)
	}
}

// copyRange writes a range through memory: on connections without sendfile, and from files without a descriptor.
func (c *conn) copyRange(cut *api.Cut) error {
	b := c.srv.buffers.lend(readBuffer)
	defer c.srv.buffers.back(b)
	for off := 0; off < cut.Range.Len(); {
		chunk := b.b[:min(len(b.b), cut.Range.Len()-off)]
		if _, err := cut.Range.ReadAt(chunk, int64(off)); err != nil {
			return err
		}
		if err := c.writeBytes(chunk); err != nil {
			return err
		}
		off += len(chunk)
	}
	return nil
}
