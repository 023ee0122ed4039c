package assignor

import (
	"cmp"
	"slices"
)

// place is a partition.
type place struct{ topic, partition int32 }

// taker is a member that is to get partitions of a class.
type taker struct{ member, need int32 }

// settle takes from the members of a class what they have too much of, and gives all that is free to those who are to have more.
func (u *uniform) settle(c *class) {
	u.release(c)
	var takers []taker
	for i, m := range c.members {
		if need := c.want[i] - c.held[i]; need > 0 {
			takers = append(takers, taker{m, need})
		}
	}
	if len(takers) == 0 {
		return
	}
	var free []place
	for _, t := range c.topics {
		for p, m := range u.owners[t] {
			if m == nobody {
				free = append(free, place{t, int32(p)})
			}
		}
	}
	u.deal(u.dealByRack(free, takers), takers)
}

// release frees what members have too much of: of each topic about the same share, and first what they have in other racks.
func (u *uniform) release(c *class) {
	surplus := make(map[int32][]held)
	for i, m := range c.members {
		if c.held[i] > c.want[i] {
			surplus[m] = make([]held, 0, c.held[i])
		}
	}
	if len(surplus) == 0 {
		return
	}
	for _, t := range c.topics {
		for p, m := range u.owners[t] {
			list, ok := surplus[m]
			if !ok {
				continue
			}
			h := held{place: place{t, int32(p)}, near: u.near(m, t, int32(p))}
			if n := len(list); n > 0 && list[n-1].topic == t {
				h.rank = list[n-1].rank + 1
			}
			surplus[m] = append(list, h)
		}
	}
	for i, m := range c.members {
		list, ok := surplus[m]
		if !ok {
			continue
		}
		slices.SortFunc(list, held.compare)
		for _, h := range list[:c.held[i]-c.want[i]] {
			u.owners[h.topic][h.partition] = nobody
		}
	}
}

// held is a partition that a member has; rank is how many of the topic's it has before it.
type held struct {
	place
	rank int32
	near bool
}

// compare has those first that are to be given away first.
func (h held) compare(other held) int {
	if h.near != other.near {
		if other.near {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(other.rank, h.rank), cmp.Compare(h.topic, other.topic), cmp.Compare(other.partition, h.partition))
}

// near reports whether a replica of a partition is in the member's rack.
func (u *uniform) near(m, t, p int32) bool {
	rack, racks := u.in.Members[m].Rack, u.in.Topics[t].Racks
	return rack != nil && int(p) < len(racks) && slices.Contains(racks[p], *rack)
}

// deal gives each taker one partition in turn, so that a topic is spread over them.
func (u *uniform) deal(free []place, takers []taker) {
	for len(free) > 0 {
		takers = slices.DeleteFunc(takers, func(t taker) bool { return t.need == 0 })
		for i := range takers {
			if len(free) == 0 {
				return
			}
			u.give(&takers[i], free[0])
			free = free[1:]
		}
	}
}

func (u *uniform) give(t *taker, at place) {
	u.owners[at.topic][at.partition] = t.member
	t.need--
}

// rack are the takers of one rack.
type rack struct {
	takers []*taker
	need   int32 // of all
}

// dealByRack gives partitions to takers in their replicas' racks and returns the others. Those with the fewest racks to go to come first; each
// goes to the rack that still has the most need.
func (u *uniform) dealByRack(free []place, takers []taker) (rest []place) {
	racks := make(map[string]*rack)
	for i := range takers {
		if name := u.in.Members[takers[i].member].Rack; name != nil {
			r := racks[*name]
			if r == nil {
				r = &rack{}
				racks[*name] = r
			}
			r.takers = append(r.takers, &takers[i])
			r.need += takers[i].need
		}
	}
	if len(racks) == 0 {
		return free
	}
	choices := make([]choice, len(free))
	for i, at := range free {
		choices[i] = u.choice(at, racks)
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(len(a.racks), len(b.racks)) })
	for _, c := range choices {
		var best *rack
		for _, r := range c.racks {
			if r.need > 0 && (best == nil || r.need > best.need) {
				best = r
			}
		}
		if best != nil {
			u.give(best.next(), c.place)
			best.need--
		}
	}
	return slices.DeleteFunc(free, func(at place) bool { return u.owners[at.topic][at.partition] != nobody })
}

// choice is a free partition and the racks it may go to.
type choice struct {
	place
	racks []*rack
}

func (u *uniform) choice(at place, racks map[string]*rack) choice {
	c := choice{place: at}
	if known := u.in.Topics[at.topic].Racks; int(at.partition) < len(known) {
		for _, name := range known[at.partition] {
			if r := racks[name]; r != nil && !slices.Contains(c.racks, r) {
				c.racks = append(c.racks, r)
			}
		}
	}
	return c
}

// next is the taker whose turn it is. Some taker must be in need.
func (r *rack) next() *taker {
	for r.takers[0].need == 0 {
		r.takers = r.takers[1:]
	}
	t := r.takers[0]
	r.takers = append(r.takers[1:], t)
	return t
}
