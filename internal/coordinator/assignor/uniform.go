package assignor

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Uniform spreads partitions evenly over the members, and leaves as many as it can where they are (Kafka's UniformAssignor). What Kafka does in
// two builders, for groups whose members subscribe to the same and for others, is one here: topics with the same subscribers
// are balanced together. The result is by member, in the order of in.Members.
func Uniform(in Input) []Partitions {
	u := &uniform{in: in, subs: subscriptions(in), size: make([]int32, len(in.Members))}
	u.classes = classes(in, u.subs)
	u.retain()
	for i := range u.classes {
		u.count(&u.classes[i])
	}
	for i := range u.classes {
		u.fill(&u.classes[i])
	}
	u.balance()
	for i := range u.classes {
		u.settle(&u.classes[i])
	}
	return u.result()
}

// uniform is one run of Uniform. It decides first how many partitions of each class a member is to have, then which.
type uniform struct {
	in      Input
	subs    [][]int32
	classes []class
	owners  [][]int32 // by topic and partition: the index of the member that has it, or nobody
	size    []int32   // by member: how many partitions it is to have of all classes
	scratch []int32   // by member, zero between uses
}

const nobody = -1

// retain lets members keep what they have and still subscribe to. Of two owners of a partition the first keeps it.
func (u *uniform) retain() {
	u.scratch = make([]int32, len(u.in.Members))
	u.owners = make([][]int32, len(u.in.Topics))
	for i := range u.classes {
		for _, t := range u.classes[i].topics {
			u.owners[t] = slices.Repeat([]int32{nobody}, int(u.in.Topics[t].Partitions))
		}
	}
	for m := range u.in.Members {
		owned := u.in.Members[m].Owned
		for _, id := range slices.SortedFunc(maps.Keys(owned), compareIDs) {
			t, ok := u.subscribed(m, id)
			if !ok {
				continue
			}
			for _, p := range owned[id] {
				if p >= 0 && int(p) < len(u.owners[t]) && u.owners[t][p] == nobody {
					u.owners[t][p] = int32(m)
				}
			}
		}
	}
}

// subscribed is the index of a topic that a member subscribes to.
func (u *uniform) subscribed(m int, id topic.ID) (t int32, ok bool) {
	i, ok := slices.BinarySearchFunc(u.subs[m], id, func(t int32, id topic.ID) int { return compareIDs(u.in.Topics[t].ID, id) })
	if !ok {
		return 0, false
	}
	return u.subs[m][i], true
}

// count finds how many partitions of a class its members have kept.
func (u *uniform) count(c *class) {
	for _, t := range c.topics {
		for _, m := range u.owners[t] {
			if m == nobody {
				c.free++
			} else {
				u.scratch[m]++
			}
		}
	}
	for i, m := range c.members {
		c.held[i], c.want[i] = u.scratch[m], u.scratch[m]
		u.size[m] += u.scratch[m]
		u.scratch[m] = 0
	}
}

// result turns owners around. All lists share one array, each to its own end.
func (u *uniform) result() []Partitions {
	end := make([]int32, len(u.in.Members)) // of each member's part of the array
	var total int32
	for m, n := range u.size {
		end[m] = total
		total += n
	}
	array := make([]int32, total)
	result := make([]Partitions, len(u.in.Members))
	for m := range result {
		result[m] = Partitions{}
	}
	var touched []int32
	for t, owners := range u.owners {
		for p, m := range owners {
			if u.scratch[m] == 0 {
				touched = append(touched, m)
			}
			u.scratch[m]++
			array[end[m]] = int32(p)
			end[m]++
		}
		for _, m := range touched {
			from := end[m] - u.scratch[m]
			result[m][u.in.Topics[t].ID] = array[from:end[m]:end[m]]
			u.scratch[m] = 0
		}
		touched = touched[:0]
	}
	return result
}
