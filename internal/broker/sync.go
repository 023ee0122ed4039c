package broker

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/storage/journal"
)

// syncer makes dirty partitions durable. A partition stands in it once, however often it asks; while it is synced, what it asks
// for gathers for the next time. So syncs are shared by all who wait, and what waits here is bounded by the partitions.
//
// One goroutine gathers those with little to sync: one alone is synced in its own file, several go to the journal together. The workers sync
// the files of the others. See docs/adr/0006-journal.md for where the line is.
type syncer struct {
	clock   func() time.Time
	onSync  func(Sync)
	failed  func(*partition.Partition, error)
	journal atomic.Pointer[journal.Journal] // nil: there is none

	commits commits

	mu struct {
		sync.Mutex
		gather  sync.Cond              // there is something in small, or the end
		more    sync.Cond              // there is something in direct, or the end
		small   []*partition.Partition // first come, first synced
		direct  []*partition.Partition
		asked   map[*partition.Partition]*request
		stopped bool // nothing new comes
		drained bool // nothing is gathered any more
		syncs   int64
		covered int64
	}
}

// request is a partition's place in the syncer.
type request struct {
	asked int       // how often it asked since the last sync began
	began time.Time // when the sync under way did; zero if none is
}

// largeBytes is how much of one partition is worth an fdatasync of its own, in bytes: writing it twice would cost more.
const largeBytes = 32 << 10

// manyPartitions is how many must be dirty, now and the time before, to go to the journal: those that ask while others are synced come in
// two halves. Fewer are synced at the same time by the workers.
const manyPartitions = 4

func newSyncer(clock func() time.Time, onSync func(Sync), failed func(*partition.Partition, error)) *syncer {
	s := &syncer{clock: clock, onSync: onSync, failed: failed}
	s.mu.gather.L, s.mu.more.L = &s.mu.Mutex, &s.mu.Mutex
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
		s.enqueueLocked(p)
	}
	r.asked++
}

func (s *syncer) enqueueLocked(p *partition.Partition) {
	if s.journal.Load() == nil || s.mu.drained || p.Pending() > largeBytes {
		s.mu.direct = append(s.mu.direct, p)
		s.mu.more.Signal()
		return
	}
	s.mu.small = append(s.mu.small, p)
	s.mu.gather.Signal()
}

// gather syncs what is small until stop, and then what is left of it.
func (s *syncer) gather() {
	for batch := s.takeSmall(nil); len(batch) > 0; batch = s.takeSmall(batch) {
		j := s.journal.Load()
		switch {
		case j == nil:
			s.direct(batch...)
		case len(batch)+s.commits.last >= manyPartitions:
			s.commit(j, batch)
		case len(batch) > 1 || batch[0].Pending() > largeBytes:
			s.direct(batch...)
		default:
			s.sync(batch[0])
		}
		s.commits.last = len(batch)
	}
}

// takeSmall waits for dirty partitions and takes all; none when the syncer was stopped and has none left. It uses the space of old.
func (s *syncer) takeSmall(old []*partition.Partition) []*partition.Partition {
	clear(old)
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.small) == 0 {
		if s.mu.stopped {
			s.mu.drained = true
			s.mu.more.Broadcast()
			return nil
		}
		s.mu.gather.Wait()
	}
	batch := s.mu.small
	s.mu.small = old[:0]
	return batch
}

// work syncs the files of partitions until stop, and then what is left.
func (s *syncer) work() {
	for p := s.takeDirect(); p != nil; p = s.takeDirect() {
		s.sync(p)
	}
}

// takeDirect waits for a partition whose file is to be synced; nil when the syncer was stopped and has none left.
func (s *syncer) takeDirect() *partition.Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.direct) == 0 {
		if s.mu.drained {
			return nil
		}
		s.mu.more.Wait()
	}
	p := s.mu.direct[0]
	s.mu.direct[0] = nil
	s.mu.direct = s.mu.direct[1:]
	return p
}

// direct has the workers sync the files of partitions that were taken to be gathered.
func (s *syncer) direct(batch ...*partition.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.direct = append(s.mu.direct, batch...)
	s.mu.more.Broadcast()
}

// sync syncs p's file.
func (s *syncer) sync(p *partition.Partition) {
	asked := s.begin(p)
	began := s.clock()
	err := p.Sync()
	s.note(began, asked, err)
	s.give(p)
	if err != nil {
		s.failed(p, err)
	}
}

// begin says how often p asked before the sync that begins now.
func (s *syncer) begin(p *partition.Partition) (asked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.asked[p]
	asked, r.asked = r.asked, 0
	r.began = s.clock()
	return asked
}

// stallMax is how long a sync may take before health reports it. Clients give a produce up after 30 s.
const stallMax = 10 * time.Second

// stalled is nil, or names a sync that does not end: the produces that wait for it are not answered.
func (s *syncer) stalled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, r := range s.mu.asked {
		if r.began.IsZero() {
			continue
		}
		if took := s.clock().Sub(r.began); took > stallMax {
			return fmt.Errorf("the sync of %s has not returned for %s: the disk hangs", p.ID(), took.Round(time.Second))
		}
	}
	return nil
}

// note counts an fsync.
func (s *syncer) note(began time.Time, asked int, err error) {
	if s.onSync != nil {
		s.onSync(Sync{Took: s.clock().Sub(began), Asked: asked, Err: err})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.syncs++
	s.mu.covered += int64(asked)
}

// give ends a sync of p; if it asked meanwhile, it stands in line again.
func (s *syncer) give(p *partition.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.asked[p]
	if r.asked == 0 {
		delete(s.mu.asked, p)
		return
	}
	r.began = time.Time{}
	s.enqueueLocked(p)
}

// stop makes the workers end once nothing is left.
func (s *syncer) stop() {
	s.mu.Lock()
	s.mu.stopped = true
	s.mu.gather.Broadcast()
	s.mu.Unlock()
}

func (s *syncer) figures() (syncs, covered int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.syncs, s.mu.covered
}
