package coordinator

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Call is a request that was put to a machine and is to be answered.
type Call struct {
	in group.Input

	mu struct {
		sync.Mutex
		done   bool
		result any
		// What the result shows is committed when p has committed all below wait; p is nil if it shows nothing.
		p      *partition.Partition
		wait   batch.Offset
		waiter *partition.Waiter
	}
}

func newCall(in group.Input) *Call { return &Call{in: in} }

// settle gives the call its result.
func (c *Call) settle(result any, p *partition.Partition, wait batch.Offset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.done, c.mu.result, c.mu.p, c.mu.wait = true, result, p, wait
	if w := c.mu.waiter; w != nil {
		w.Wake()
	}
}

// fail gives the call the result of an error.
func (c *Call) fail(err error) { c.settle(group.Failed(c.in, err), nil, 0) }

// Poll returns the result (the group.*Result of the input) when it may leave. Otherwise w, if not nil, is woken when another Poll may find it.
// It never blocks.
func (c *Call) Poll(w *partition.Waiter) (result any, ready bool) {
	c.mu.Lock()
	c.mu.waiter = w
	done, result, p, wait := c.mu.done, c.mu.result, c.mu.p, c.mu.wait
	c.mu.Unlock()
	switch {
	case !done:
		return nil, false
	case p == nil || wait == 0:
		return result, true
	}
	if w != nil {
		p.Watch(w)
	}
	committed, err := p.Await(wait)
	if w != nil && (committed || err != nil) {
		p.Unwatch(w)
	}
	if err != nil {
		return group.Failed(c.in, unwritten(err)), true
	}
	return result, committed
}

// Wait returns the result when it may leave, or that of COORDINATOR_NOT_AVAILABLE when ctx ends.
func (c *Call) Wait(ctx context.Context) any {
	w := partition.NewWaiter()
	defer c.Drop()
	for {
		if result, ready := c.Poll(w); ready {
			return result
		}
		select {
		case <-w.C:
		case <-ctx.Done():
			return group.Failed(c.in, kerr.CoordinatorNotAvailable)
		}
	}
}

// Drop gives up a call that will not be polled again.
func (c *Call) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.p != nil && c.mu.waiter != nil {
		c.mu.p.Unwatch(c.mu.waiter)
	}
	c.mu.waiter = nil
}
