package coordinator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Run loads what there is, follows the metadata and keeps time, until ctx ends.
func (c *Coordinator) Run(ctx context.Context) error {
	var runs sync.WaitGroup
	defer runs.Wait()
	for range loaders {
		runs.Go(func() { c.runLoader(ctx) })
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.poked:
		case <-c.opts.Changes:
		case <-timer.C:
		}
		c.follow()
		if next := c.tick(); !next.IsZero() {
			timer.Reset(max(0, next.Sub(c.opts.Now())))
		} else {
			timer.Stop()
		}
	}
}

// tick steps the shards that are due, or have not seen the newest metadata, and returns when the next is due.
func (c *Coordinator) tick() (next time.Time) {
	t := c.table.Load()
	if t == nil {
		return time.Time{}
	}
	now := c.opts.Now()
	image := c.opts.Node.Image()
	for _, s := range t.shards {
		if at := s.next.time(); !at.IsZero() && !at.After(now) || s.seen.Load() != image {
			s.tick(now)
		}
		if at := s.next.time(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// alarm is a time that is set under a lock and read without. It is kept as it was made, with the reading of the clock that nobody sets: of two
// times one may seem to have come by the clock on the wall and not by the machine's, and Run would step for nothing, or late.
type alarm struct{ at atomic.Pointer[time.Time] }

// time is when it is due; zero: never.
func (a *alarm) time() time.Time {
	if at := a.at.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// set sets it, and reports whether it is due earlier than it was.
func (a *alarm) set(at time.Time) (earlier bool) {
	old := a.time()
	if at.Equal(old) {
		return false
	}
	a.at.Store(&at)
	return !at.IsZero() && (old.IsZero() || at.Before(old))
}

// Close gives up all groups: who waits is told NOT_COORDINATOR, and so is who asks from now on.
func (c *Coordinator) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
	if t := c.table.Swap(nil); t != nil {
		for _, s := range t.shards {
			s.close()
		}
	}
}

func (c *Coordinator) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.closed
}
