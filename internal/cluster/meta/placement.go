package meta

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// unassigned is the directory of a replica whose broker chooses (Kafka's DirectoryId.UNASSIGNED).
var unassigned = [16]byte{15: 1}

// spread places count partitions of topic id, the first with index first, round the brokers that serve. It begins at a broker that the
// (random) id says, so that topics of one partition do not all meet on one broker.
func (s *State) spread(id topic.ID, first, count int32, factor int16) ([]Partition, error) {
	live, fenced := s.liveBrokers(), s.fencedBrokers()
	if len(live) == 0 {
		return nil, refuse(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): All brokers are currently fenced.", factor)
	}
	if int(factor) > len(s.brokers) {
		return nil, refuse(kerr.InvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered.",
			factor, factor, len(s.brokers))
	}
	start := int(binary.BigEndian.Uint32(id[12:]) >> 1)
	partitions := make([]Partition, 0, count)
	for i := range int(count) {
		at := start + int(first) + i
		replicas := make([]int32, 0, factor)
		// Brokers that do not serve come last: the first replica is to lead.
		for j := range min(int(factor), len(live)) {
			replicas = append(replicas, live[(at+j)%len(live)])
		}
		for j := range int(factor) - len(replicas) {
			replicas = append(replicas, fenced[(at+j)%len(fenced)])
		}
		p, err := s.assign(first+int32(i), replicas, int(factor))
		if err != nil {
			return nil, err
		}
		partitions = append(partitions, p)
	}
	return partitions, nil
}

// assign makes a new partition of replicas, after checking them (Kafka's validateManualPartitionAssignment).
func (s *State) assign(index int32, replicas []int32, factor int) (Partition, error) {
	if len(replicas) == 0 {
		return Partition{}, refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	var isr []int32
	for i, id := range replicas {
		b, known := s.brokers[id]
		if !known {
			return Partition{}, refuse(kerr.InvalidReplicaAssignment,
				"The manual partition assignment includes broker %d, but no such broker is registered.", id)
		}
		if slices.Contains(replicas[:i], id) {
			return Partition{}, refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
		if b.serves() {
			isr = append(isr, id)
		}
	}
	if len(replicas) != factor {
		return Partition{}, refuse(kerr.InvalidReplicaAssignment,
			"The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).",
			len(replicas), factor)
	}
	if len(isr) == 0 {
		return Partition{}, refuse(kerr.InvalidReplicaAssignment,
			"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", index)
	}
	directories := make([][16]byte, len(replicas))
	for i, id := range replicas {
		directories[i] = s.directoryOf(id)
	}
	return Partition{Replicas: slices.Clone(replicas), ISR: isr, Leader: isr[0], Directories: directories}, nil
}

// directoryOf is the log directory a new replica goes to: the broker's only one, or its own choice.
func (s *State) directoryOf(id int32) [16]byte {
	if d := s.brokers[id].Directories; len(d) == 1 {
		return d[0]
	}
	return unassigned
}

func (b Broker) serves() bool { return !b.Fenced && !b.ShuttingDown }

func (s *State) liveBrokers() []int32 {
	return s.brokerIDs(func(b Broker) bool { return b.serves() })
}

func (s *State) fencedBrokers() []int32 {
	return s.brokerIDs(func(b Broker) bool { return !b.serves() })
}

// brokerIDs lists the brokers that want says yes to, by id.
func (s *State) brokerIDs(want func(Broker) bool) []int32 {
	var ids []int32
	for id, b := range s.brokers {
		if want(b) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
