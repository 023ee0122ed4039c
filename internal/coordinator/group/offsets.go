package group

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// offsets are what a group has committed, by topic and partition. They are kept in short sorted runs, and the runs in a sorted list: a group
// of one offset takes little, a group of a million takes no more for each, and they are always walked in the same order.
type offsets struct {
	runs  []*run
	count int
}

// runSize is how many partitions, at most, a run covers: those with the same quotient.
const runSize = 32

// run is the offsets of some neighbouring partitions of a topic.
type run struct {
	topic string
	part  int32 // partition / runSize
	list  []committed
}

// committed is one committed offset: 56 bytes, since there may be millions. What groups and topics share is shared.
type committed struct {
	offset   batch.Offset
	logged   batch.Offset // of the record
	at       int64        // when, in ms
	metadata string
	more     *more // nil: neither
	epoch    batch.Epoch
	part     int32 // the partition
}

// more is what many offsets have in common. It is never written.
type more struct {
	topicID topic.ID
	expires int64 // ms; -1: by the broker's retention
}

var noMore = more{expires: -1}

// extra is c's more, which may be read only.
func (c *committed) extra() *more {
	if c.more == nil {
		return &noMore
	}
	return c.more
}

// topicUse is a topic that some group has offsets of.
type topicUse struct {
	name string // the one copy that all runs have
	runs int
	more *more // the last one, which the next is likely to be like
}

func (o *offsets) empty() bool { return o.count == 0 }

// search finds the run that partition belongs to.
func (o *offsets) search(name string, partition int32) (int, bool) {
	return slices.BinarySearchFunc(o.runs, partition/runSize, func(r *run, part int32) int {
		if by := strings.Compare(r.topic, name); by != 0 {
			return by
		}
		return cmp.Compare(r.part, part)
	})
}

func (r *run) search(partition int32) (int, bool) {
	return slices.BinarySearchFunc(r.list, partition, func(c committed, p int32) int { return cmp.Compare(c.part, p) })
}

// get is what is committed for a partition, or nil. It is valid until the next Apply.
func (o *offsets) get(name string, partition int32) *committed {
	i, ok := o.search(name, partition)
	if !ok {
		return nil
	}
	j, ok := o.runs[i].search(partition)
	if !ok {
		return nil
	}
	return &o.runs[i].list[j]
}

// all yields every offset, by topic and partition.
func (o *offsets) all() iter.Seq2[string, *committed] {
	return func(yield func(string, *committed) bool) {
		for _, r := range o.runs {
			for i := range r.list {
				if !yield(r.topic, &r.list[i]) {
					return
				}
			}
		}
	}
}

// applyOffset takes in a committed offset or its tombstone. One that a transaction committed may come after a record that follows it in
// the log: the newest record counts, as in Kafka (OffsetMetadataManager.replayEndTransactionMarker).
func (m *Machine) applyOffset(at batch.Offset, e record.Offset) {
	if e.Value == nil {
		if g := m.find(e.Group); g != nil {
			m.drop(g, e.Topic, e.Partition, at)
			m.forgetIfGone(g)
		}
		return
	}
	m.put(m.ensure(e.Group), e.Topic, committed{
		offset: e.Value.Offset, logged: at, at: e.Value.Committed, metadata: e.Value.Metadata, epoch: e.Value.LeaderEpoch, part: e.Partition,
	}, more{topicID: e.Value.TopicID, expires: e.Value.Expires})
}

// put sets an offset of g, unless a newer record has.
func (m *Machine) put(g *group, name string, c committed, extra more) {
	o := &g.offsets
	i, ok := o.search(name, c.part)
	if !ok {
		use := m.topics[name]
		if use == nil {
			use = &topicUse{name: name}
			m.topics[name] = use
		}
		use.runs++
		o.runs = slices.Insert(o.runs, i, &run{topic: use.name, part: c.part / runSize})
	}
	r := o.runs[i]
	c.more = m.shared(name, extra)
	j, ok := r.search(c.part)
	if near := max(j-1, 0); near < len(r.list) && r.list[near].metadata == c.metadata {
		c.metadata = r.list[near].metadata // one copy: a member commits all of its partitions with the same
	}
	switch {
	case !ok:
		r.insert(j, c)
		o.count++
	case r.list[j].logged <= c.logged:
		r.list[j] = c
	}
}

// shared is extra in a place that it shares with others.
func (m *Machine) shared(name string, extra more) *more {
	if extra == noMore {
		return nil
	}
	use := m.topics[name]
	if use.more == nil || *use.more != extra {
		fresh := extra // not the parameter, which would be allocated at each call
		use.more = &fresh
	}
	return use.more
}

// insert puts c at i, with room for little more than there is: most groups stay as they are.
func (r *run) insert(i int, c committed) {
	if n := len(r.list); n == cap(r.list) {
		room := n + max(n/2, 1)
		if n < runSize {
			room = min(room, runSize) // there may be more only where partitions are negative, in a log that nobody should have written
		}
		grown := make([]committed, n, room)
		copy(grown, r.list)
		r.list = grown
	}
	r.list = slices.Insert(r.list, i, c)
}

// drop removes an offset of g, unless it was committed after at.
func (m *Machine) drop(g *group, name string, partition int32, at batch.Offset) {
	o := &g.offsets
	i, ok := o.search(name, partition)
	if !ok {
		return
	}
	r := o.runs[i]
	j, ok := r.search(partition)
	if !ok || r.list[j].logged > at {
		return
	}
	r.list = slices.Delete(r.list, j, j+1)
	o.count--
	if len(r.list) > 0 {
		return
	}
	o.runs = slices.Delete(o.runs, i, i+1)
	use := m.topics[name]
	if use.runs--; use.runs == 0 {
		delete(m.topics, name)
	}
}
