package consumer

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// BenchmarkHeartbeat is a member of a settled group of 100 that has nothing to say.
func BenchmarkHeartbeat(b *testing.B) {
	_, g := benchGroup(b, 100, 1000)
	in := Heartbeat{ID: "m42", Epoch: g.Epoch, RebalanceTimeout: -1}
	b.ReportAllocs()
	for b.Loop() {
		ch := g.Change(time.UnixMilli(2), time.Second)
		if _, _, err := ch.Heartbeat(in); err != nil || len(ch.Records) > 0 {
			b.Fatal(err, len(ch.Records))
		}
	}
}

// BenchmarkJoin is a member that joins a settled group of 100 with 1,000 partitions: a new target assignment for all.
func BenchmarkJoin(b *testing.B) {
	_, g := benchGroup(b, 100, 1000)
	in := Heartbeat{ID: "new", RebalanceTimeout: time.Minute, Topics: []string{"t"}, Owned: []record.TopicPartitions{}}
	b.ReportAllocs()
	for b.Loop() {
		ch := g.Change(time.UnixMilli(2), 0)
		if _, _, err := ch.Heartbeat(in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkImage is a topic that changes among 10,000, and 1,000 groups that look at others.
func BenchmarkImage(b *testing.B) {
	w := newWorld(b)
	for i := range 10_000 {
		for _, r := range topicRecords(fmt.Sprint("t", i), i, 1, 1) {
			if err := w.state.Apply(w.state.Version()+1, r); err != nil {
				b.Fatal(err)
			}
		}
	}
	w.show()
	for i := range 1000 {
		w.group(fmt.Sprint("g", i), fmt.Sprint("t", i))
	}
	before := w.state.Image()
	w.show(topicRecords("u", 20_000, 1, 1)...)
	after := w.state.Image()
	b.ReportAllocs()
	for b.Loop() {
		w.index.SetImage(before)
		w.index.SetImage(after)
	}
}

// BenchmarkPatternGroups is 1,000 groups with a pattern that matches 10,000 topics: what they hold, and what a topic that comes and goes costs
// under the lock of their shard.
func BenchmarkPatternGroups(b *testing.B) {
	w := newWorld(b)
	type asked struct {
		text  string
		image *meta.Image
	}
	known := make(map[asked][]string)
	w.index.matcher = func(text string, image *meta.Image) (names []string, err error) { // remembers, as the coordinator's does
		if names = known[asked{text, image}]; names == nil {
			names, err = MatchTopics(text, image)
			known[asked{text, image}] = names
		}
		return names, err
	}
	for i := range 10_000 {
		for _, r := range topicRecords(fmt.Sprint("orders-of-region-", i), i, 1, 1) {
			if err := w.state.Apply(w.state.Version()+1, r); err != nil {
				b.Fatal(err)
			}
		}
	}
	w.show()
	names, err := w.index.match(".*")
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	groups := make([]*Group, 1000)
	for i := range groups {
		pattern := fmt.Sprintf("(.*|%d)", i%10)
		e := record.Regex{Pattern: pattern, Value: &record.RegexValue{Topics: names}}
		decoded, err := record.Decode(e.Record().Key, e.Record().Value)
		if err != nil {
			b.Fatal(err)
		}
		groups[i] = New(fmt.Sprint("g", i), w.index)
		groups[i].ApplyMember(record.ConsumerMember{Member: "m", Value: &record.ConsumerMemberValue{Regex: &pattern}})
		groups[i].ApplyRegex(decoded.(record.Regex))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	image := w.state.Image()
	w.show(topicRecords("u", 20_000, 1, 1)...)
	more := w.state.Image()
	for b.Loop() {
		w.index.SetImage(image)
		w.index.SetImage(more)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(groups)), "B/group")
	runtime.KeepAlive(groups)
}

// benchGroup is a settled group whose members all subscribe to one topic.
func benchGroup(b *testing.B, members, partitions int) (*world, *Group) {
	b.Helper()
	w := newWorld(b)
	w.show(topicRecords("t", 1, partitions, 1)...)
	g := New("g", w.index)
	for i := range members {
		in := Heartbeat{ID: fmt.Sprint("m", i), RebalanceTimeout: time.Minute, Topics: []string{"t"}, Owned: []record.TopicPartitions{}}
		w.change(g, func(ch *Change) error { _, _, err := ch.Heartbeat(in); return err })
	}
	for range 3 {
		for _, id := range g.IDs() {
			in := Heartbeat{ID: id, Epoch: g.Member(id).Epoch, RebalanceTimeout: -1, Owned: g.Target(id).Plain()}
			w.change(g, func(ch *Change) error { _, _, err := ch.Heartbeat(in); return err })
		}
	}
	if g.State() != "Stable" {
		b.Fatal(g.State())
	}
	return w, g
}
