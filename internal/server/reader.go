package server

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// loan is what a reader needs while it has something to parse; idle connections have none.
type loan struct {
	requests [queueMax + 1]api.Request // one more than a run: a late request stands behind it
	run      []*api.Request
	sizes    [queueMax + 1]int64
	replies  [queueMax + 1]api.Reply
	entries  []entry
	room     int // how many requests the run may have
}

func newLoan() *loan { return &loan{run: make([]*api.Request, 0, queueMax+1)} }

// empty forgets the run.
func (l *loan) empty() {
	for _, req := range l.run {
		*req = api.Request{}
	}
	clear(l.replies[:len(l.run)])
	clear(l.entries)
	l.run, l.entries = l.run[:0], l.entries[:0]
}

func (c *conn) giveLoan() {
	if c.loan != nil {
		c.srv.loans.Put(c.loan)
		c.loan = nil
	}
}

// fill reads what the socket has, once, and waits if that is nothing. It holds no buffer while it waits, but for the frame that has begun.
func (c *conn) fill() error {
	for {
		if c.stopping.Load() {
			return errClosed
		}
		if err := c.room(); err != nil {
			return err
		}
		n, err := c.readSome()
		switch {
		case n > 0:
			c.in.w += n
			c.claim.earned += n
			return nil
		case c.claim.short && err == nil:
			if err := c.shortage(); err != nil {
				return err
			}
		case isTimeout(err):
			if err := c.expired(); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
}

// readSome reads once.
func (c *conn) readSome() (int, error) {
	if c.raw != nil {
		c.readN, c.readErr = 0, nil
		if err := c.raw.Read(c.readFunc); err != nil {
			return 0, err
		}
		return c.readN, c.readErr
	}
	if !c.park() {
		c.claim.short = true
		return 0, nil
	}
	if c.in.buf == nil { // it is held while it waits, so it is a small one
		c.in.lend(smallBuffer)
	}
	return c.nc.Read(c.in.space())
}

// park gives up what a waiting connection does not need. It reports false if there is no memory to wait with: the begun frame's, which
// shortage gets.
func (c *conn) park() bool {
	c.in.shrink()
	c.settle()
	if c.in.buf == nil || int64(len(c.in.buf.b)) <= c.srv.budget.perIP {
		c.leaveLane()
	}
	if !c.keep() {
		return false
	}
	c.giveLoan()
	c.arm(time.Now())
	return true
}

// drain parses every whole frame that was read and begins them: runs of early requests together, any other by itself. Replies
// that are ready leave in one write.
func (c *conn) drain() error {
	if c.loan == nil {
		c.loan = c.srv.loans.Get().(*loan)
	}
	c.active = time.Now()
	c.claim.note(c.active)
	for {
		req, err := c.nextRequest()
		if req == nil {
			return errors.Join(c.begin(), err)
		}
		early := c.srv.opts.Handler.Early(req.Key)
		if len(c.loan.run) == 0 {
			c.loan.room = c.queue.room()
		}
		if !early || len(c.loan.run) >= c.loan.room {
			if req, err = c.pause(req, early); err != nil {
				return err
			}
		}
		c.loan.run = append(c.loan.run, req)
		if !early {
			if err := c.begin(); err != nil {
				return err
			}
		}
	}
}

// pause begins the requests before req and waits until req may be begun: an early one needs room, any other that all replies have
// left. It returns req, which is the first of the next run.
func (c *conn) pause(req *api.Request, early bool) (*api.Request, error) {
	l := c.loan
	next, size := *req, l.sizes[len(l.run)]
	if err := c.begin(); err != nil {
		return nil, err
	}
	ready := c.queue.idle
	if early {
		ready = func() bool { return c.queue.room() > 0 }
	}
	if ready() {
		l.requests[0], l.sizes[0], l.room = next, size, c.queue.room()
		return &l.requests[0], nil
	}
	if err := c.awaitReplies(ready, size); err != nil {
		return nil, err
	}
	l.room = c.queue.room()
	return c.nextRequest()
}

// awaitReplies waits until replies have left, with no more memory than the bytes that came need. The last frame, of size bytes, is put back. What
// waits counts as unfinished where there is room for that: the client may have asked for a wait of days.
func (c *conn) awaitReplies(ready func() bool, size int64) error {
	c.in.unread(size)
	c.in.shrink()
	c.settle()
	c.keep()
	c.claim.state.Store(paused)
	err := c.awaitPeer(ready)
	c.resume()
	c.unhold()
	c.active = time.Now()
	return err
}

// peerInterval is how often a reader that waits for its own replies, and so does not read, looks whether the client is still there.
const peerInterval = 5 * time.Second

// awaitPeer waits until holds, or until the connection is cut or the client has gone. A fetch may want to wait for days.
func (c *conn) awaitPeer(holds func() bool) error {
	for {
		ctx, stop := context.WithTimeout(c.ctx, peerInterval)
		ok := c.queue.await(ctx, holds)
		stop()
		switch {
		case ok:
			return nil
		case c.ctx.Err() != nil:
			return errClosed
		case c.peerGone():
			return io.EOF
		}
	}
}

// nextRequest parses the next frame; nil if there is no whole one.
func (c *conn) nextRequest() (*api.Request, error) {
	frame, err := c.in.next(c.srv.opts.MaxFrame)
	if err != nil {
		return nil, err
	}
	if frame == nil {
		if !c.open && len(c.loan.run) == 0 {
			err = c.in.checkFresh()
		}
		return nil, err
	}
	c.frameSince = time.Time{}
	c.unhold()
	h, body, err := wire.ParseHeader(frame)
	if err != nil && (h.Key != kmsg.ApiVersions || !errors.Is(err, wire.ErrUnsupportedVersion)) {
		return nil, badFrame(err)
	}
	i := len(c.loan.run)
	c.loan.requests[i] = api.Request{Header: h, Body: body, Conn: &c.info, Received: c.active}
	c.loan.sizes[i] = int64(len(frame) + sizePrefix)
	return &c.loan.requests[i], nil
}

// begin begins the run, queues its replies and sends what is ready.
func (c *conn) begin() error {
	l := c.loan
	if len(l.run) == 0 {
		return nil
	}
	c.claim.state.Store(working)
	n, err := c.srv.opts.Handler.Begin(c.ctx, c.active, l.run, l.replies[:len(l.run)])
	c.resume()
	for i, req := range l.run[:n] {
		e := entry{reply: l.replies[i], key: req.Key, version: req.Version, received: req.Received, in: l.sizes[i]}
		if e.reply == nil {
			c.srv.opts.Observer.Answered(e.key, e.version, time.Since(e.received), 1, e.in, 0)
			continue
		}
		e.held = e.reply.Held()
		l.entries = append(l.entries, e)
	}
	c.queue.push(l.entries)
	l.empty()
	c.open = c.open || n > 0
	if err != nil {
		err = badFrame(err)
	}
	return errors.Join(c.answer(), err)
}
