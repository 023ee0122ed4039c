package server

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Shares of queued.max.request.bytes. Unfinished frames hold at most half of it, so that requests that are complete always have the other
// half; one client address holds at most three quarters of that half.
const (
	budgetMin     = 1 << 20 // a smaller limit would not hold one read
	unfinishedDiv = 2
	perIPMul      = 3
	perIPDiv      = 4
)

// budget counts the memory of requests of all connections (queued.max.request.bytes): every buffer from the moment a connection has it until it
// gives it back, whatever its size. Counters are atomic; the lock is taken only where memory is short.
type budget struct {
	limit int64 // of used; 0: none
	share int64 // of unfinished
	perIP int64 // of one origin's unfinished, and of one frame outside the lane

	used       atomic.Int64 // bytes of all buffers
	unfinished atomic.Int64 // of these, bytes held by frames that have begun and are not whole
	waiting    atomic.Int32 // readers that wait for memory
	mu         struct {
		sync.Mutex
		freed chan struct{} // closed when memory was given back
		// lane is the connection that receives a frame larger than perIP. There is one at a time, and it does not count as unfinished, so that
		// a frame of up to socket.request.max.bytes always gets through. Kafka's memory pool lets one request exceed the limit as well.
		lane    *conn
		origins map[netip.Addr]*origin
	}
}

// origin is a client address. Connections of one address share it.
type origin struct {
	addr       netip.Addr
	conns      int // under the budget's lock
	unfinished atomic.Int64
	nextLook   atomic.Int64 // when its readers may look for a connection to close again, in Unix nanoseconds
}

func (b *budget) setLimit(limit int64) {
	if limit <= 0 {
		return
	}
	b.limit = max(limit, budgetMin)
	b.share = b.limit / unfinishedDiv
	b.perIP = b.share * perIPMul / perIPDiv
}

// enter finds or makes the origin of an address. leave ends its use.
func (b *budget) enter(ip netip.Addr) *origin {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := network(ip)
	o := b.mu.origins[key]
	if o == nil {
		o = &origin{addr: key}
		if b.mu.origins == nil {
			b.mu.origins = make(map[netip.Addr]*origin)
		}
		b.mu.origins[key] = o
	}
	o.conns++
	return o
}

func (b *budget) leave(o *origin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.conns--; o.conns == 0 {
		delete(b.mu.origins, o.addr)
	}
}

// network is the address that stands for one client: of IPv6 the /64, since a host may use all of it.
func network(ip netip.Addr) netip.Addr {
	if !ip.Is6() {
		return ip
	}
	p, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip
	}
	return p.Addr()
}

// take counts n bytes more if they fit, or if nothing else is held.
func (b *budget) take(n int64) bool {
	for {
		used := b.used.Load()
		if b.limit > 0 && used > 0 && used+n > b.limit {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// give counts n bytes less.
func (b *budget) give(n int64) {
	b.used.Add(-n)
	b.wake()
}

// hold counts n bytes more as unfinished if the limits of all and of the origin allow it.
func (b *budget) hold(o *origin, n int64) bool {
	if b.limit == 0 {
		b.unfinished.Add(n)
		o.unfinished.Add(n)
		return true
	}
	if o.unfinished.Load()+n > b.perIP || !addBelow(&b.unfinished, n, b.share) {
		return false
	}
	if !addBelow(&o.unfinished, n, b.perIP) {
		// No reader is woken: readers that fail and wake each other would never rest. They look again soon.
		b.unfinished.Add(-n)
		return false
	}
	return true
}

func (b *budget) unhold(o *origin, n int64) {
	b.unfinished.Add(-n)
	o.unfinished.Add(-n)
	b.wake()
}

// addBelow adds n unless the sum exceeds limit.
func addBelow(v *atomic.Int64, n, limit int64) bool {
	for {
		old := v.Load()
		if old+n > limit {
			return false
		}
		if v.CompareAndSwap(old, old+n) {
			return true
		}
	}
}

// enterLane gives the lane to c, or returns the connection that has it.
func (b *budget) enterLane(c *conn) (holder *conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.lane == nil {
		b.mu.lane = c
	}
	if b.mu.lane == c {
		return nil
	}
	return b.mu.lane
}

// leaveLane frees the lane if c has it.
func (b *budget) leaveLane(c *conn) {
	b.mu.Lock()
	if b.mu.lane == c {
		b.mu.lane = nil
	}
	b.mu.Unlock()
	b.wake()
}

// wake has the readers that wait for memory look again.
func (b *budget) wake() {
	if b.waiting.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.freed != nil {
		close(b.mu.freed)
		b.mu.freed = nil
	}
}

// next is closed when memory is given back after the call.
func (b *budget) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.freed == nil {
		b.mu.freed = make(chan struct{})
	}
	return b.mu.freed
}

// await calls try until it succeeds: again when memory was given back, and every interval. It fails when ctx or the server ends.
func (b *budget) await(ctx context.Context, closing <-chan struct{}, interval time.Duration, try func() bool) error {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		freed := b.next() // before the try, so that nothing given back after it is missed
		if try() {
			return nil
		}
		select {
		case <-freed:
		case <-tick.C:
		case <-closing:
			return errClosed
		case <-ctx.Done():
			return errClosed
		}
	}
}

// Memory is what connections hold for requests, in bytes.
type Memory struct {
	Used       int64 // all of it
	Unfinished int64 // by frames that have begun and are not whole
	Limit      int64 // queued.max.request.bytes as it counts; 0: none
}

// RequestMemory returns what connections hold for requests now.
func (s *Server) RequestMemory() Memory {
	return Memory{Used: s.budget.used.Load(), Unfinished: s.budget.unfinished.Load(), Limit: s.budget.limit}
}
