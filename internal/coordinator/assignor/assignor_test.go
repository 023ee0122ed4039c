package assignor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

func tid(n int) (id topic.ID) {
	binary.BigEndian.PutUint32(id[:], uint32(n))
	return id
}

// members are members with topics; what they own comes as "t:p,p t:p".
func member(id, owned string, topics ...int) Member {
	m := Member{ID: id}
	for _, t := range topics {
		m.Topics = append(m.Topics, tid(t))
	}
	m.Owned = parse(owned)
	return m
}

func parse(text string) Partitions {
	all := Partitions{}
	for field := range strings.FieldsSeq(text) {
		var t int
		list, rest := []int32{}, ""
		if _, err := fmt.Sscanf(strings.Replace(field, ":", " ", 1), "%d %s", &t, &rest); err != nil {
			panic(err)
		}
		for p := range strings.SplitSeq(rest, ",") {
			var n int32
			if _, err := fmt.Sscan(p, &n); err != nil {
				panic(err)
			}
			list = append(list, n)
		}
		all[tid(t)] = list
	}
	return all
}

// show writes what parse reads.
func show(p Partitions) string {
	var fields []string
	for _, id := range slices.SortedFunc(maps.Keys(p), func(a, b topic.ID) int { return bytes.Compare(a[:], b[:]) }) {
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(p[id]), " ", ","), "[]")
		fields = append(fields, fmt.Sprintf("%d:%s", binary.BigEndian.Uint32(id[:]), list))
	}
	return strings.Join(fields, " ")
}

func topics(partitions ...int32) (all []Topic) {
	for i, n := range partitions {
		all = append(all, Topic{ID: tid(i + 1), Partitions: n})
	}
	return all
}

type assignTest struct {
	name   string
	assign func(Input) []Partitions
	in     Input
	want   []string
}

func TestAssign(t *testing.T) {
	t.Parallel()
	for _, test := range slices.Concat(assignTests(), rackTests()) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range test.assign(test.in) {
				got = append(got, show(p))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error("want -, got +:", diff)
			}
		})
	}
}

func assignTests() []assignTest {
	static := func(id, instance string, topics ...int) Member {
		m := member(id, "", topics...)
		m.InstanceID = &instance
		return m
	}
	both := func(ids ...string) (all []Member) {
		for _, id := range ids {
			all = append(all, member(id, "", 1, 2))
		}
		return all
	}
	return []assignTest{
		{"nobody", Uniform, Input{Topics: topics(3)}, nil},
		{"nobody, range", Range, Input{Topics: topics(3)}, nil},
		{"nothing", Uniform, Input{Members: both("a", "b")}, []string{"", ""}},
		{"nothing, range", Range, Input{Members: both("a", "b")}, []string{"", ""}},
		{"no subscription", Uniform, Input{Members: []Member{member("a", "1:0"), member("b", "", 1)}, Topics: topics(2)}, []string{"", "1:0,1"}},
		{"an empty topic", Uniform, Input{Members: both("a"), Topics: topics(0, 1)}, []string{"2:0"}},
		{"an empty topic, range", Range, Input{Members: both("a"), Topics: topics(0, 1)}, []string{"2:0"}},
		{"first", Uniform, Input{Members: both("a", "b"), Topics: topics(3, 3)}, []string{"1:0,2 2:1", "1:1 2:0,2"}},
		{"first, range", Range, Input{Members: both("a", "b"), Topics: topics(3, 3)}, []string{"1:0,1 2:0,1", "1:2 2:2"}},
		{"an idle member", Uniform, Input{Members: both("a", "b", "c"), Topics: topics(1, 1)}, []string{"1:0", "2:0", ""}},
		{"an idle member, range", Range, Input{Members: both("a", "b", "c"), Topics: topics(1, 2)}, []string{"1:0 2:0", "2:1", ""}},
		{
			"one joins", Uniform,
			Input{Members: []Member{member("0", "", 1, 2), member("a", "1:0,2 2:1", 1, 2), member("b", "1:1 2:0,2", 1, 2)}, Topics: topics(3, 3)},
			[]string{"1:2 2:2", "1:0 2:1", "1:1 2:0"},
		},
		{
			"one left", Uniform,
			Input{Members: []Member{member("a", "1:0", 1), member("c", "1:2", 1)}, Topics: topics(4)},
			[]string{"1:0,1", "1:2,3"},
		},
		{
			"the longer share stays where it is", Uniform,
			Input{Members: []Member{member("a", "1:0", 1), member("b", "1:1,2", 1)}, Topics: topics(3)},
			[]string{"1:0", "1:1,2"},
		},
		{
			"nonsense is passed over", Uniform,
			Input{Members: []Member{member("a", "1:0,-1,9 7:1", 1, 9), member("b", "1:0,1 2:0", 1)}, Topics: topics(2, 1)},
			[]string{"1:0", "1:1"},
		},
		{
			"a topic left out moves to who has it", Uniform,
			Input{Members: []Member{member("a", "1:0,1 2:0,1", 1), member("b", "", 1, 2)}, Topics: topics(2, 2)},
			[]string{"1:0,1", "2:0,1"},
		},
		{
			"different subscriptions", Uniform,
			Input{Members: []Member{member("a", "", 1), member("b", "", 1, 2), member("c", "", 2)}, Topics: topics(4, 2)},
			[]string{"1:0,2", "1:1,3", "2:0,1"},
		},
		{
			"kinds of members in turn", Uniform,
			Input{Members: []Member{member("a", "", 1, 2), member("b", "", 1), member("c", "", 1, 2)}, Topics: topics(2, 0)},
			[]string{"1:0", "1:1", ""},
		},
		{
			"different subscriptions, range", Range,
			Input{Members: []Member{member("a", "", 1), member("b", "", 1, 2), member("c", "", 2)}, Topics: topics(3, 3)},
			[]string{"1:0,1", "1:2 2:0,1", "2:2"},
		},
		{
			"static members first, range", Range,
			Input{Members: []Member{member("a", "", 1), static("b", "2", 1), static("c", "1", 1)}, Topics: topics(5)},
			[]string{"1:4", "1:2,3", "1:0,1"},
		},
	}
}

