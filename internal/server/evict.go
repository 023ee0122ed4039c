package server

import "time"

// Patience with the connections that hold memory while it is short.
const (
	// graceTime is how long a frame may stand still before it makes room for another, so that a server that is merely busy has its clients
	// wait instead of closing them.
	graceTime = 20 * time.Millisecond
	// stuckTime is the same for a connection that waits for its own replies, writes, or has the lane.
	stuckTime = time.Second
	// waitTime is the same for one that waits for memory itself: others give it back meanwhile, or are closed. It also is how
	// long a handler may work on requests whose memory others need: it may wait for the room of a large reply, behind a
	// thousand clients that take none. In a crowd it has stuckTime.
	waitTime = 5 * time.Second
	// crowdMin is how many readers must be short of memory to make it an attack: then nothing is too young to make room.
	crowdMin = 16
)

// evictFor closes the connection whose unfinished frame has stood still the longest, so that c can hold n bytes. Another client's is taken only if
// that client holds at least as much as c's will: one that floods the server takes from itself. It reports false if there is none.
func (s *Server) evictFor(c *conn, n int64) bool {
	own := c.claim.origin
	want := own.unfinished.Load() + n - c.claim.unfinished.Load()
	onlyOwn := want > s.budget.perIP
	patience := [...]time.Duration{reading: graceTime, paused: stuckTime, waiting: waitTime}
	if s.budget.waiting.Load() >= crowdMin {
		patience[reading], patience[waiting] = 0, graceTime
	}
	victim := s.slowest(c, func(cl *claim) (time.Duration, bool) {
		if cl.unfinished.Load() <= 0 || cl.state.Load() == working || cl.origin != own && (onlyOwn || cl.origin.unfinished.Load() < want) {
			return 0, false
		}
		return patience[cl.state.Load()], true
	})
	if victim == nil {
		return false
	}
	s.evict(victim)
	return true
}

// lookPause is the least time between two looks of one origin's readers for a connection that is stuck.
const lookPause = time.Millisecond

// evictStuck closes the connection that has held memory for the longest without reading, if it has had its time. A handler
// that works on its requests ends with the connection's context.
//
// A look goes over all connections. Where a thousand readers of one origin are short of memory, one of them looks and the others
// wait for what it frees, or they would spend the processor on looking.
func (s *Server) evictStuck(c *conn) {
	now := time.Now().UnixNano()
	next := c.claim.origin.nextLook.Load()
	if now < next || !c.claim.origin.nextLook.CompareAndSwap(next, now+int64(lookPause)) {
		return
	}
	patience := [...]time.Duration{reading: stuckTime, paused: stuckTime, waiting: waitTime, working: waitTime}
	if s.budget.waiting.Load() >= crowdMin {
		patience[working] = stuckTime
	}
	victim := s.slowest(c, func(cl *claim) (time.Duration, bool) {
		return patience[cl.state.Load()], cl.held.Load() > 0
	})
	if victim != nil {
		s.evict(victim)
	}
}

// slowest returns the connection, other than c, whose progress was noted the longest ago among those that may be closed: judge says which, and
// how long they may stand still.
func (s *Server) slowest(c *conn, judge func(*claim) (patience time.Duration, ok bool)) *conn {
	now := time.Now().UnixNano()
	oldest := now + 1
	var victim *conn
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.mu.conns {
		cl := &v.claim
		since := cl.progress.Load()
		if v == c || since >= oldest || cl.evicted.Load() {
			continue
		}
		if patience, ok := judge(cl); ok && now-since >= int64(patience) {
			victim, oldest = v, since
		}
	}
	return victim
}

// evict closes v for its memory. What it holds as unfinished is free at once; the memory itself, when its reader ends.
func (s *Server) evict(v *conn) {
	if !v.claim.evicted.CompareAndSwap(false, true) {
		return
	}
	s.budget.unhold(v.claim.origin, v.claim.unfinished.Swap(0))
	v.cancel()
	s.wg.Go(v.cut) // closing waits for a read under way
}
