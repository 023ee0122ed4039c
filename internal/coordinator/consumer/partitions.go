package consumer

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// TopicPartition is one partition.
type TopicPartition struct {
	Topic     topic.ID
	Partition int32
}

func (p TopicPartition) compare(q TopicPartition) int {
	return cmp.Or(bytes.Compare(p.Topic[:], q.Topic[:]), cmp.Compare(p.Partition, q.Partition))
}

// Partitions is a set of partitions: by topic id, each topic's ascending, none empty. Those that are assigned have the epoch of their assignment
// beside them (KIP-1251); other sets have no epochs. A set is never written after it was made.
type Partitions []record.TopicPartitions

// assignedPartition is a partition and the member epoch at which it was assigned.
type assignedPartition struct {
	TopicPartition
	epoch int32
}

// Of is list as a set without epochs, whatever its order.
func Of(list []record.TopicPartitions) Partitions {
	return partitionsOf(flatten(list, 0), false)
}

// orderedWithEpochs is list as a set with epochs; epoch is that of partitions which have none (records of Kafka before 4.3).
func orderedWithEpochs(list []record.TopicPartitions, epoch int32) Partitions {
	return partitionsOf(flatten(list, max(epoch, 0)), true)
}

func flatten(list []record.TopicPartitions, epoch int32) []assignedPartition {
	var all []assignedPartition
	for _, t := range list {
		for i, p := range t.Partitions {
			a := assignedPartition{TopicPartition{t.Topic, p}, epoch}
			if len(t.Epochs) == len(t.Partitions) {
				a.epoch = t.Epochs[i]
			}
			all = append(all, a)
		}
	}
	return all
}

// partitionsOf is the set of all, which it sorts; of a partition that is there twice, the first counts.
func partitionsOf(all []assignedPartition, epochs bool) Partitions {
	slices.SortStableFunc(all, func(a, b assignedPartition) int { return a.compare(b.TopicPartition) })
	all = slices.CompactFunc(all, func(a, b assignedPartition) bool { return a.TopicPartition == b.TopicPartition })
	var set Partitions
	for _, a := range all {
		if n := len(set); n == 0 || set[n-1].Topic != a.Topic {
			set = append(set, record.TopicPartitions{Topic: a.Topic})
		}
		t := &set[len(set)-1]
		t.Partitions = append(t.Partitions, a.Partition)
		if epochs {
			t.Epochs = append(t.Epochs, a.epoch)
		}
	}
	return set
}

// All yields each partition with its epoch, in order.
func (ps Partitions) All() iter.Seq2[TopicPartition, int32] {
	return func(yield func(TopicPartition, int32) bool) {
		for _, t := range ps {
			for i, p := range t.Partitions {
				var epoch int32
				if t.Epochs != nil {
					epoch = t.Epochs[i]
				}
				if !yield(TopicPartition{t.Topic, p}, epoch) {
					return
				}
			}
		}
	}
}

// epoch is that of p's assignment; false if p is not in the set.
func (ps Partitions) epoch(p TopicPartition) (int32, bool) {
	i, ok := slices.BinarySearchFunc(ps, p.Topic, func(t record.TopicPartitions, id topic.ID) int { return bytes.Compare(t.Topic[:], id[:]) })
	if !ok {
		return 0, false
	}
	j, ok := slices.BinarySearch(ps[i].Partitions, p.Partition)
	if !ok || ps[i].Epochs == nil {
		return 0, ok
	}
	return ps[i].Epochs[j], true
}

// Has reports whether p is in the set.
func (ps Partitions) Has(p TopicPartition) bool {
	_, ok := ps.epoch(p)
	return ok
}

// filter is the part of the set that keep holds for.
func (ps Partitions) filter(keep func(TopicPartition) bool) Partitions {
	var all []assignedPartition
	for p, epoch := range ps.All() {
		if keep(p) {
			all = append(all, assignedPartition{p, epoch})
		}
	}
	return partitionsOf(all, true)
}

// union is both sets; where both have a partition, the epoch of ps counts.
func (ps Partitions) union(qs Partitions) Partitions {
	return partitionsOf(append(flatten(ps, 0), flatten(qs, 0)...), true)
}

// overlaps reports whether some partition is in both.
func (ps Partitions) overlaps(qs Partitions) bool {
	for p := range ps.All() {
		if qs.Has(p) {
			return true
		}
	}
	return false
}

// within reports whether all of ps are in qs.
func (ps Partitions) within(qs Partitions) bool {
	for p := range ps.All() {
		if !qs.Has(p) {
			return false
		}
	}
	return true
}

// same reports whether both are the same partitions, whatever their epochs.
func (ps Partitions) same(qs Partitions) bool {
	return slices.EqualFunc(ps, qs, func(a, b record.TopicPartitions) bool {
		return a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions)
	})
}

// equal reports whether both are the same partitions at the same epochs.
func (ps Partitions) equal(qs Partitions) bool {
	return slices.EqualFunc(ps, qs, func(a, b record.TopicPartitions) bool {
		return a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions) && slices.Equal(a.Epochs, b.Epochs)
	})
}

// Plain is the set without epochs, as answers show it; never nil.
func (ps Partitions) Plain() []record.TopicPartitions {
	list := make([]record.TopicPartitions, len(ps))
	for i, t := range ps {
		list[i] = record.TopicPartitions{Topic: t.Topic, Partitions: t.Partitions}
	}
	return list
}
