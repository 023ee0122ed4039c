package server

import (
	"fmt"
	"sync/atomic"
	"time"
)

// What a reader is doing, for the choice of a connection to close.
const (
	reading = iota // it waits for bytes, or writes replies
	working        // the handler has its requests: they end without the client's doing
	paused         // it waits until earlier replies have left
	waiting        // it waits for memory
)

// claim is what a connection holds of the budget. Its reader changes it; readers of other connections that are short of memory look at the
// atomic parts.
type claim struct {
	origin     *origin
	held       atomic.Int64 // bytes counted as used
	unfinished atomic.Int64 // bytes counted as unfinished; the reader that evicts the connection sets it to 0
	progress   atomic.Int64 // when enough bytes had come last, in Unix nanoseconds
	state      atomic.Int32
	evicted    atomic.Bool

	holding  bool  // unfinished may be above 0
	reserved int64 // bytes that the frame under way will need, if they are counted already
	lane     bool  // the frame under way is larger than the cap of one address
	earned   int   // bytes that came since progress was noted
	short    bool  // the read under way was left for want of memory
}

// Progress is noted when a 64th of what the connection holds has come, so that a client cannot keep a megabyte by a byte now and then.
const (
	progressDiv = 64
	progressMin = 64 // bytes
)

// note notes progress, if enough bytes have come.
func (cl *claim) note(now time.Time) {
	if cl.earned >= progressMin && cl.earned >= int(cl.held.Load())/progressDiv {
		cl.earned = 0
		cl.progress.Store(now.UnixNano())
	}
}

// settle counts the buffer that the connection has now. A connection that is read through net waits with a small buffer; while no request
// has begun in it, that is not memory for requests.
func (c *conn) settle() {
	n := int64(0)
	if c.in.buf != nil && (c.raw != nil || c.in.partial() > 0 || len(c.in.buf.b) > smallBuffer) {
		n = int64(len(c.in.buf.b))
	}
	old := c.claim.held.Load()
	if n == old {
		return
	}
	c.claim.held.Store(n)
	if n > old {
		c.srv.budget.used.Add(n - old)
	} else {
		c.srv.budget.give(old - n)
	}
}

// lend makes sure that there is a buffer to read into: a small one if memory is short, and none (false) if there is not even that.
func (c *conn) lend() bool {
	if c.in.buf != nil {
		return true
	}
	n := c.in.wanted()
	if size := bufferSize(n); !c.srv.budget.take(int64(size)) {
		if n = smallBuffer; !c.srv.budget.take(int64(n)) {
			return false
		}
	}
	c.in.lend(n)
	c.claim.held.Store(int64(len(c.in.buf.b)))
	return true
}

// keep counts what is there of a frame as unfinished before the reader waits for the rest; false if memory is short.
func (c *conn) keep() bool {
	if c.in.partial() == 0 || c.claim.lane {
		return true
	}
	return c.hold(max(int64(len(c.in.buf.b)), c.claim.reserved))
}

// hold makes n the bytes that the connection holds unfinished; false if the limits do not allow it.
func (c *conn) hold(n int64) bool {
	old := c.claim.unfinished.Load()
	switch {
	case n > old && !c.srv.budget.hold(c.claim.origin, n-old):
		return false
	case n < old:
		c.srv.budget.unhold(c.claim.origin, old-n)
	}
	if old == 0 {
		c.claim.earned = 0
		c.claim.progress.Store(time.Now().UnixNano())
	}
	c.claim.unfinished.Add(n - old) // an eviction meanwhile leaves it off by as much as the budget, and unhold makes both right
	c.claim.holding = true
	return true
}

// unhold ends the counting as unfinished: the frame is whole, or given up.
func (c *conn) unhold() {
	if !c.claim.holding {
		return
	}
	c.claim.holding, c.claim.reserved = false, 0
	c.srv.budget.unhold(c.claim.origin, c.claim.unfinished.Swap(0))
}

// leaveLane lets the next large frame begin.
func (c *conn) leaveLane() {
	if c.claim.lane {
		c.claim.lane = false
		c.srv.budget.leaveLane(c)
	}
}

