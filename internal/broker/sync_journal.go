package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// commits is what only the gathering goroutine uses.
type commits struct {
	last  int // how many partitions were gathered the last time
	group journal.Group
	tails []taken
}

// taken is a partition's tail on its way into the journal.
type taken struct {
	partition *partition.Partition
	tail      log.Tail
	asked     int
}

// commit makes partitions durable together, in as few frames as hold them. Those that a journal does not suit go to the workers.
func (s *syncer) commit(j *journal.Journal, batch []*partition.Partition) {
	c := &s.commits
	c.group.Reset()
	for _, p := range batch {
		asked := s.begin(p)
		tail, ok := p.TakeTail()
		if ok && tail.Len <= largeBytes && !c.group.Fits(p.Dir(), tail.Len) {
			s.write(j)
		}
		if !ok || !s.add(taken{p, tail, asked}) {
			s.again(p, asked)
		}
	}
	s.write(j)
}

// add puts a tail into the group; false if its file is to be synced.
func (s *syncer) add(t taken) bool {
	c, p := &s.commits, t.partition
	if t.tail.Len > largeBytes {
		p.Journaled(t.tail, false)
		return false
	}
	e := journal.Entry{Key: journal.Key{Dir: p.Dir(), Topic: p.ID().TopicID}, Base: t.tail.Base, Pos: t.tail.Pos, End: t.tail.End}
	if err := c.group.Add(e, t.tail.Len, t.tail, settler{p, s}); err != nil {
		p.Journaled(t.tail, false) // its own sync will tell
		return false
	}
	c.tails = append(c.tails, t)
	return true
}

// again has the workers sync p for the askers that begin took.
func (s *syncer) again(p *partition.Partition, asked int) {
	s.mu.Lock()
	r := s.mu.asked[p]
	r.asked += asked
	r.began = time.Time{}
	s.mu.Unlock()
	s.direct(p)
}

// write commits the group and empties it.
func (s *syncer) write(j *journal.Journal) {
	c := &s.commits
	if c.group.Count() == 0 {
		return
	}
	began := s.clock()
	err := j.Commit(&c.group)
	files := errors.Is(err, journal.ErrFull) || errors.Is(err, journal.ErrOff)
	if errors.Is(err, journal.ErrOff) {
		s.journal.Store(nil)
	}
	asked := 0
	for _, t := range c.tails {
		asked += t.asked
		t.partition.Journaled(t.tail, err == nil)
		if files {
			s.again(t.partition, t.asked)
		} else {
			s.give(t.partition)
		}
	}
	if !files {
		s.note(began, asked, err)
	}
	if err != nil && !files { // final, whatever it says: want of room at a sync too
		s.failed(c.tails[0].partition, fmt.Errorf("%w: %w", log.ErrFailed, err))
	}
	clear(c.tails)
	c.tails = c.tails[:0]
	c.group.Reset()
}

// settler syncs the file of a partition behind the journal.
type settler struct {
	partition *partition.Partition
	syncer    *syncer
}

// Settle implements journal.Owner.
func (b settler) Settle() error {
	if b.partition.Unsynced() == 0 {
		return nil // synced since
	}
	began := b.syncer.clock()
	err := b.partition.Settle()
	b.syncer.note(began, 0, err)
	return err
}
