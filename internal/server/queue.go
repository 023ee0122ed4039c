package server

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
)

// entry is a reply that has not left yet, and what metrics want to know of its request.
type entry struct {
	reply    api.Reply
	key      kmsg.Key
	version  int16
	received time.Time
	in       int64
	held     int
}

// queue is the replies of a connection in the order of their requests.
type queue struct {
	mu struct {
		sync.Mutex
		ring  *[queueMax]entry // nil while empty
		first int
		n     int
		held  int // bytes of memory in the replies
		// sending: somebody polls and writes; only it may use head and pop.
		sending bool
		// emptied is when the last reply had left.
		emptied time.Time
		// dead: nothing will be sent any more.
		dead bool
	}
	rings *sync.Pool
	// changed has a token when replies have left, or the sender stopped.
	changed chan struct{}
}

// room is how many replies may be added. At the bound of bytes it is 0, but an empty queue takes whatever comes.
func (q *queue) room() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.n > 0 && q.mu.held >= queueBytes {
		return 0
	}
	return queueMax - q.mu.n
}

// push adds replies, for which there must be room, or drops them if the queue is dead.
func (q *queue) push(entries []entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range entries {
		e := &entries[i]
		if q.mu.dead {
			e.reply.Drop()
			continue
		}
		if q.mu.ring == nil {
			q.mu.ring = q.rings.Get().(*[queueMax]entry)
		}
		q.mu.ring[(q.mu.first+q.mu.n)%queueMax] = *e
		q.mu.n++
		q.mu.held += e.held
	}
}

// claim makes the caller the sender, if there is something to send and nobody else is.
func (q *queue) claim() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.sending || q.mu.n == 0 {
		return false
	}
	q.mu.sending = true
	return true
}

// release ends the caller's sending if nothing is left to send, and reports whether it did.
func (q *queue) release() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.n > 0 {
		return false
	}
	q.mu.sending = false
	q.mu.emptied = time.Now()
	q.signal()
	return true
}

// head is the first replies, as many as stand in a row in memory; none if the queue is empty. For the sender, who may read and change them
// until it pops them.
func (q *queue) head() []entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.n == 0 {
		return nil
	}
	return q.mu.ring[q.mu.first:min(q.mu.first+q.mu.n, queueMax)]
}

// pop takes the first n replies away, which were sent or are about to be. For the sender.
func (q *queue) pop(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range n {
		q.popLocked()
	}
}

func (q *queue) popLocked() {
	q.mu.held -= q.mu.ring[q.mu.first].held
	q.mu.ring[q.mu.first] = entry{}
	q.mu.first = (q.mu.first + 1) % queueMax
	if q.mu.n--; q.mu.n == 0 {
		q.rings.Put(q.mu.ring)
		q.mu.ring, q.mu.first = nil, 0
	}
}

// kill drops all replies, those to come too, and ends the caller's sending.
func (q *queue) kill() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.dead = true
	for q.mu.n > 0 {
		q.mu.ring[q.mu.first].reply.Drop()
		q.popLocked()
	}
	q.mu.sending = false
	q.signal()
}

// signal wakes the reader if it waits.
func (q *queue) signal() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// idle reports whether all replies have left and were written.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.n == 0 && !q.mu.sending
}

// idleSince reports whether all replies had left at t.
func (q *queue) idleSince(t time.Time) bool {
	return q.idle() && !q.lastEmptied().After(t)
}

func (q *queue) lastEmptied() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.emptied
}

// isSending reports whether somebody polls and writes.
func (q *queue) isSending() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.sending
}

// await waits until holds, and reports false if ctx ended before.
func (q *queue) await(ctx context.Context, holds func() bool) bool {
	for !holds() {
		select {
		case <-q.changed:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
