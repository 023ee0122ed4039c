package group

import (
	"maps"
	"slices"
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/offset"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// sweep looks at all groups, some in each step, for offsets that go: they are too old (KIP-211), or their topic was deleted.
type sweep struct {
	running, again bool
	// full is when the next sweep is due that also looks for topics that nobody saw being deleted; others do not (urgent).
	full   time.Time
	urgent bool
	todo   []string // the groups to look at yet
	// left is how many offsets the first of todo had when a step ended at it. If it has as many when the next begins, the records of the
	// last step were lost, and the group waits for the next sweep.
	left int
	// deleted are topics that were seen to be deleted and that this sweep, or the next, removes the offsets of.
	deleted map[string][]deletedTopic
}

// deletedTopic is a topic that was deleted when the log ended at before.
type deletedTopic struct {
	id     topic.ID
	before batch.Offset
}

// expire begins a sweep, or goes on with it (GroupCoordinatorShard.cleanupGroupMetadata). It changes nothing that matters but by its records:
// what they would have removed, the next sweep finds again.
func (m *Machine) expire(now time.Time) {
	m.out.Retractable = true
	s := &m.sweep
	if !s.running {
		s.running, s.again, s.left = true, false, 0
		s.urgent = s.full.IsZero() || now.Before(s.full)
		s.todo = slices.Sorted(maps.Keys(m.groups))
	}
	var b budget
	for ; len(s.todo) > 0; s.todo = s.todo[1:] {
		if b.visits > visitMax || !m.sweepGroup(now, &b, s.todo[0]) {
			m.timers.set(timer{kind: expireOffsets}, now.Add(removePause))
			return
		}
	}
	s.running, s.todo = false, nil
	if s.again {
		m.timers.set(timer{kind: expireOffsets}, now.Add(removePause))
		return
	}
	s.deleted = nil
	m.expireLater(now)
}

// expireLater arms the next full sweep.
func (m *Machine) expireLater(now time.Time) {
	if m.opts.RetentionInterval <= 0 {
		return
	}
	if s := &m.sweep; !s.urgent {
		s.full = now.Add(m.opts.RetentionInterval)
	}
	m.timers.set(timer{kind: expireOffsets}, m.sweep.full)
}

// sweepGroup emits the tombstones of a group's offsets that go, and, in a full sweep, of the group if it is empty and nothing is left of it
// (OffsetMetadataManager.cleanupExpiredOffsets, GroupMetadataManager.maybeDeleteGroup). It reports whether it is done with the group.
func (m *Machine) sweepGroup(now time.Time, b *budget, id string) bool {
	g := m.find(id)
	b.visits++
	if g == nil || m.removals[id] != nil {
		return true
	}
	if g.offsets.Len() > 0 && m.sweep.left == g.offsets.Len() {
		m.sweep.left = 0
		return true
	}
	m.sweep.left = 0
	old, before := m.oldOffsets(now, g), b.records
	all, topicName, gone := !old.never, "", judge{}
	for name, c := range g.offsets.All() {
		b.visits++
		if name != topicName {
			topicName, gone = name, m.judgeTopic(g, name)
		}
		switch {
		case !gone.deleted(m, c) && (gone.subscribed || !old.has(c)):
			all = false
		case !m.tombstone(b, id, name, c.Partition):
			if b.records > before {
				m.sweep.left = g.offsets.Len()
			}
			return false
		}
	}
	if all && g.idle() && !m.sweep.urgent { // as in Kafka, the group itself goes at the next full sweep
		return m.removeWithin(b, g)
	}
	return true
}

// idle reports whether a group has no members and expects none, so that it may go with its last offset. Kafka lets it go also while member
// ids are given out that nobody has joined with yet (KIP-394), who then have to ask again.
func (g *group) idle() bool {
	return g.state() == stateEmpty && (g.classic == nil || g.classic.pending.len() == 0)
}

// judge is what is known of a topic and its group.
type judge struct {
	subscribed bool
	was        []deletedTopic
}

func (m *Machine) judgeTopic(g *group, name string) judge {
	return judge{subscribed: g.subscribes(name), was: m.sweep.deleted[name]}
}

// deleted reports whether c's topic is: it was seen to be deleted, or there is none with its id. An offset without an id goes only if
// the deletion was seen. An image may be older than the log when a machine is new, so nothing goes before the first sweep, an interval later.
func (j judge) deleted(m *Machine, c *offset.Committed) bool {
	id := c.TopicID()
	for _, was := range j.was {
		if id == was.id || id == (topic.ID{}) && c.Logged < was.before {
			return true
		}
	}
	return !m.sweep.urgent && m.image != nil && id != (topic.ID{}) && m.image.TopicByID(id) == nil
}

// oldOffsets says which offsets of a group are too old, if no member subscribes to their topic (KIP-211, OffsetExpirationConditionImpl).
type oldOffsets struct {
	now, since int64 // ms: offsets from before since are old
	empty      *int64
	never      bool
}

// oldOffsets is the rule for g: a group with members of some other protocol, or amid a rebalance, loses none; an empty classic one loses
// all when it was empty for the retention; all others lose what was committed before (ClassicGroup.offsetExpirationCondition).
func (m *Machine) oldOffsets(now time.Time, g *group) oldOffsets {
	ms := now.UnixMilli()
	old := oldOffsets{now: ms, since: ms - m.opts.OffsetsRetention.Milliseconds()}
	if g.classic == nil || g.classic.protocolType() == "" {
		return old
	}
	switch g.state() {
	case stateEmpty:
		if at, ok := g.classic.emptySince(); ok {
			old.empty = &at
		}
	case stateStable:
		old.never = g.classic.protocolType() != consumerProtocol
	default:
		old.never = true
	}
	return old
}

func (o oldOffsets) has(c *offset.Committed) bool {
	switch expires := c.Expires(); {
	case o.never:
		return false
	case expires != -1:
		return o.now >= expires
	case o.empty != nil:
		return *o.empty <= o.since
	}
	return c.At <= o.since
}

// offsetImage looks for topics that were deleted, or made again under the same name: their offsets go soon.
func (m *Machine) offsetImage(now time.Time, old *meta.Image) {
	if old == nil || !m.live {
		return
	}
	found := false
	rest := m.image.Topics
	for _, t := range old.Topics {
		for len(rest) > 0 && rest[0].Name < t.Name {
			rest = rest[1:]
		}
		same := len(rest) > 0 && (rest[0] == t || rest[0].ID == t.ID)
		if same || !m.topics.Has(t.Name) {
			continue
		}
		if m.sweep.deleted == nil {
			m.sweep.deleted = make(map[string][]deletedTopic)
		}
		m.sweep.deleted[t.Name] = append(m.sweep.deleted[t.Name], deletedTopic{id: t.ID, before: m.applied})
		found = true
	}
	if !found {
		return
	}
	if m.sweep.running {
		m.sweep.again = true
		return
	}
	m.timers.set(timer{kind: expireOffsets}, now)
}
