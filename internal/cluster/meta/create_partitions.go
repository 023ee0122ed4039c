package meta

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// MorePartitions asks that a topic have Count partitions in all. Assignments, if any, are the replicas of each new one.
type MorePartitions struct {
	Topic       string
	Count       int32
	Assignments [][]int32
}

// CreatePartitions grows topics; each succeeds or fails by itself (Kafka's ReplicationControlManager.createPartitions). Internal topics are not
// grown: most groups and their offsets would not be found again.
type CreatePartitions struct {
	Topics        []MorePartitions
	ValidateOnly  bool
	PartitionsMax int // of the cluster; 0: any number
}

func (c CreatePartitions) decide(s *State) ([]Record, []TopicResult, error) {
	var records []Record
	results := make([]TopicResult, 0, len(c.Topics))
	twice := repeated(c.Topics, func(m MorePartitions) string { return m.Topic })
	room := s.partitionRoom(c.PartitionsMax)
	for _, m := range c.Topics {
		result := TopicResult{Name: m.Topic}
		var recs []Record
		if twice[m.Topic] {
			result.Err = errDuplicate
		} else {
			recs, result.Err = s.grow(m)
		}
		if result.Err == nil {
			if result.Err = room.take(len(recs)); result.Err != nil {
				recs = nil
			}
		}
		results = append(results, result)
		records = append(records, recs...)
		if err := tooMany(records); err != nil {
			return nil, nil, err
		}
	}
	if c.ValidateOnly {
		records = nil
	}
	return records, results, nil
}

func (s *State) grow(m MorePartitions) ([]Record, error) {
	t := s.topicNamed(m.Topic)
	if t == nil {
		return nil, &RefusalError{Code: kerr.UnknownTopicOrPartition}
	}
	if t.Internal {
		return nil, refuse(kerr.InvalidTopicException,
			"What topic %s has is found by hashes modulo the number of its partitions, which cannot be changed.", m.Topic)
	}
	have := int32(len(t.Partitions))
	if have == 0 {
		return nil, refuse(kerr.UnknownServerError, "Topic %s has no partitions to take the replication factor from.", m.Topic)
	}
	if m.Count == have {
		return nil, refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", have)
	}
	if m.Count < have {
		return nil, refuse(kerr.InvalidPartitions,
			"The topic %s currently has %d partition(s); %d would not be an increase.", m.Topic, have, m.Count)
	}
	more := m.Count - have
	if more > MaxRecords {
		return nil, refuse(kerr.PolicyViolation, "one request may create at most %d partitions, not %d", MaxRecords, more)
	}
	if m.Assignments != nil && len(m.Assignments) != int(more) {
		return nil, refuse(kerr.InvalidReplicaAssignment,
			"Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(m.Assignments))
	}
	factor := len(t.Partitions[0].Replicas)
	partitions, err := s.newPartitions(t.ID, have, more, factor, m.Assignments)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(partitions))
	for i, p := range partitions {
		records = append(records, PartitionRecord{Index: have + int32(i), TopicID: t.ID, Partition: p})
	}
	return records, nil
}

func (s *State) newPartitions(id topic.ID, first, count int32, factor int, byHand [][]int32) ([]Partition, error) {
	if byHand == nil {
		return s.spread(id, first, count, int16(factor))
	}
	partitions := make([]Partition, 0, len(byHand))
	for i, replicas := range byHand {
		p, err := s.assign(first+int32(i), replicas, factor)
		if err != nil {
			return nil, err
		}
		partitions = append(partitions, p)
	}
	return partitions, nil
}
