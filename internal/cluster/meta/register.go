package meta

import (
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/twmb/franz-go/pkg/kerr"
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
	// Unclean: the process before did not stop cleanly, so that records that nobody synced may be gone. The partitions it
	// leads get a new leader epoch, so that nobody takes what is written now for what was there before (KIP-320).
	Unclean bool
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
	return records, Registered{Epoch: epoch}, nil
}

// ElectLeaders gives every partition that Broker may lead and that has no live leader to it. It is decided in pieces: the answer
// says whether there is more.
type ElectLeaders struct {
	Broker int32
	// Renew gives the partitions that Broker leads a new leader epoch; those whose epoch was renewed are told by After.
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
	topics := s.publish().Topics
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
		lead, ok := s.brokers[p.Leader]
		has := p.Leader != NoLeader && ok && lead.serves()
		switch {
		case has && p.Leader == c.Broker && !c.Renew:
		case has && p.Leader != c.Broker:
		case !has && !slices.Contains(p.ISR, c.Broker) && !slices.Contains(p.ELR, c.Broker):
		default:
			records = append(records, c.change(t, i, p))
		}
	}
	return records
}

func (c ElectLeaders) change(t *Topic, i int, p Partition) Record {
	change := PartitionChangeRecord{Index: int32(i), TopicID: t.ID, Leader: c.Broker, Recovery: KeepRecovery}
	if !slices.Contains(p.ISR, c.Broker) {
		change.ISR = []int32{c.Broker}
	}
	return change
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
