package ration

import (
	"container/list"
	"context"
	"sync"
)

const (
	// FreeReply is the largest reply that takes no room, in bytes. So what most clients ask for never waits for those that take nothing.
	FreeReply = 64 << 10
	// buildersMax is how many replies are built at a time: a response takes some times its bytes until it is encoded.
	buildersMax = 4
)

// Ration is the room of large replies.
type Ration struct {
	max      int
	builders chan struct{}
	mu       struct {
		sync.Mutex
		used    int
		waiting list.List // of *portion, the first to come first
	}
}

// portion is room that a reply waits for.
type portion struct {
	size  int
	given chan struct{} // closed when it has the room
}

// New returns a ration of size bytes.
func New(size int) *Ration { return &Ration{max: size, builders: make(chan struct{}, buildersMax)} }

// Builder waits for a place among the builders and returns a function that gives it back. It fails when ctx ends.
func (r *Ration) Builder(ctx context.Context) (leave func(), err error) {
	return Enter(ctx, r.builders)
}

// Enter waits for a place and returns a function that gives it back. It fails when ctx ends: a connection that is closed for
// its memory must not wait for its turn behind a thousand others.
func Enter(ctx context.Context, places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Reply returns what build builds, and what gives back its room, which is nil if it takes none. It may call build twice. It fails when ctx ends.
func (r *Ration) Reply(ctx context.Context, build func() ([]byte, error)) (b []byte, free func(), err error) {
	if b, err = build(); err != nil || len(b) <= FreeReply {
		return b, nil, err
	}
	if size := len(b); !r.take(size) {
		return r.ReplyOnce(ctx, size, build)
	}
	return b, r.freeing(len(b)), nil
}

// ReplyOnce is Reply for a request that cannot be answered twice: it takes room for size bytes first.
func (r *Ration) ReplyOnce(ctx context.Context, size int, build func() ([]byte, error)) (b []byte, free func(), err error) {
	if err := r.wait(ctx, size); err != nil {
		return nil, nil, err
	}
	if b, err = build(); err != nil {
		r.grow(-size)
		return nil, nil, err
	}
	r.grow(len(b) - size) // things have changed meanwhile, or size was a guess
	return b, r.freeing(len(b)), nil
}

// freeing gives size bytes back, once.
func (r *Ration) freeing(size int) func() { return sync.OnceFunc(func() { r.grow(-size) }) }

// take takes room for size bytes if there is some and no other reply waits.
func (r *Ration) take(size int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.waiting.Len() > 0 || !r.fitsLocked(size) {
		return false
	}
	r.mu.used += size
	return true
}

func (r *Ration) fitsLocked(size int) bool { return r.mu.used == 0 || r.mu.used+size <= r.max }

// wait takes room for size bytes, in its turn, or fails when ctx ends.
func (r *Ration) wait(ctx context.Context, size int) error {
	p := &portion{size: size, given: make(chan struct{})}
	r.mu.Lock()
	at := r.mu.waiting.PushBack(p)
	r.serveLocked()
	r.mu.Unlock()
	select {
	case <-p.given:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-p.given: // just now
		r.mu.used -= size
	default:
		r.mu.waiting.Remove(at)
	}
	r.serveLocked()
	return ctx.Err()
}

// grow counts n bytes more, room or not.
func (r *Ration) grow(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.used += n
	r.serveLocked()
}

// serveLocked gives room to the replies that wait, first come first served, while there is enough for the first.
func (r *Ration) serveLocked() {
	for e := r.mu.waiting.Front(); e != nil; e = r.mu.waiting.Front() {
		p := e.Value.(*portion) //nolint:errcheck,forcetypeassert // the list has no others
		if !r.fitsLocked(p.size) {
			return
		}
		r.mu.used += p.size
		r.mu.waiting.Remove(e)
		close(p.given)
	}
}
