package consumer

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Embedded is the protocol type of classic groups of consumers, whose members' metadata and assignments the coordinator can read.
const Embedded = "consumer"

// subscription is what a classic consumer's metadata says (Kafka's ConsumerProtocolSubscription).
type subscription struct{ kmsg.ConsumerMemberMetadata }

// readSubscription reads a member's metadata.
func readSubscription(metadata []byte) (subscription, error) {
	s := subscription{kmsg.NewConsumerMemberMetadata()}
	err := s.ReadFrom(metadata)
	return s, err //nolint:wrapcheck // the caller says whose it is
}

// names is the topics, ascending, each once.
func (s *subscription) names() []string {
	return slices.Compact(slices.Sorted(slices.Values(s.Topics)))
}

// owned is the partitions that the member says that it owns.
func (s *subscription) owned(x *Index) Partitions {
	var all []assignedPartition
	for _, t := range s.OwnedPartitions {
		all = append(all, x.named(t.Topic, t.Partitions, 0)...)
	}
	return partitionsOf(all, false)
}

// named is the partitions of a topic with that name that there are.
func (x *Index) named(name string, indexes []int32, epoch int32) []assignedPartition {
	t := x.topic(name)
	if t == nil {
		return nil
	}
	var all []assignedPartition
	for _, p := range indexes {
		if p >= 0 && int(p) < len(t.Partitions) {
			all = append(all, assignedPartition{TopicPartition{t.ID, p}, epoch})
		}
	}
	return all
}

// assignmentMax is the newest version of a classic consumer's assignment; all are alike.
const assignmentMax = 3

// Assignment is ps as a classic consumer takes it (Kafka's ConsumerProtocolAssignment), in the version of its metadata. Topics that are not there any
// more are left out.
func (x *Index) Assignment(ps Partitions, metadata []byte) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	if len(metadata) >= 2 {
		a.Version = max(min(int16(binary.BigEndian.Uint16(metadata)), assignmentMax), 0) //nolint:gosec // its bits
	}
	for _, t := range ps {
		if x.image == nil || x.image.TopicByID(t.Topic) == nil {
			continue
		}
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: x.image.TopicByID(t.Topic).Name, Partitions: t.Partitions})
	}
	return a.AppendTo(nil)
}
