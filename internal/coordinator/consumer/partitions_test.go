package consumer

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// TestPartitionsAreSets compares the sets with maps.
func TestPartitionsAreSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSet(t, "a"), drawSet(t, "b")
		ps, qs := setOf(t, a), setOf(t, b)
		wellFormed(t, ps, a)
		union := maps.Clone(b)
		maps.Copy(union, a)
		wellFormed(t, ps.union(qs), union)
		both := maps.Clone(a)
		maps.DeleteFunc(both, func(p TopicPartition, _ int32) bool { _, ok := b[p]; return !ok })
		wellFormed(t, ps.filter(qs.Has), both)
		if ps.overlaps(qs) != (len(both) > 0) || ps.within(qs) != (len(both) == len(a)) {
			t.Fatalf("%v and %v: overlap %v, within %v", ps, qs, ps.overlaps(qs), ps.within(qs))
		}
		if ps.equal(qs) != maps.Equal(a, b) || ps.same(qs) != (len(both) == len(a) && len(a) == len(b)) {
			t.Fatalf("%v and %v: equal %v, same %v", ps, qs, ps.equal(qs), ps.same(qs))
		}
	})
}

func drawSet(t *rapid.T, name string) map[TopicPartition]int32 {
	return rapid.MapOfN(rapid.Custom(func(t *rapid.T) TopicPartition {
		return TopicPartition{topic.ID{15: rapid.Byte().Draw(t, "topic") % 3}, rapid.Int32Range(0, 4).Draw(t, "partition")}
	}), rapid.Int32Range(1, 3), 0, 8).Draw(t, name)
}

// setOf is the set, of a list in any order, with topics in several pieces and partitions twice.
func setOf(t *rapid.T, set map[TopicPartition]int32) Partitions {
	var list []record.TopicPartitions
	keys := slices.SortedFunc(maps.Keys(set), TopicPartition.compare)
	for _, p := range append(rapid.Permutation(keys).Draw(t, "order"), keys...) {
		list = append(list, record.TopicPartitions{Topic: p.Topic, Partitions: []int32{p.Partition}, Epochs: []int32{set[p]}})
	}
	return orderedWithEpochs(list, 9)
}

func wellFormed(t *rapid.T, ps Partitions, want map[TopicPartition]int32) {
	got := make(map[TopicPartition]int32)
	last := TopicPartition{Partition: -1}
	for p, epoch := range ps.All() {
		if last.compare(p) >= 0 || !ps.Has(p) {
			t.Fatalf("%v is out of order in %v", p, ps)
		}
		got[p], last = epoch, p
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for _, tp := range ps.Plain() {
		if len(tp.Partitions) == 0 || tp.Epochs != nil {
			t.Fatalf("plain: %v", ps.Plain())
		}
	}
}

// TestOldAssignmentsHaveEpochs: a record of a Kafka that did not keep epochs, or kept too few, has the member's for all.
func TestOldAssignmentsHaveEpochs(t *testing.T) {
	t.Parallel()
	list := []record.TopicPartitions{{Partitions: []int32{3, 1}}, {Topic: topic.ID{1}, Partitions: []int32{1, 2}, Epochs: []int32{7}}}
	for p, epoch := range orderedWithEpochs(list, 4).All() {
		if epoch != 4 {
			t.Errorf("%v: epoch %d", p, epoch)
		}
	}
	for p, epoch := range orderedWithEpochs(list, AwayEpoch).All() {
		if epoch != 0 {
			t.Errorf("%v: epoch %d", p, epoch)
		}
	}
}
