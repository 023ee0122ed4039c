package assignor

import (
	"cmp"
	"container/heap"
)

// balanceRounds is the most rounds over all classes. One is enough, and a second sees that, unless classes overlap; Kafka stops after 16
// (MAX_ITERATION_COUNT), which long chains of overlapping subscriptions reach.
const balanceRounds = 64

// load is a member of a class and how much it has.
type load struct {
	size  int32 // partitions of all classes
	place int32 // in class.members
}

// loads is a heap of the members of a class. It has copies of their sizes, so that what one heap does leaves another in order.
type loads struct {
	all  []load
	less func(a, b load) bool
}

func (h *loads) Len() int           { return len(h.all) }
func (h *loads) Less(i, j int) bool { return h.less(h.all[i], h.all[j]) }
func (h *loads) Swap(i, j int)      { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *loads) Push(any)           {} // nothing comes or goes; heap.Fix is all that is used
func (h *loads) Pop() any           { return nil }

// lightest has those first who are to get: with the fewest partitions, of them the first members.
func lightest(a, b load) bool {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.place, b.place)) < 0
}

// heaviest has those first who are to give: with the most partitions, of them the last members.
func heaviest(a, b load) bool {
	return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(b.place, a.place)) < 0
}

// gone is the size of a member that has no more partitions of a class to give.
const gone = -1

func (u *uniform) loads(c *class, less func(a, b load) bool, givers bool) *loads {
	h := &loads{all: make([]load, 0, len(c.members)), less: less}
	for i, m := range c.members {
		if !givers || c.want[i] > 0 {
			h.all = append(h.all, load{u.size[m], int32(i)})
		}
	}
	heap.Init(h)
	return h
}

// fill shares out the partitions that nobody has kept: each to the member with the fewest.
func (u *uniform) fill(c *class) {
	if c.free == 0 {
		return
	}
	h := u.loads(c, lightest, false)
	for range c.free {
		u.change(c, h, 1)
	}
}

// change gives the first member of a heap a partition more or less.
func (u *uniform) change(c *class, h *loads, by int32) {
	first := &h.all[0]
	first.size += by
	c.want[first.place] += by
	u.size[c.members[first.place]] += by
	if by < 0 && c.want[first.place] == 0 {
		first.size = gone
	}
	heap.Fix(h, 0)
}

// balance moves partitions until no move within a class makes two of its members more equal.
func (u *uniform) balance() {
	for range balanceRounds {
		moved := false
		for i := range u.classes {
			if u.level(&u.classes[i]) {
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

// level moves partitions of a class from its heaviest members to its lightest, and tells whether it did. No member is both: who got one has at
// most one more than the lightest, and when such a member is the heaviest, the class is level.
func (u *uniform) level(c *class) bool {
	low, high := u.bounds(c)
	if high-low <= 1 {
		return false
	}
	from, to := u.loads(c, heaviest, true), u.loads(c, lightest, false)
	for from.all[0].size-to.all[0].size > 1 {
		u.change(c, from, -1)
		u.change(c, to, 1)
	}
	return true
}

// bounds are the fewest partitions that a member of c has, and the most of those that have one of c to give.
func (u *uniform) bounds(c *class) (low, high int32) {
	low = u.size[c.members[0]]
	for i, m := range c.members {
		low = min(low, u.size[m])
		if c.want[i] > 0 {
			high = max(high, u.size[m])
		}
	}
	return low, high
}
