package group

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Surveyed is what metrics show of a group.
type Surveyed struct {
	// State and Type are Kafka's words, as in Listed.
	Group, State, Type, ProtocolType string
	Members                          int
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
	s := Surveyed{Group: id, State: "Empty", Type: "classic"}
	switch {
	case g.consumer != nil:
		s.State, s.Type, s.ProtocolType = g.consumer.state(), "consumer", "consumer"
	case g.classic != nil:
		s.State, s.ProtocolType = g.classic.state(), g.classic.protocolType()
	}
	return s, true
}
