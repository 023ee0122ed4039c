package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// ackWait bounds how long records wait for acknowledgements: --timeout without a single one gives up. The client alone would try for ever, since
// it cannot take back a record that it may have sent. Its methods may be called by any goroutine.
type ackWait struct {
	start    time.Time
	prepared time.Duration // what the way to the broker took already; it counts until the first acknowledgement
	pending  atomic.Int64
	acked    atomic.Bool
	since    atomic.Int64 // after start: the last acknowledgement, or the first record that waits
}

// sent notes a record on its way.
func (w *ackWait) sent() {
	if w.pending.Add(1) == 1 {
		w.since.Store(int64(time.Since(w.start)))
	}
}

// answered notes that a record waits no more.
func (w *ackWait) answered(err error) {
	w.pending.Add(-1)
	w.since.Store(int64(time.Since(w.start)))
	if err == nil {
		w.acked.Store(true)
	}
}

// overdue returns how many records wait, if they have done so for too long at a time after start.
func (w *ackWait) overdue(at, timeout time.Duration) (pending int64, over bool) {
	if !w.acked.Load() {
		timeout = max(timeout-w.prepared, timeout/4)
	}
	pending = w.pending.Load()
	return pending, pending > 0 && at-time.Duration(w.since.Load()) >= timeout
}

// unacknowledged is why a command gave records up.
type unacknowledged struct {
	records int64
	timeout time.Duration
	err     error // what kept them
}

func (e *unacknowledged) Error() string {
	return fmt.Sprintf("%s not acknowledged within --timeout %v, and may or may not be written: %v",
		session.Counted(e.records, "record is", "records are"), e.timeout, e.err)
}

func (e *unacknowledged) Unwrap() error { return e.err }

// watch calls giveUp once records wait for too long, and says before what they wait for, until stop is called.
func (w *ackWait) watch(s *session.Session, giveUp func(error)) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(min(max(s.Timeout/20, time.Millisecond), 100*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			if n, over := w.overdue(time.Since(w.start), s.Timeout); over {
				giveUp(&unacknowledged{n, s.Timeout, s.Stuck(context.DeadlineExceeded)})
				return
			}
		}
	}()
	silent := s.Waiting()
	return func() { close(quit); <-done; silent() }
}
