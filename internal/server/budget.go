package server

import (
	"context"
	"sync"
)

// budget bounds the memory of large frames of all connections together (queued.max.request.bytes). A frame takes its whole size once,
// before its buffer grows beyond readBuffer, so nobody holds a part while waiting for the rest.
type budget struct {
	limit int64 // 0: none
	mu    struct {
		sync.Mutex
		used  int64
		freed chan struct{} // closed when some is given back
	}
}

// take waits until n bytes are free. One that is larger than the limit is let through when nothing else is taken.
func (b *budget) take(ctx context.Context, n int64) error {
	for {
		freed, ok := b.try(n)
		if ok {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *budget) try(n int64) (freed <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit == 0 || b.mu.used == 0 || b.mu.used+n <= b.limit {
		b.mu.used += n
		return nil, true
	}
	if b.mu.freed == nil {
		b.mu.freed = make(chan struct{})
	}
	return b.mu.freed, false
}

// RequestMemory is the bytes that large frames of all connections hold now.
func (s *Server) RequestMemory() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.budget.mu.used
}

// give returns n bytes.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.used -= n
	if b.mu.freed != nil {
		close(b.mu.freed)
		b.mu.freed = nil
	}
}
