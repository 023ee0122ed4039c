package coordinator

import (
	"context"

	"github.com/ottla-io/ottla/internal/partition"
)

// Call is a request that was put to a machine and is to be answered.
type Call struct{}

// Poll returns the result (the group.*Result of the input) when it may leave. Otherwise w, if not nil, is woken when another Poll may find it.
// It never blocks.
func (c *Call) Poll(w *partition.Waiter) (result any, ready bool) { return nil, false }

// Wait returns the result when it may leave, or group.Failed's with ctx's error as COORDINATOR_NOT_AVAILABLE.
func (c *Call) Wait(ctx context.Context) any { return nil }

// Drop gives up a call that will not be polled again.
func (c *Call) Drop() {}
