package assignor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

var rackNames = []string{"a", "b", "c"}

func drawTopics(t *rapid.T) (all []Topic) {
	for i := range rapid.IntRange(1, 5).Draw(t, "topics") {
		one := Topic{ID: tid(i), Partitions: rapid.Int32Range(0, 12).Draw(t, "partitions")}
		if rapid.Bool().Draw(t, "racks known") {
			for range rapid.Int32Range(0, one.Partitions).Draw(t, "racked partitions") {
				one.Racks = append(one.Racks, rapid.SliceOfN(rapid.SampledFrom(rackNames), 0, 3).Draw(t, "racks"))
			}
		}
		all = append(all, one)
	}
	return all
}

func drawMember(t *rapid.T, id string, topics []topic.ID) Member {
	m := Member{ID: id, Topics: topics}
	if rapid.Bool().Draw(t, "in a rack") {
		m.Rack = new(rapid.SampledFrom(rackNames).Draw(t, "rack"))
	}
	if rapid.IntRange(0, 3).Draw(t, "static") == 0 {
		m.InstanceID = new("instance-" + id)
	}
	return m
}

func allIDs(topics []Topic) (ids []topic.ID) {
	for _, one := range topics {
		ids = append(ids, one.ID)
	}
	return ids
}

// drawInput draws a group; nobody owns anything.
func drawInput(t *rapid.T, mixed bool) Input {
	in := Input{Topics: drawTopics(t)}
	for i := range rapid.IntRange(1, 7).Draw(t, "members") {
		ids := allIDs(in.Topics)
		if mixed {
			ids = slices.DeleteFunc(ids, func(topic.ID) bool { return rapid.Bool().Draw(t, "left out") })
		}
		in.Members = append(in.Members, drawMember(t, fmt.Sprintf("m%02d", 2*i), ids))
	}
	return in
}

// drawOwned lets members own anything, even what is not theirs or not there, each partition by itself.
func drawOwned(t *rapid.T, in Input) {
	for i := range in.Members {
		in.Members[i].Owned = Partitions{}
		for id := range 6 {
			owned := rapid.SliceOfNDistinct(rapid.Int32Range(-1, 13), 0, 6, rapid.ID).Draw(t, "owned")
			if len(owned) > 0 {
				slices.Sort(owned)
				in.Members[i].Owned[tid(id)] = owned
			}
		}
	}
}

// own gives the members what an assignor gave them.
func own(in Input, result []Partitions) Input {
	in.Members = slices.Clone(in.Members)
	for i := range in.Members {
		in.Members[i].Owned = result[i]
	}
	return in
}

type key struct {
	id topic.ID
	p  int32
}

func owners(in Input, result []Partitions) map[key]string {
	all := make(map[key]string)
	for i, partitions := range result {
		for id, list := range partitions {
			for _, p := range list {
				all[key{id, p}] = in.Members[i].ID
			}
		}
	}
	return all
}

func count(p Partitions) (n int) {
	for _, list := range p {
		n += len(list)
	}
	return n
}

// checkComplete is invariant 1 and the form of results.
func checkComplete(t *rapid.T, in Input, result []Partitions) {
	if len(result) != len(in.Members) {
		t.Fatalf("%d results of %d members", len(result), len(in.Members))
	}
	total, given := 0, 0
	for i, partitions := range result {
		given += count(partitions)
		for id, list := range partitions {
			if !slices.Contains(in.Members[i].Topics, id) {
				t.Fatalf("%s got %v, to which it does not subscribe", in.Members[i].ID, id)
			}
			if len(list) == 0 || !slices.IsSorted(list) {
				t.Fatalf("%s got %v of a topic", in.Members[i].ID, list)
			}
		}
	}
	all := owners(in, result)
	for _, one := range in.Topics {
		if !slices.ContainsFunc(in.Members, func(m Member) bool { return slices.Contains(m.Topics, one.ID) }) {
			continue
		}
		for p := range one.Partitions {
			total++
			if _, ok := all[key{one.ID, p}]; !ok {
				t.Fatalf("partition %d of %v has no owner", p, one.ID)
			}
		}
	}
	if given != total || len(all) != total {
		t.Fatalf("%d partitions given, %d of them different; there are %d", given, len(all), total)
	}
}

// checkBalanced is invariant 2, for any subscriptions.
func checkBalanced(t *rapid.T, in Input, result []Partitions) {
	for i, from := range result {
		for id := range from {
			for j, to := range result {
				if slices.Contains(in.Members[j].Topics, id) && count(from) > count(to)+1 {
					t.Fatalf("%s has %d partitions, some of %v; %s, a subscriber too, has %d", in.Members[i].ID, count(from), id, in.Members[j].ID, count(to))
				}
			}
		}
	}
}

