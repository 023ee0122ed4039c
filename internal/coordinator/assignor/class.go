package assignor

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// subscriptions are what members subscribe to, as ascending indexes of in.Topics. Members with the same topics share one slice.
func subscriptions(in Input) [][]int32 {
	index := make(map[topic.ID]int32, len(in.Topics))
	for t := range in.Topics {
		index[in.Topics[t].ID] = int32(t)
	}
	subs := make([][]int32, len(in.Members))
	seen := make(map[uint32][]int) // members with different topics, by a hash of these
	var buf []byte
	for m := range in.Members {
		topics := in.Members[m].Topics
		if m > 0 && same(topics, in.Members[m-1].Topics) {
			subs[m] = subs[m-1]
			continue
		}
		buf = buf[:0]
		for i := range topics {
			buf = append(buf, topics[i][:]...)
		}
		hash := crc32.ChecksumIEEE(buf)
		twin := slices.IndexFunc(seen[hash], func(other int) bool { return slices.Equal(topics, in.Members[other].Topics) })
		if twin >= 0 {
			subs[m] = subs[seen[hash][twin]]
			continue
		}
		seen[hash] = append(seen[hash], m)
		for _, id := range topics {
			if t, ok := index[id]; ok {
				subs[m] = append(subs[m], t)
			}
		}
		slices.Sort(subs[m])
		subs[m] = slices.Compact(subs[m])
	}
	return subs
}

// same reports whether two lists are one in memory, or equal.
func same(a, b []topic.ID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// class are topics with the same subscribers: what is balanced together. A group whose members all subscribe to the same has one.
type class struct {
	topics  []int32 // indexes of Input.Topics, ascending
	members []int32 // indexes of Input.Members, ascending
	// By the place in members: how many of the class's partitions a member has kept, and how many it is to have.
	held, want []int32
	free       int32 // partitions that nobody has kept
	total      int32 // partitions
}

// classes sorts topics by their subscribers. The classes are in the order in which they are served: the fewest choices first, so by partitions
// for each subscriber, descending, then by subscribers (as UniformHeterogeneousAssignmentBuilder sorts topics).
func classes(in Input, subs [][]int32) []class {
	subscribers := make([][]int32, len(in.Topics)) // of each topic: one of each kind of member
	kinds := make([][]int32, 0, 1)                 // members with one subscription
	kindOf := make(map[*int32]int32)
	for m, topics := range subs {
		if len(topics) == 0 {
			continue
		}
		kind, ok := kindOf[&topics[0]]
		if !ok {
			kind = int32(len(kinds))
			kindOf[&topics[0]] = kind
			kinds = append(kinds, nil)
			for _, t := range topics {
				subscribers[t] = append(subscribers[t], kind)
			}
		}
		kinds[kind] = append(kinds[kind], int32(m))
	}
	var all []class
	byKinds := make(map[string]int)
	var key []byte
	for t := range in.Topics {
		if len(subscribers[t]) == 0 || in.Topics[t].Partitions <= 0 {
			continue
		}
		key = key[:0]
		for _, kind := range subscribers[t] {
			key = binary.BigEndian.AppendUint32(key, uint32(kind))
		}
		c, ok := byKinds[string(key)]
		if !ok {
			c = len(all)
			byKinds[string(key)] = c
			all = append(all, newClass(kinds, subscribers[t]))
		}
		all[c].topics = append(all[c].topics, int32(t))
		all[c].total += in.Topics[t].Partitions
	}
	slices.SortStableFunc(all, func(a, b class) int {
		return cmp.Or(
			cmp.Compare(int64(b.total)*int64(len(a.members)), int64(a.total)*int64(len(b.members))),
			cmp.Compare(len(a.members), len(b.members)))
	})
	return all
}

func newClass(kinds [][]int32, of []int32) class {
	var members []int32
	for _, kind := range of {
		members = append(members, kinds[kind]...)
	}
	slices.Sort(members)
	return class{members: members, held: make([]int32, len(members)), want: make([]int32, len(members))}
}

func compareIDs(a, b topic.ID) int { return bytes.Compare(a[:], b[:]) }
