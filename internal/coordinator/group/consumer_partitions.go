package group

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// topicPartition is one partition.
type topicPartition struct {
	topic     topic.ID
	partition int32
}

func (p topicPartition) compare(q topicPartition) int {
	return cmp.Or(bytes.Compare(p.topic[:], q.topic[:]), cmp.Compare(p.partition, q.partition))
}

// partitions is a set of partitions: by topic id, each topic's ascending, none empty. Those that are assigned have the epoch of their assignment
// beside them (KIP-1251); other sets have no epochs. A set is never written after it was made.
type partitions []record.TopicPartitions

// assignedPartition is a partition and the member epoch at which it was assigned.
type assignedPartition struct {
	topicPartition
	epoch int32
}

// ordered is list as a set without epochs, whatever its order; nil stays nil.
func ordered(list []record.TopicPartitions) partitions {
	return partitionsOf(flatten(list, 0), false)
}

// orderedWithEpochs is list as a set with epochs; epoch is that of partitions which have none (records of Kafka before 4.3).
func orderedWithEpochs(list []record.TopicPartitions, epoch int32) partitions {
	return partitionsOf(flatten(list, max(epoch, 0)), true)
}

func flatten(list []record.TopicPartitions, epoch int32) []assignedPartition {
	var all []assignedPartition
	for _, t := range list {
		for i, p := range t.Partitions {
			a := assignedPartition{topicPartition{t.Topic, p}, epoch}
			if len(t.Epochs) == len(t.Partitions) {
				a.epoch = t.Epochs[i]
			}
			all = append(all, a)
		}
	}
	return all
}

// partitionsOf is the set of all, which it sorts; of a partition that is there twice, the first counts.
func partitionsOf(all []assignedPartition, epochs bool) partitions {
	slices.SortStableFunc(all, func(a, b assignedPartition) int { return a.compare(b.topicPartition) })
	all = slices.CompactFunc(all, func(a, b assignedPartition) bool { return a.topicPartition == b.topicPartition })
	var set partitions
	for _, a := range all {
		if n := len(set); n == 0 || set[n-1].Topic != a.topic {
			set = append(set, record.TopicPartitions{Topic: a.topic})
		}
		t := &set[len(set)-1]
		t.Partitions = append(t.Partitions, a.partition)
		if epochs {
			t.Epochs = append(t.Epochs, a.epoch)
		}
	}
	return set
}

// all yields each partition with its epoch, in order.
func (ps partitions) all() iter.Seq2[topicPartition, int32] {
	return func(yield func(topicPartition, int32) bool) {
		for _, t := range ps {
			for i, p := range t.Partitions {
				var epoch int32
				if t.Epochs != nil {
					epoch = t.Epochs[i]
				}
				if !yield(topicPartition{t.Topic, p}, epoch) {
					return
				}
			}
		}
	}
}

// epoch is that of p's assignment; false if p is not in the set.
func (ps partitions) epoch(p topicPartition) (int32, bool) {
	i, ok := slices.BinarySearchFunc(ps, p.topic, func(t record.TopicPartitions, id topic.ID) int { return bytes.Compare(t.Topic[:], id[:]) })
	if !ok {
		return 0, false
	}
	j, ok := slices.BinarySearch(ps[i].Partitions, p.partition)
	if !ok || ps[i].Epochs == nil {
		return 0, ok
	}
	return ps[i].Epochs[j], true
}

func (ps partitions) has(p topicPartition) bool {
	_, ok := ps.epoch(p)
	return ok
}

// filter is the part of the set that keep holds for.
func (ps partitions) filter(keep func(topicPartition) bool) partitions {
	var all []assignedPartition
	for p, epoch := range ps.all() {
		if keep(p) {
			all = append(all, assignedPartition{p, epoch})
		}
	}
	return partitionsOf(all, true)
}

// union is both sets; where both have a partition, the epoch of ps counts.
func (ps partitions) union(qs partitions) partitions {
	return partitionsOf(append(flatten(ps, 0), flatten(qs, 0)...), true)
}

// overlaps reports whether some partition is in both.
func (ps partitions) overlaps(qs partitions) bool {
	for p := range ps.all() {
		if qs.has(p) {
			return true
		}
	}
	return false
}

// within reports whether all of ps are in qs.
func (ps partitions) within(qs partitions) bool {
	for p := range ps.all() {
		if !qs.has(p) {
			return false
		}
	}
	return true
}

// same reports whether both are the same partitions, whatever their epochs.
func (ps partitions) same(qs partitions) bool {
	return slices.EqualFunc(ps, qs, func(a, b record.TopicPartitions) bool {
		return a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions)
	})
}

// equal reports whether both are the same partitions at the same epochs.
func (ps partitions) equal(qs partitions) bool {
	return slices.EqualFunc(ps, qs, func(a, b record.TopicPartitions) bool {
		return a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions) && slices.Equal(a.Epochs, b.Epochs)
	})
}

// plain is the set without epochs, as answers show it; never nil.
func (ps partitions) plain() []record.TopicPartitions {
	list := make([]record.TopicPartitions, len(ps))
	for i, t := range ps {
		list[i] = record.TopicPartitions{Topic: t.Topic, Partitions: t.Partitions}
	}
	return list
}