func TestUniform(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, rapid.Bool().Draw(t, "mixed"))
		if rapid.Bool().Draw(t, "owned") {
			drawOwned(t, in)
		}
		result := Uniform(in)
		checkComplete(t, in, result)
		checkBalanced(t, in, result)
		if diff := cmp.Diff(result, Uniform(in)); diff != "" {
			t.Fatal("a second run differs:", diff)
		}
		if diff := cmp.Diff(result, Uniform(own(in, result))); diff != "" {
			t.Fatal("what is balanced was moved:", diff)
		}
	})
}

// leastMoves is how few of the partitions that members validly own must move for balance where all subscribe to the same: the longer shares go
// to those who have them. A slow twin's view: it looks at sizes only.
func leastMoves(in Input) (moves int) {
	taken := make(map[key]bool)
	var sizes []int
	total := 0
	for _, one := range in.Topics {
		total += int(one.Partitions)
	}
	for _, m := range in.Members {
		n := 0
		for _, one := range in.Topics {
			for _, p := range m.Owned[one.ID] {
				if k := (key{one.ID, p}); p >= 0 && p < one.Partitions && !taken[k] {
					taken[k] = true
					n++
				}
			}
		}
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	for i, n := range sizes {
		quota := total / len(sizes)
		if i < total%len(sizes) {
			quota++
		}
		moves += max(0, n-quota)
	}
	return moves
}

func TestUniformMovesLeast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, false)
		drawOwned(t, in)
		now := owners(in, Uniform(in))
		moves, taken := 0, make(map[key]bool)
		for _, m := range in.Members {
			for _, one := range in.Topics {
				for _, p := range m.Owned[one.ID] {
					k := key{one.ID, p}
					if p < 0 || p >= one.Partitions || taken[k] {
						continue
					}
					taken[k] = true
					if now[k] != m.ID {
						moves++
					}
				}
			}
		}
		if want := leastMoves(in); moves != want {
			t.Fatalf("%d partitions moved; %d had to", moves, want)
		}
	})
}

func TestUniformLeaveAndJoin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, false)
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			in = own(in, Uniform(in))
			before := owners(in, Uniform(in))
			i := rapid.IntRange(0, len(in.Members)-1).Draw(t, "member")
			if leaves := len(in.Members) > 1 && rapid.Bool().Draw(t, "leaves"); leaves {
				gone := in.Members[i].ID
				in.Members = slices.Delete(slices.Clone(in.Members), i, i+1)
				for k, owner := range owners(in, Uniform(in)) {
					if old := before[k]; old != owner && old != gone {
						t.Fatalf("%v moved from %s to %s when %s left", k, old, owner, gone)
					}
				}
				continue
			}
			fresh := in.Members[i].ID + "+"
			in.Members = slices.Insert(slices.Clone(in.Members), i+1, drawMember(t, fresh, allIDs(in.Topics)))
			for k, owner := range owners(in, Uniform(in)) {
				if before[k] != owner && owner != fresh {
					t.Fatalf("%v moved from %s to %s when %s joined", k, before[k], owner, fresh)
				}
			}
		}
	})
}

// best is the sorted sizes of the best balance there is: a slow twin gives partitions out one by one and improves along
// chains of moves of any length, until there is none (an optimal semi-matching, by Harvey and others).
func best(in Input) []int {
	owner := make(map[key]int)
	sizes := make([]int, len(in.Members))
	subscribes := func(m int, id topic.ID) bool { return slices.Contains(in.Members[m].Topics, id) }
	for _, one := range in.Topics {
		m := slices.IndexFunc(in.Members, func(m Member) bool { return slices.Contains(m.Topics, one.ID) })
		for p := range one.Partitions {
			if m >= 0 {
				owner[key{one.ID, p}] = m
				sizes[m]++
			}
		}
	}
	improve := func(start int) bool {
		seen := map[int]bool{start: true}
		via := make(map[int]key)
		for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
			at := queue[0]
			if sizes[at] <= sizes[start]-2 {
				sizes[start]--
				sizes[at]++
				for at != start {
					k := via[at]
					at, owner[k] = owner[k], at
				}
				return true
			}
			for k, o := range owner {
				for m := range in.Members {
					if o == at && !seen[m] && subscribes(m, k.id) {
						seen[m] = true
						via[m] = k
						queue = append(queue, m)
					}
				}
			}
		}
		return false
	}
	for again := true; again; {
		again = false
		for m := range in.Members {
			again = improve(m) || again
		}
	}
	return slices.Sorted(slices.Values(sizes))
}

func sizesOf(result []Partitions) (sizes []int) {
	for _, p := range result {
		sizes = append(sizes, count(p))
	}
	slices.Sort(sizes)
	return sizes
}

