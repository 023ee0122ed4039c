package assignor

import (
	"cmp"
	"slices"
	"strings"
)

// Range gives each member one range of each of its topics, in the order of members: static ones by instance id, then the others by id, so that
// static members keep theirs as others come and go. The first members get the ranges that are longer by one (Kafka's RangeAssignor).
// The result is by member, in the order of in.Members.
func Range(in Input) []Partitions {
	subs := subscriptions(in)
	subscribers := make([]int32, len(in.Topics))
	for _, topics := range subs {
		for _, t := range topics {
			subscribers[t]++
		}
	}
	next := make([]int32, len(in.Topics))   // the first partition that is not given away
	served := make([]int32, len(in.Topics)) // members that had their turn
	result := make([]Partitions, len(in.Members))
	for _, m := range rangeOrder(in.Members) {
		result[m] = Partitions{}
		for _, t := range subs[m] {
			length := in.Topics[t].Partitions / subscribers[t]
			if served[t] < in.Topics[t].Partitions%subscribers[t] {
				length++
			}
			served[t]++
			if length > 0 {
				result[m][in.Topics[t].ID] = sequence(next[t], next[t]+length)
			}
			next[t] += length
		}
	}
	return result
}

// rangeOrder is the order in which Range serves members, as indexes.
func rangeOrder(members []Member) []int32 {
	order := sequence(0, int32(len(members)))
	slices.SortFunc(order, func(a, b int32) int {
		x, y := members[a], members[b]
		switch {
		case x.InstanceID != nil && y.InstanceID != nil:
			return cmp.Or(strings.Compare(*x.InstanceID, *y.InstanceID), cmp.Compare(a, b))
		case x.InstanceID != nil:
			return -1
		case y.InstanceID != nil:
			return 1
		}
		return cmp.Or(strings.Compare(x.ID, y.ID), cmp.Compare(a, b))
	})
	return order
}

// sequence is [from, to).
func sequence(from, to int32) []int32 {
	s := make([]int32, to-from)
	for i := range s {
		s[i] = from + int32(i)
	}
	return s
}