// reserveMax is the largest frame that is counted as unfinished as a whole once it grows beyond the first buffer. If each took its memory step by
// step, busy clients could end up with all of it and none with enough.
const reserveMax = 2<<20 + bufferSlack

// grow gets memory for a buffer of size bytes, into which the one that there is will be moved, for a frame of need bytes. It waits where
// memory is short, and closes the connections that make the slowest progress.
func (c *conn) grow(size, need int64) error {
	b := &c.srv.budget
	if b.limit > 0 && size > b.perIP {
		if err := c.enterLane(); err != nil {
			return err
		}
		b.used.Add(size)
		c.claim.held.Add(size)
		return nil
	}
	if size > readBuffer && need <= reserveMax && (b.limit == 0 || need <= b.perIP) {
		c.claim.reserved = need
	}
	if err := c.holdOrWait(max(size, c.claim.reserved)); err != nil {
		return err
	}
	if err := c.takeOrWait(size); err != nil {
		return err
	}
	c.claim.held.Add(size)
	return nil
}

// shortage ends the want of memory that made the reader leave a read: for the frame that has begun, or for a buffer to read into.
func (c *conn) shortage() error {
	c.claim.short = false
	if c.in.buf != nil {
		return c.holdOrWait(max(int64(len(c.in.buf.b)), c.claim.reserved))
	}
	if err := c.takeOrWait(smallBuffer); err != nil {
		return err
	}
	c.in.lend(smallBuffer)
	c.claim.held.Store(smallBuffer)
	return nil
}

// waitMin is how often a reader that is short of memory looks for a connection to close.
const waitMin = 20 * time.Millisecond

// holdOrWait is hold with patience.
func (c *conn) holdOrWait(n int64) error {
	if c.claim.lane || c.hold(n) {
		return nil
	}
	return c.await(func() bool {
		for !c.hold(n) {
			if !c.srv.evictFor(c, n) {
				return false
			}
		}
		return true
	})
}

// takeOrWait counts n bytes more, when there is room.
func (c *conn) takeOrWait(n int64) error {
	if c.srv.budget.take(n) {
		return nil
	}
	return c.await(func() bool {
		if c.srv.budget.take(n) {
			return true
		}
		c.srv.evictStuck(c) // its memory comes back when its reader ends
		return false
	})
}

// enterLane waits for the lane of large frames. A connection that has it and stands still loses it.
func (c *conn) enterLane() error {
	if c.claim.lane {
		return nil
	}
	b := &c.srv.budget
	enter := func() bool {
		holder := b.enterLane(c)
		if holder == nil {
			return true
		}
		if time.Since(time.Unix(0, holder.claim.progress.Load())) < stuckTime || holder.claim.state.Load() == working {
			return false
		}
		c.srv.evict(holder)
		b.leaveLane(holder)
		return b.enterLane(c) == nil
	}
	if !enter() {
		if err := c.await(enter); err != nil {
			return err
		}
	}
	c.claim.lane = true
	c.claim.earned = 0
	c.claim.progress.Store(time.Now().UnixNano())
	c.unhold()
	return nil
}

// resume ends a wait that was not the client's: its time to make progress begins anew.
func (c *conn) resume() {
	c.claim.progress.Store(time.Now().UnixNano())
	c.claim.state.Store(reading)
}

// await waits for memory. The wait is not the client's, so the time for its frame goes on after it.
func (c *conn) await(try func() bool) error {
	began := time.Now()
	c.claim.state.Store(waiting)
	err := c.srv.budget.await(c.ctx, c.srv.closing, waitMin, try)
	c.resume()
	if !c.frameSince.IsZero() {
		c.frameSince = c.frameSince.Add(time.Since(began))
	}
	return err
}

// evictedFault is why an evicted connection is closed.
func (c *conn) evictedFault() error {
	return &fault{reason: "memory", err: fmt.Errorf("memory for requests is short (queued.max.request.bytes is %d), and this unfinished request "+
		"made the slowest progress: none for %v with %d bytes of it here", c.srv.budget.limit,
		time.Since(time.Unix(0, c.claim.progress.Load())).Round(time.Millisecond), c.in.partial())}
}
