package meta

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// RegisterBroker says that a broker process has come up and serves.
type RegisterBroker struct {
	ID          int32
	Incarnation [16]byte
	Rack        *string
	Endpoints   []Endpoint
	Directories [][16]byte
	Features    []FeatureRange
	// Offset is where the first record will be written; it becomes the broker's epoch, as in Kafka.
	Offset batch.Offset
	// Alone: there is no other broker, so those that the log knows are fenced.
	Alone bool
}

// Registered is the answer to RegisterBroker.
type Registered struct{ Epoch int64 }

func (c RegisterBroker) decide(s *State) ([]Record, Registered, error) {
	if c.ID < 0 {
		return nil, Registered{}, refuse(kerr.InvalidRequest, "broker id %d is negative", c.ID)
	}
	epoch := int64(c.Offset)
	records := []Record{RegisterBrokerRecord{
		Broker: Broker{
			ID: c.ID, Epoch: epoch, Rack: c.Rack, Incarnation: c.Incarnation,
			Endpoints: slices.Clone(c.Endpoints), Directories: slices.Clone(c.Directories),
		},
		Features: c.Features,
	}}
	if c.Alone {
		records = append(records, s.fenceOthers(c.ID)...)
	}
	return records, Registered{Epoch: epoch}, nil
}

// fenceOthers fences every broker but id.
func (s *State) fenceOthers(id int32) []Record {
	var records []Record
	for _, other := range s.liveBrokers() {
		if other != id {
			records = append(records, RegistrationChangeRecord{ID: other, Epoch: s.brokers[other].Epoch, Fenced: 1})
		}
	}
	return records
}

// ElectLeaders gives every partition that Broker may lead and that has no live leader to it. It is decided in pieces: the answer
// says whether there is more.
type ElectLeaders struct {
	Broker int32
	// Renew gives the partitions that Broker leads a new leader epoch. It is for the start after a crash: records that nobody synced may
	// be gone, and nobody shall take what is written now for what was there before (KIP-320).
	Renew bool
	// After is the last topic that an earlier piece did; empty at first.
	After string
}

// Elected says how far ElectLeaders came: Last is what to pass as After, and More whether there is anything left.
type Elected struct {
	Last string
	More bool
}

func (c ElectLeaders) decide(s *State) ([]Record, Elected, error) {
	if b, known := s.brokers[c.Broker]; !known || !b.serves() {
		return nil, Elected{}, refuse(kerr.BrokerIDNotRegistered, "broker %d is not registered, or it is fenced", c.Broker)
	}
	topics := s.Image().Topics
	from, _ := slices.BinarySearchFunc(topics, c.After, func(t *Topic, name string) int {
		if t.Name <= name && name != "" {
			return -1
		}
		return 1
	})
	var records []Record
	for i, t := range topics[from:] {
		if i > 0 && len(records)+len(t.Partitions) > MaxRecords {
			return records, Elected{Last: topics[from+i-1].Name, More: true}, nil
		}
		records = append(records, c.electIn(s, t)...)
	}
	return records, Elected{}, nil
}

func (c ElectLeaders) electIn(s *State, t *Topic) []Record {
	var records []Record
	for i, p := range t.Partitions {
		if leader := c.leaderOf(s, p); leader != KeepLeader {
			change := PartitionChangeRecord{Index: int32(i), TopicID: t.ID, Leader: leader, Recovery: KeepRecovery}
			if leader == c.Broker && !slices.Contains(p.ISR, c.Broker) {
				// From the ELR it comes into the ISR: nobody may be in both.
				change.ISR = []int32{c.Broker}
				change.ELR = without(p.ELR, c.Broker)
				change.LastKnownELR = []int32{}
			}
			records = append(records, change)
		}
	}
	return records
}

// without is list without id; never nil.
func without(list []int32, id int32) []int32 {
	return slices.DeleteFunc(append([]int32{}, list...), func(other int32) bool { return other == id })
}

// leaderOf is who shall lead p, or KeepLeader.
func (c ElectLeaders) leaderOf(s *State, p Partition) int32 {
	eligible := slices.Contains(p.ISR, c.Broker) || slices.Contains(p.ELR, c.Broker)
	switch {
	case s.brokers[p.Leader].serves() && p.Leader != NoLeader:
		if p.Leader == c.Broker && c.Renew {
			return c.Broker
		}
	case eligible:
		return c.Broker
	case p.Leader != NoLeader:
		return NoLeader
	}
	return KeepLeader
}

// SetFeatures finalizes feature levels that differ from what they are, in order.
type SetFeatures struct{ Features []Feature }

func (c SetFeatures) decide(s *State) ([]Record, struct{}, error) {
	var records []Record
	for _, f := range c.Features {
		if s.features[f.Name] != f.Level {
			records = append(records, FeatureLevelRecord{Feature: f})
		}
	}
	return records, struct{}{}, nil
}
