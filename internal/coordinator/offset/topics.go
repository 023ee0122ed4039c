package offset

import (
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Topics are the topics that some set has offsets of. The zero Topics has none.
type Topics struct{ uses map[string]*use }

// use is one of them.
type use struct {
	name string // the one copy that all runs have
	runs int
	more *more // the last one, which the next is likely to be like
}

// Has reports whether some set has offsets of a topic.
func (t *Topics) Has(name string) bool { return t.uses[name] != nil }

// Len is how many topics there are.
func (t *Topics) Len() int { return len(t.uses) }

// Apply takes the record of a committed offset, or its tombstone, into the set of its group. A record that a transaction committed may come
// after one that follows it in the log: the newest in the log counts, as in Kafka (OffsetMetadataManager.replayEndTransactionMarker).
func (t *Topics) Apply(s *Set, at batch.Offset, e record.Offset) {
	if e.Value == nil {
		t.drop(s, e.Topic, e.Partition, at)
		return
	}
	t.put(s, e.Topic, Committed{
		Offset: e.Value.Offset, Logged: at, At: e.Value.Committed, Metadata: e.Value.Metadata, Epoch: e.Value.LeaderEpoch, Partition: e.Partition,
	}, more{topicID: e.Value.TopicID, expires: e.Value.Expires})
}

// put sets an offset, unless a newer record has.
func (t *Topics) put(s *Set, name string, c Committed, extra more) {
	i, ok := s.search(name, c.Partition)
	if !ok {
		u := t.used(name)
		u.runs++
		s.runs = slices.Insert(s.runs, i, &run{topic: u.name, part: c.Partition / runSize})
	}
	r := s.runs[i]
	c.more = t.shared(name, extra)
	j, ok := r.search(c.Partition)
	if near := max(j-1, 0); near < len(r.list) && r.list[near].Metadata == c.Metadata {
		c.Metadata = r.list[near].Metadata // one copy: a member commits all of its partitions with the same
	}
	switch {
	case !ok:
		r.insert(j, c)
		s.count++
	case r.list[j].Logged <= c.Logged:
		r.list[j] = c
	}
}

// drop removes an offset, unless it was committed after at.
func (t *Topics) drop(s *Set, name string, partition int32, at batch.Offset) {
	i, ok := s.search(name, partition)
	if !ok {
		return
	}
	r := s.runs[i]
	j, ok := r.search(partition)
	if !ok || r.list[j].Logged > at {
		return
	}
	r.list = slices.Delete(r.list, j, j+1)
	s.count--
	if len(r.list) > 0 {
		return
	}
	s.runs = slices.Delete(s.runs, i, i+1)
	u := t.uses[name]
	if u.runs--; u.runs == 0 {
		delete(t.uses, name)
	}
}

// used is the topic of that name, which is about to be used.
func (t *Topics) used(name string) *use {
	u := t.uses[name]
	if u == nil {
		if t.uses == nil {
			t.uses = make(map[string]*use)
		}
		u = &use{name: name}
		t.uses[name] = u
	}
	return u
}

// shared is extra in a place that it shares with others.
func (t *Topics) shared(name string, extra more) *more {
	if extra == noMore {
		return nil
	}
	u := t.uses[name]
	if u.more == nil || *u.more != extra {
		fresh := extra // not the parameter, which would be allocated at each call
		u.more = &fresh
	}
	return u.more
}
