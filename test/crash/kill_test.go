package crash

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestKill kills the broker at random while idempotent producers send with acks=all and groups commit offsets, and reopens it.
func TestKill(t *testing.T) {
	dir, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	broker := startBroker(t, dir, addr)
	createTopic(t, addr)
	l := newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for name := range producers {
		wg.Go(func() { l.produce(ctx, t, addr, name) })
	}
	c := newCommits()
	for first := range committers {
		wg.Go(func() { c.run(ctx, t, addr, first, committers) })
	}
	defer wg.Wait()
	defer cancel()
	for n := range cycles(t, "OTTLA_KILL_CYCLES", 3) {
		before := l.len()
		pause(ctx, 300*time.Millisecond+rand.N(700*time.Millisecond))
		kill(t, broker)
		broker = startBroker(t, dir, addr)
		l.check(t, addr)
		c.check(t, addr)
		t.Logf("kill %d: %d records acknowledged since the last, %d in all, and %d commits", n+1, l.len()-before, l.len(), c.len())
	}
	if l.len() == 0 || c.len() == 0 {
		t.Errorf("%d records and %d commits were acknowledged: the test saw no data", l.len(), c.len())
	}
}
