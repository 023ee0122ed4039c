package partition

import (
	"sync"
	"sync/atomic"
)

// Waiter is woken when something it watches may have changed. One connection has one; C has room for one token.
type Waiter struct{ C chan struct{} }

// NewWaiter returns a waiter.
func NewWaiter() *Waiter { return &Waiter{C: make(chan struct{}, 1)} }

// Wake wakes the waiter; it never blocks.
func (w *Waiter) Wake() {
	select {
	case w.C <- struct{}{}:
	default:
	}
}

// watchers are the waiters of one partition, each to be woken once.
type watchers struct {
	n  atomic.Int32 // how many there are, so that nobody takes the lock to wake none
	mu struct {
		sync.Mutex
		waiting map[*Waiter]struct{}
	}
}

func (ws *watchers) add(w *Waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.mu.waiting == nil {
		ws.mu.waiting = make(map[*Waiter]struct{})
	}
	ws.mu.waiting[w] = struct{}{}
	ws.n.Store(int32(len(ws.mu.waiting)))
}

func (ws *watchers) remove(w *Waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.mu.waiting, w)
	ws.n.Store(int32(len(ws.mu.waiting)))
}

// wake wakes all and forgets them. What they wait for must have been published before: a waiter that is added after
// the look at n sees it when it looks.
func (ws *watchers) wake() {
	if ws.n.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.mu.waiting {
		w.Wake()
	}
	clear(ws.mu.waiting)
	ws.n.Store(0)
}

// Watch arranges that w is woken once, the next time the high watermark (or the log start, role, or health) changes. Watch
// first, look second, sleep third.
func (p *Partition) Watch(w *Waiter) { p.watchers.add(w) }

// Unwatch forgets w.
func (p *Partition) Unwatch(w *Waiter) { p.watchers.remove(w) }
