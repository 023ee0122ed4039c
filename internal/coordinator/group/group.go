package group

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/coordinator/offset"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// group is one group: what it has committed and, if it has members or had some, the state of its protocol. At most one of classic and
// consumer is set; with neither, it is a group of standalone consumers that only commit (Kafka's SimpleGroup: it lists as classic, Empty).
type group struct {
	id string
	// kept says that the group has committed before. It stays when its last offset goes, as in Kafka
	// (OffsetMetadataManager.replay makes a group for an offset, and removes none), until its own tombstone.
	kept     bool
	offsets  offset.Set
	classic  *classic
	consumer *consumer.Group
	// written is the end of the newest record of the group or its members (of its offsets, only of the one that made the group), which
	// the answers that show these wait for.
	written batch.Offset
}

// find is the group with that id, or nil.
func (m *Machine) find(id string) *group { return m.groups[id] }

// ensure is the group with that id, made if it is not there. Only Apply and steps that keep soft state make groups.
func (m *Machine) ensure(id string) *group {
	g := m.groups[id]
	if g == nil {
		g = &group{id: id}
		m.groups[id] = g
	}
	return g
}

// forgetIfGone removes a group of which nothing is left.
func (m *Machine) forgetIfGone(g *group) {
	if g.classic == nil && g.consumer == nil && g.offsets.Len() == 0 && !g.kept {
		delete(m.groups, g.id)
	}
}

// The words for the states of groups that both protocols have. None is Dead here: what Kafka calls so is not there.
const stateEmpty, stateStable = "Empty", "Stable"

// state is Kafka's word for the group's.
func (g *group) state() string {
	switch {
	case g.classic != nil:
		return g.classic.state()
	case g.consumer != nil:
		return g.consumer.State()
	}
	return stateEmpty
}

// subscribes reports whether a member may be subscribed to topic.
func (g *group) subscribes(topic string) bool {
	return g.classic != nil && g.classic.subscribes(topic) || g.consumer != nil && g.consumer.Subscribes(topic)
}

// members is how many the group has.
func (g *group) members() int {
	switch {
	case g.classic != nil:
		return len(g.classic.members)
	case g.consumer != nil:
		return g.consumer.Len()
	}
	return 0
}

// shown is what an answer waits for that shows g but not its offsets; nil: that there is none.
func (m *Machine) shown(g *group) batch.Offset {
	if g == nil {
		return m.removed
	}
	return g.written
}

// sorted is all groups by id.
func (m *Machine) sorted() []*group {
	all := make([]*group, 0, len(m.groups))
	for _, id := range slices.Sorted(maps.Keys(m.groups)) {
		all = append(all, m.groups[id])
	}
	return all
}

// wrote notes that a record of g at offset was applied.
func (g *group) wrote(offset batch.Offset) { g.written = max(g.written, offset+1) }
