package group

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// embeddedSubscription is what a classic consumer's metadata says (Kafka's ConsumerProtocolSubscription).
type embeddedSubscription struct{ kmsg.ConsumerMemberMetadata }

// readSubscription reads a member's metadata.
func readSubscription(metadata []byte) (embeddedSubscription, error) {
	s := embeddedSubscription{kmsg.NewConsumerMemberMetadata()}
	err := s.ReadFrom(metadata)
	return s, err //nolint:wrapcheck // the caller says whose it is
}

// names is the topics, ascending, each once.
func (s *embeddedSubscription) names() []string {
	return slices.Compact(slices.Sorted(slices.Values(s.Topics)))
}

// owned is the partitions that the member says that it owns.
func (s *embeddedSubscription) owned(m *Machine) partitions {
	var all []assignedPartition
	for _, t := range s.OwnedPartitions {
		all = append(all, m.named(t.Topic, t.Partitions, 0)...)
	}
	return partitionsOf(all, false)
}

// writeAssignment is ps as a classic consumer takes it (Kafka's ConsumerProtocolAssignment), in the version of its metadata. Topics that are not
// there any more are left out.
func (m *Machine) writeAssignment(ps partitions, metadata []byte) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	if len(metadata) >= 2 {
		a.Version = min(int16(binary.BigEndian.Uint16(metadata)), kmsgAssignmentMax) //nolint:gosec // its bits
	}
	for _, t := range ps {
		if m.image == nil || m.image.TopicByID(t.Topic) == nil {
			continue
		}
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: m.image.TopicByID(t.Topic).Name, Partitions: t.Partitions})
	}
	return a.AppendTo(nil)
}

// kmsgAssignmentMax is the newest version of assignments; all are alike.
const kmsgAssignmentMax = 3
