package broker

import (
	"context"
	"sync"
	"time"
)

// throttle spaces reads and writes out so that they make no more than rate bytes a second.
type throttle struct {
	mu struct {
		sync.Mutex
		rate float64   // 0: no limit
		free time.Time // when what was announced so far is paid for
	}
}

func (t *throttle) limit(rate float64) {
	t.mu.Lock()
	t.mu.rate = rate
	t.mu.Unlock()
}

// wait returns when bytes may be read or written, or ctx's error.
func (t *throttle) wait(ctx context.Context, now time.Time, bytes int) error {
	if delay := t.delay(now, bytes); delay > 0 {
		pause(ctx, delay)
	}
	return ctx.Err()
}

// delay is how long to wait for bytes. Those who come first pay for the next.
func (t *throttle) delay(now time.Time, bytes int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.rate <= 0 {
		return 0
	}
	if t.mu.free.Before(now) {
		t.mu.free = now
	}
	delay := t.mu.free.Sub(now)
	t.mu.free = t.mu.free.Add(time.Duration(float64(bytes) / t.mu.rate * float64(time.Second)))
	return delay
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