func rackTests() []assignTest {
	near := func(m Member, rack string) Member {
		m.Rack = &rack
		return m
	}
	racked := []Topic{{ID: tid(1), Partitions: 4, Racks: [][]string{{"b"}, {"a", "b"}, {"a"}, {"a", "b"}}}}
	return []assignTest{
		{
			"racks", Uniform,
			Input{Members: []Member{near(member("a", "", 1), "a"), near(member("b", "", 1), "b")}, Topics: racked},
			[]string{"1:1,2", "1:0,3"},
		},
		{
			"racks do not move anything", Uniform,
			Input{Members: []Member{near(member("a", "1:0", 1), "a"), near(member("b", "1:2", 1), "b")}, Topics: racked},
			[]string{"1:0,1", "1:2,3"},
		},
		{
			"what is far leaves first", Uniform,
			Input{Members: []Member{near(member("a", "1:0,1,2,3", 1), "a"), near(member("b", "", 1), "b")}, Topics: racked},
			[]string{"1:1,2", "1:0,3"},
		},
		{
			"who has one rack to go to goes first", Uniform, Input{
				Members: []Member{near(member("a", "", 1), "a"), near(member("b", "", 1), "b")},
				Topics:  []Topic{{ID: tid(1), Partitions: 2, Racks: [][]string{{"a", "b"}, {"a"}}}},
			}, []string{"1:1", "1:0"},
		},
		{
			"the rack with the most need", Uniform, Input{
				Members: []Member{near(member("a", "1:3", 1), "a"), near(member("b", "", 1), "b")},
				Topics:  []Topic{{ID: tid(1), Partitions: 4, Racks: [][]string{{"a", "b"}, {"a", "b"}, {"a", "b"}}}},
			}, []string{"1:1,3", "1:0,2"},
		},
		{
			"racks of some", Uniform, Input{
				Members: []Member{member("a", "", 1), near(member("b", "", 1), "b")},
				Topics:  []Topic{{ID: tid(1), Partitions: 4, Racks: [][]string{{"x"}, {"b", "b"}}}},
			}, []string{"1:0,3", "1:1,2"},
		},
	}
}

// homogeneous is a group whose members all subscribe to the same.
func homogeneous(members, perTopic, partitions int) Input {
	in := Input{}
	var ids []topic.ID
	for t := range partitions / perTopic {
		in.Topics = append(in.Topics, Topic{ID: tid(t), Partitions: int32(perTopic)})
		ids = append(ids, tid(t))
	}
	for m := range members {
		in.Members = append(in.Members, Member{ID: fmt.Sprintf("member-%06d", m), Topics: slices.Clone(ids)})
	}
	return in
}

// heterogeneous is a group in which member m subscribes to all topics but every so many.
func heterogeneous(members, perTopic, partitions int) Input {
	in := homogeneous(members, perTopic, partitions)
	for m := range in.Members {
		in.Members[m].Topics = slices.DeleteFunc(in.Members[m].Topics, func(id topic.ID) bool {
			return (int(binary.BigEndian.Uint32(id[:]))+m)%(3+m%7) == 0
		})
	}
	return in
}

func BenchmarkAssign(b *testing.B) {
	for _, shape := range []struct{ members, perTopic, partitions int }{{100, 10, 1000}, {100, 1000, 1000}, {1000, 10, 10_000}, {1000, 1, 10_000}} {
		name := fmt.Sprintf("members=%d,partitions=%d,topics=%d", shape.members, shape.partitions, shape.partitions/shape.perTopic)
		in := homogeneous(shape.members, shape.perTopic, shape.partitions)
		mixed := heterogeneous(shape.members, shape.perTopic, shape.partitions)
		b.Run(name+"/range", func(b *testing.B) { bench(b, Range, in) })
		b.Run(name+"/first", func(b *testing.B) { bench(b, Uniform, in) })
		b.Run(name+"/mixed", func(b *testing.B) { bench(b, Uniform, mixed) })
		for i, owned := range Uniform(in) {
			in.Members[i].Owned = owned
		}
		in.Members = in.Members[1:]
		b.Run(name+"/leave", func(b *testing.B) { bench(b, Uniform, in) })
	}
}

func bench(b *testing.B, assign func(Input) []Partitions, in Input) {
	b.ReportAllocs()
	for b.Loop() {
		assign(in)
	}
}
