package group

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/offset"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Surveyed is what metrics show of a group.
type Surveyed struct {
	Listed
	Members int
	// Topics are where it has committed, by name.
	Topics []SurveyedTopic
}

// SurveyedTopic are the committed offsets of one topic, by partition.
type SurveyedTopic struct {
	Topic   string
	Offsets []SurveyedOffset
}

// SurveyedOffset is one committed offset.
type SurveyedOffset struct {
	Partition int32
	Offset    batch.Offset
}

// IDs are the ids of all groups, in order.
func (m *Machine) IDs() []string { return slices.Sorted(maps.Keys(m.groups)) }

// Has reports whether there is such a group.
func (m *Machine) Has(id string) bool { return m.groups[id] != nil }

// Survey is a question that changes nothing, and is no Input: nothing waits for what it shows to be committed. It is false of a group that is
// not there. It takes time for each offset of the group.
func (m *Machine) Survey(id string) (Surveyed, bool) {
	g := m.groups[id]
	if g == nil {
		return Surveyed{}, false
	}
	return Surveyed{Listed: g.listed(), Members: g.members(), Topics: survey(&g.offsets)}, true
}

// survey copies what metrics show of the offsets.
func survey(s *offset.Set) []SurveyedTopic {
	all := make([]SurveyedOffset, 0, s.Len())
	var topics []SurveyedTopic
	for name, c := range s.All() {
		if n := len(topics); n == 0 || topics[n-1].Topic != name {
			topics = append(topics, SurveyedTopic{Topic: name})
		}
		all = append(all, SurveyedOffset{c.Partition, c.Offset})
		last := &topics[len(topics)-1]
		last.Offsets = all[len(all)-len(last.Offsets)-1 : len(all) : len(all)]
	}
	return topics
}
