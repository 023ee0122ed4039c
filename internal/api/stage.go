package api

import (
	"time"

	"github.com/ottla-io/ottla/internal/partition"
)

// stage is what the requests of one run share: the batches that they append, by partition.
type stage struct {
	now    time.Time
	groups []group // in the order in which partitions were first named
	places map[*partition.Partition]int
}

// group is the batches of one partition in the order of their requests.
type group struct {
	partition *partition.Partition
	batches   []*partition.Produce
}

// add puts a batch at the end of its partition's group.
func (s *stage) add(p *partition.Partition, b *partition.Produce) {
	at, ok := s.places[p]
	if !ok {
		at = len(s.groups)
		s.places[p] = at
		s.groups = s.next()
		s.groups[at].partition = p
	}
	s.groups[at].batches = append(s.groups[at].batches, b)
}

// next is s.groups with one more group, whose memory is used again.
func (s *stage) next() []group {
	if n := len(s.groups); n < cap(s.groups) {
		return s.groups[:n+1]
	}
	return append(s.groups, group{})
}

// append gives each partition its batches, in one call, and lets go of their records, which are the connection's.
func (s *stage) append(seen Observer) {
	for i := range s.groups {
		g := &s.groups[i]
		g.partition.Append(s.now, g.batches)
		var batches, records, bytes int
		for _, b := range g.batches {
			b.Records = nil
			if b.Err == nil && !b.Duplicate {
				batches, records, bytes = batches+1, records+int(b.Count), bytes+b.Bytes
			}
		}
		if batches > 0 {
			seen.Produced(g.partition.ID().Topic, batches, records, bytes)
		}
	}
}

// reset empties the stage for the next run, keeping its memory.
func (s *stage) reset() {
	for i := range s.groups {
		g := &s.groups[i]
		clear(g.batches)
		g.partition, g.batches = nil, g.batches[:0]
	}
	s.groups = s.groups[:0]
	clear(s.places)
}
