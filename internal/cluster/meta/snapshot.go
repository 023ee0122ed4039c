package meta

import (
	"cmp"
	"maps"
	"slices"
)

// Snapshot is the records that lead from New to this state, in an order that depends on the state alone. A restore applies them to
// a New state. The open transaction, if any, is not in it.
func (s *State) Snapshot() []Record {
	image := s.Image()
	producers := s.nextProducerID
	if s.begun != nil {
		producers = s.begun.nextProducerID
	}
	var records []Record
	for _, f := range image.Features {
		records = append(records, FeatureLevelRecord{Feature: f})
	}
	for _, b := range image.Brokers {
		records = append(records, RegisterBrokerRecord{Broker: b})
	}
	for _, t := range image.Topics {
		records = append(records, TopicRecord{Name: t.Name, ID: t.ID})
		for i, p := range t.Partitions {
			records = append(records, PartitionRecord{Index: int32(i), TopicID: t.ID, Partition: p})
		}
	}
	records = append(records, configRecords(image)...)
	if producers > 0 {
		records = append(records, ProducerIDsRecord{Broker: -1, Epoch: -1, Next: producers})
	}
	return records
}

func configRecords(image *Image) []Record {
	resources := make([]Resource, 0, image.configs.Len())
	for r := range image.Configs() {
		resources = append(resources, r)
	}
	slices.SortFunc(resources, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	var records []Record
	for _, r := range resources {
		configs := image.Config(r)
		for _, name := range slices.Sorted(maps.Keys(configs)) {
			records = append(records, ConfigRecord{Resource: r, Name: name, Value: new(configs[name])})
		}
	}
	return records
}