// Where subscribers of a topic subscribe to the same, balance is as good as it can be; where they do not, it is not worse than a
// chain of moves through each member can make up for.
func TestUniformAgainstBest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.IntRange(1, 3).Draw(t, "kinds")
		in := Input{Topics: drawTopics(t)}
		for i := range rapid.IntRange(1, 7).Draw(t, "members") {
			kind := rapid.IntRange(0, kinds-1).Draw(t, "kind")
			var ids []topic.ID
			for n, one := range in.Topics {
				if n%kinds == kind {
					ids = append(ids, one.ID)
				}
			}
			in.Members = append(in.Members, drawMember(t, fmt.Sprintf("m%02d", i), ids))
		}
		drawOwned(t, in)
		if diff := cmp.Diff(best(in), sizesOf(Uniform(in))); diff != "" {
			t.Fatal("best -, got +:", diff)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, true)
		drawOwned(t, in)
		want, got := best(in), sizesOf(Uniform(in))
		if most := want[len(want)-1] + len(in.Members) - 2; len(in.Members) > 1 && got[len(got)-1] > most {
			t.Fatalf("a member has %d partitions; at best the most is %d", got[len(got)-1], want[len(want)-1])
		}
	})
}

func TestRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, rapid.Bool().Draw(t, "mixed"))
		result := Range(in)
		checkComplete(t, in, result)
		for i, one := range in.Topics {
			var sizes []int
			for m, p := range result {
				list := p[one.ID]
				if len(list) > 0 && int(list[len(list)-1]-list[0]) != len(list)-1 {
					t.Fatalf("%v is no range", list)
				}
				if slices.Contains(in.Members[m].Topics, one.ID) {
					sizes = append(sizes, len(list))
				}
				for _, other := range in.Topics[:i] {
					if other.Partitions == one.Partitions && sameSubscribers(in, one.ID, other.ID) && !slices.Equal(p[other.ID], list) {
						t.Fatalf("%v and %v are not of the same partitions", list, p[other.ID])
					}
				}
			}
			if len(sizes) > 0 && slices.Max(sizes)-slices.Min(sizes) > 1 {
				t.Fatalf("ranges of %v", sizes)
			}
		}
		drawOwned(t, in)
		if diff := cmp.Diff(result, Range(in)); diff != "" {
			t.Fatal("what members own makes a difference:", diff)
		}
	})
}

func sameSubscribers(in Input, a, b topic.ID) bool {
	return !slices.ContainsFunc(in.Members, func(m Member) bool { return slices.Contains(m.Topics, a) != slices.Contains(m.Topics, b) })
}

// TestRacks: with three replicas in three racks and members in each, every partition of a new group is near, and as many as can be
// when there are fewer racks than members' needs.
func TestRacks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, false)
		for i := range in.Members {
			in.Members[i].Rack = &rackNames[i%len(rackNames)]
		}
		for i := range in.Topics {
			in.Topics[i].Racks = slices.Repeat([][]string{rackNames}, int(in.Topics[i].Partitions))
		}
		result := Uniform(in)
		checkComplete(t, in, result)
		checkBalanced(t, in, result)
		if near, all := nearby(in, result); near != all {
			t.Fatalf("%d of %d partitions are near", near, all)
		}
		for i := range in.Topics {
			in.Topics[i].Racks = nil
		}
		if diff := cmp.Diff(sizesOf(result), sizesOf(Uniform(in))); diff != "" {
			t.Fatal("racks change the balance:", diff)
		}
	})
}

func nearby(in Input, result []Partitions) (near, all int) {
	for m, partitions := range result {
		for _, one := range in.Topics {
			for _, p := range partitions[one.ID] {
				all++
				if int(p) < len(one.Racks) && in.Members[m].Rack != nil && slices.Contains(one.Racks[p], *in.Members[m].Rack) {
					near++
				}
			}
		}
	}
	return near, all
}

// TestOwnMemory: what an assignor gives away is not what it was given, and no list grows into another.
func TestOwnMemory(t *testing.T) {
	t.Parallel()
	in := homogeneous(3, 4, 24)
	in = own(in, Uniform(in))
	before := make([]string, len(in.Members))
	for i, m := range in.Members {
		before[i] = show(m.Owned)
	}
	result := Uniform(in)
	for _, partitions := range result {
		for _, id := range slices.Collect(maps.Keys(partitions)) {
			partitions[id][0] = 99
			_ = append(partitions[id], 100)
		}
	}
	for i, m := range in.Members {
		if got := show(m.Owned); got != before[i] {
			t.Errorf("what %s owned became %s; was %s", m.ID, got, before[i])
		}
		if got := show(result[i]); strings.Contains(got, "100") {
			t.Errorf("what %s got grew into %s", m.ID, got)
		}
	}
}
