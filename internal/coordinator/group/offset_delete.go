package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// deleteOffsets is OffsetDelete (OffsetMetadataManager.deleteOffsets).
func (m *Machine) deleteOffsets(now time.Time, in DeleteOffsets) {
	g := m.find(in.Group)
	if err := checkDeleteOffsets(in.Group, g); err != nil {
		m.out.Retractable = true
		m.answerAfter(in.Token, DeleteOffsetsResult{Err: err}, m.shown(g))
		return
	}
	r := removal{token: in.Token, group: in.Group, wait: g.written}
	result := DeleteOffsetsResult{Topics: make([]DeletedTopic, 0, len(in.Topics))}
	for _, t := range in.Topics {
		deleted := DeletedTopic{Topic: t.Topic, Partitions: make([]DeletedPartition, len(t.Partitions))}
		subscribed := g.subscribes(t.Topic)
		for i, p := range t.Partitions {
			to := &deleted.Partitions[i]
			to.Partition, to.Old = p, -1
			if subscribed {
				to.Err = kerr.GroupSubscribedToTopic
			} else if c := g.offsets.Get(t.Topic, p); c != nil {
				to.Old = c.Offset
				r.todo = append(r.todo, place{t.Topic, p})
			}
		}
		result.Topics = append(result.Topics, deleted)
	}
	r.result = result
	m.remove(now, r)
}

// checkDeleteOffsets says why offsets of g may not be deleted (ClassicGroup.validateOffsetDelete; a next-generation group's always may).
func checkDeleteOffsets(id string, g *group) error {
	if err := checkGroupID(id); err != nil {
		return err
	}
	switch {
	case g == nil:
		return kerr.GroupIDNotFound
	case g.classic != nil && g.state() != stateEmpty && g.classic.protocolType() != consumerProtocol:
		return kerr.NonEmptyGroup
	}
	return nil
}
