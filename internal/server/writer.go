package server

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/partition"
)

// outgoing is what is about to be written.
type outgoing struct {
	out  api.Out
	sent []answered
}

// answered is what metrics want to know of n requests alike that were received together.
type answered struct {
	key      kmsg.Key
	version  int16
	received time.Time
	n        int
	in, out  int64
}

// add counts a reply of out bytes, which is in o.out.
func (o *outgoing) add(e *entry, out int64) {
	last := len(o.sent) - 1
	if last < 0 || o.sent[last].key != e.key || o.sent[last].version != e.version || !o.sent[last].received.Equal(e.received) {
		o.sent = append(o.sent, answered{key: e.key, version: e.version, received: e.received})
		last++
	}
	a := &o.sent[last]
	a.n++
	a.in += e.in
	a.out += out
}

// outKept is the largest memory of an outgoing, in bytes, that is kept for use again.
const outKept = 256 << 10

func (s *Server) putOutgoing(o *outgoing) {
	o.out.Reset()
	if cap(o.out.Bytes) > outKept {
		o.out.Bytes = nil
	}
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
	for head := c.queue.head(); len(head) > 0 && !waiting && err == nil; head = c.queue.head() {
		var n int
		n, deadline = o.collect(head, w)
		waiting = n < len(head) && o.out.Len() < writeMax
		c.queue.pop(n)
		if o.out.Len() >= writeMax {
			err = c.flush(o)
		}
	}
	if err == nil {
		err = c.flush(o)
	}
	c.queue.signal()
	return waiting, deadline, err
}

// collect polls replies, up to one that is not ready or to writeMax, and returns how many were ready, with the time until which the next
// may wait.
func (o *outgoing) collect(head []entry, w *partition.Waiter) (n int, deadline time.Time) {
	now := time.Now()
	for n < len(head) && o.out.Len() < writeMax {
		e := &head[n]
		before := o.out.Len()
		var ready bool
		if ready, deadline = e.reply.Poll(now, w, &o.out); !ready {
			break
		}
		e.reply = nil
		o.add(e, o.out.Len()-before)
		n++
	}
	return n, deadline
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
		a := &o.sent[i]
		c.srv.opts.Observer.Answered(a.key, a.version, now.Sub(a.received), a.n, a.in, a.out)
	}
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
