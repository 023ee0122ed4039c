package broker

import (
	"sync"
	"time"

	"github.com/ottla-io/ottla/internal/partition"
)

// syncer makes dirty partitions durable. A partition stands in it once, however often it asks; while it is synced, what it asks
// for gathers for the next time. So syncs are shared by all who wait, and what waits here is bounded by the partitions.
type syncer struct {
	clock  func() time.Time
	onSync func(Sync)
	failed func(*partition.Partition, error)

	mu struct {
		sync.Mutex
		more    sync.Cond
		queue   []*partition.Partition // first come, first synced
		asked   map[*partition.Partition]*request
		stopped bool
		syncs   int64
		covered int64
	}
}

// request is a partition's place in the syncer.
type request struct {
	asked int // how often it asked since the last sync began
}

func newSyncer(clock func() time.Time, onSync func(Sync), failed func(*partition.Partition, error)) *syncer {
	s := &syncer{clock: clock, onSync: onSync, failed: failed}
	s.mu.more.L = &s.mu.Mutex
	s.mu.asked = map[*partition.Partition]*request{}
	return s
}

// Dirty asks for a sync of p. It never blocks for long.
func (s *syncer) Dirty(p *partition.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.asked[p]
	if r == nil {
		r = &request{}
		s.mu.asked[p] = r
		s.mu.queue = append(s.mu.queue, p)
		s.mu.more.Signal()
	}
	r.asked++
}

// work syncs partitions until stop, and then what is left.
func (s *syncer) work() {
	for {
		p, asked := s.take()
		if p == nil {
			return
		}
		began := s.clock()
		err := p.Sync()
		if s.onSync != nil {
			s.onSync(Sync{Took: s.clock().Sub(began), Asked: asked, Err: err})
		}
		s.give(p, asked)
		if err != nil {
			s.failed(p, err)
		}
	}
}

// take waits for a dirty partition; nil when the syncer was stopped and has none left.
func (s *syncer) take() (p *partition.Partition, asked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.queue) == 0 {
		if s.mu.stopped {
			return nil, 0
		}
		s.mu.more.Wait()
	}
	p = s.mu.queue[0]
	s.mu.queue[0] = nil
	s.mu.queue = s.mu.queue[1:]
	r := s.mu.asked[p]
	asked, r.asked = r.asked, 0
	return p, asked
}

// give ends a sync of p; if it asked meanwhile, it stands in line again.
func (s *syncer) give(p *partition.Partition, asked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.syncs++
	s.mu.covered += int64(asked)
	r := s.mu.asked[p]
	if r.asked == 0 {
		delete(s.mu.asked, p)
		return
	}
	s.mu.queue = append(s.mu.queue, p)
	s.mu.more.Signal()
}

// stop makes the workers end once nothing is left.
func (s *syncer) stop() {
	s.mu.Lock()
	s.mu.stopped = true
	s.mu.more.Broadcast()
	s.mu.Unlock()
}

func (s *syncer) figures() (syncs, covered int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.syncs, s.mu.covered
}
