package meta

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// AdoptedTopic is a topic whose partitions were found on disk without metadata. Epochs are the newest leader epoch in the log of each
// partition, or batch.NoEpoch.
type AdoptedTopic struct {
	Name   string
	ID     topic.ID
	Epochs []batch.Epoch
}

// AdoptTopic gives a topic that was found to the broker that found it. A topic that is known already is left as it is.
type AdoptTopic struct {
	Broker int32
	Topic  AdoptedTopic
}

func (c AdoptTopic) decide(s *State) ([]Record, struct{}, error) { //nolint:unparam // a Command has a result
	if err := topic.Check(c.Topic.Name); err != nil {
		return nil, struct{}{}, &RefusalError{Code: kerr.InvalidTopicException, Reason: err.Error()}
	}
	if s.topicNamed(c.Topic.Name) != nil || s.topicByID(c.Topic.ID) != nil {
		return nil, struct{}{}, nil
	}
	records := []Record{TopicRecord{Name: c.Topic.Name, ID: c.Topic.ID}}
	for i, epoch := range c.Topic.Epochs {
		p, err := s.assign(int32(i), []int32{c.Broker}, 1)
		if err != nil {
			return nil, struct{}{}, err
		}
		p.LeaderEpoch = epoch + 1
		records = append(records, PartitionRecord{Index: int32(i), TopicID: c.Topic.ID, Partition: p})
	}
	return records, struct{}{}, nil
}
