package group

import (
	"maps"
	"slices"

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
	return Surveyed{Listed: g.listed(), Members: g.members(), Topics: g.offsets.survey()}, true
}

// survey copies what metrics show of the offsets.
func (o *offsets) survey() []SurveyedTopic {
	all := make([]SurveyedOffset, 0, o.count)
	var topics []SurveyedTopic
	from := 0
	for i, r := range o.runs {
		for j := range r.list {
			all = append(all, SurveyedOffset{r.list[j].part, r.list[j].offset})
		}
		if i+1 == len(o.runs) || o.runs[i+1].topic != r.topic {
			topics = append(topics, SurveyedTopic{r.topic, all[from:len(all):len(all)]})
			from = len(all)
		}
	}
	return topics
}
