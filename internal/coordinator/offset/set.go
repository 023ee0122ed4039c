package offset

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Set is what a group has committed. The zero Set is empty; Topics fills it. It is kept in short sorted runs, and the runs in a sorted list: a
// group of one offset takes little, a group of a million takes no more for each.
type Set struct {
	runs  []*run
	count int
}

// runSize is how many partitions, at most, a run covers: those with the same quotient.
const runSize = 32

// run is the offsets of some neighbouring partitions of a topic.
type run struct {
	topic string
	part  int32 // partition / runSize
	list  []Committed
}

// Committed is one committed offset: 56 bytes, since there may be millions. What groups and topics share is shared.
type Committed struct {
	Offset    batch.Offset
	Logged    batch.Offset // of the record
	At        int64        // when, in ms
	Metadata  string
	more      *more // nil: neither
	Epoch     batch.Epoch
	Partition int32
}

// more is what many offsets have in common. It is never written.
type more struct {
	topicID topic.ID
	expires int64 // ms; -1: by the broker's retention
}

var noMore = more{expires: -1}

func (c *Committed) extra() *more {
	if c.more == nil {
		return &noMore
	}
	return c.more
}

// TopicID is the id of the topic that it was committed for; zero: not known.
func (c *Committed) TopicID() topic.ID { return c.extra().topicID }

// Expires is when it goes, in ms, by its client's word; -1: the broker's retention says it.
func (c *Committed) Expires() int64 { return c.extra().expires }

// Of reports whether it was committed for the topic with that id, and not for a former one of the same name, as far as both are known.
func (c *Committed) Of(id topic.ID) bool {
	own := c.TopicID()
	return id == (topic.ID{}) || own == (topic.ID{}) || own == id
}

// Len is how many offsets there are.
func (s *Set) Len() int { return s.count }

// Get is what is committed for a partition, or nil. It may be read only, and until the set changes.
func (s *Set) Get(name string, partition int32) *Committed {
	i, ok := s.search(name, partition)
	if !ok {
		return nil
	}
	j, ok := s.runs[i].search(partition)
	if !ok {
		return nil
	}
	return &s.runs[i].list[j]
}

// All yields every offset with its topic, as Get does.
func (s *Set) All() iter.Seq2[string, *Committed] {
	return func(yield func(string, *Committed) bool) {
		for _, r := range s.runs {
			for i := range r.list {
				if !yield(r.topic, &r.list[i]) {
					return
				}
			}
		}
	}
}

// search finds the run that partition belongs to.
func (s *Set) search(name string, partition int32) (int, bool) {
	return slices.BinarySearchFunc(s.runs, partition/runSize, func(r *run, part int32) int {
		if by := strings.Compare(r.topic, name); by != 0 {
			return by
		}
		return cmp.Compare(r.part, part)
	})
}

func (r *run) search(partition int32) (int, bool) {
	return slices.BinarySearchFunc(r.list, partition, func(c Committed, p int32) int { return cmp.Compare(c.Partition, p) })
}

// insert puts c at i, with room for little more than there is: most groups stay as they are.
func (r *run) insert(i int, c Committed) {
	if n := len(r.list); n == cap(r.list) {
		room := n + max(n/2, 1)
		if n < runSize {
			room = min(room, runSize) // there may be more only where partitions are negative, in a log that nobody should have written
		}
		grown := make([]Committed, n, room)
		copy(grown, r.list)
		r.list = grown
	}
	r.list = slices.Insert(r.list, i, c)
}
