package coordinator

import (
	"context"
	"sync"
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
		if at := s.next.Load(); at != 0 && at <= now.UnixNano() || s.seen.Load() != image {
			s.tick(now)
		}
		if at := s.next.Load(); at != 0 && (next.IsZero() || at < next.UnixNano()) {
			next = time.Unix(0, at)
		}
	}
	return next
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
