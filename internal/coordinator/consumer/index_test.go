package consumer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// world is metadata, and an index that sees it.
type world struct {
	t     testing.TB
	state *meta.State
	index *Index
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, state: meta.New("cluster", 1), index: NewIndex([]string{"uniform", "range"}, 1<<20, nil)}
	w.show()
	return w
}

func (w *world) show(records ...meta.Record) {
	w.t.Helper()
	for _, r := range records {
		if err := w.state.Apply(w.state.Version()+1, r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.index.SetImage(w.state.Image())
}

func topicRecords(name string, id, partitions int, replicas ...int32) []meta.Record {
	list := []meta.Record{meta.TopicRecord{Name: name, ID: topicID(id)}}
	for i := range partitions {
		list = append(list, meta.PartitionRecord{Index: int32(i), TopicID: topicID(id), Partition: meta.Partition{
			Replicas: replicas, ISR: replicas, Leader: replicas[0],
		}})
	}
	return list
}

// group is one whose members subscribe to topics, or patterns if they begin with "/".
func (w *world) group(id string, subscriptions ...string) *Group {
	g := New(id, w.index)
	for i, s := range subscriptions {
		in := Heartbeat{ID: fmt.Sprint("m", i), RebalanceTimeout: time.Minute, Topics: []string{s}, Owned: []record.TopicPartitions{}}
		if s[0] == '/' {
			pattern := s[1:]
			in.Topics, in.Regex = nil, &pattern
		}
		w.change(g, func(ch *Change) error { _, _, err := ch.Heartbeat(in); return err })
	}
	return g
}

// change applies what a change emits.
func (w *world) change(g *Group, change func(*Change) error) {
	w.t.Helper()
	ch := g.Change(time.UnixMilli(1), 0)
	if err := change(ch); err != nil {
		w.t.Fatal(err)
	}
	for _, r := range ch.Records {
		entry, err := record.Decode(r.Key, r.Value)
		if err != nil {
			w.t.Fatal(err)
		}
		switch e := entry.(type) {
		case record.ConsumerGroup:
			g.ApplyEpoch(*e.Value)
		case record.ConsumerMember:
			g.ApplyMember(e)
		case record.TargetEpoch:
			g.ApplyTargetEpoch(e)
		case record.TargetAssignment:
			g.ApplyTarget(e)
		case record.CurrentAssignment:
			g.ApplyCurrent(e)
		case record.Regex:
			g.ApplyRegex(e)
		}
	}
}

// TestIndexFindsGroups: a change marks the groups that look at what has changed, and those with patterns if a topic came or went. The next
// heartbeat begins an epoch of the groups whose topics have changed, and of no others.
func TestIndexFindsGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rack := "x"
	w.show(slices.Concat(topicRecords("a", 1, 1, 1), topicRecords("ab", 2, 1, 1))...)
	groups := map[string]*Group{
		"a": w.group("a", "a"), "b": w.group("b", "b"), "a.*": w.group("a.*", "/a.*"), "a+b": w.group("a+b", "b", "a"), "c": w.group("c", "/c"),
	}
	ids := []string{"a", "b", "a.*", "a+b", "c"}
	patterns := []string{"a.*", "c"}
	expect := func(what string, stale, regexes, begin []string) {
		t.Helper()
		for _, id := range ids {
			g := groups[id]
			if g.stale != slices.Contains(stale, id) || g.staleRegexes != slices.Contains(regexes, id) {
				t.Errorf("%s: group %s: stale %v, its patterns %v", what, id, g.stale, g.staleRegexes)
			}
			before := g.Epoch
			w.change(g, func(ch *Change) error {
				_, _, err := ch.Heartbeat(Heartbeat{ID: "m0", Epoch: g.Member("m0").Epoch, RebalanceTimeout: -1})
				return err
			})
			if begins := g.Epoch > before; begins != slices.Contains(begin, id) {
				t.Errorf("%s: group %s begins an epoch: %v", what, id, begins)
			}
			if g.stale || g.staleRegexes {
				t.Errorf("%s: group %s is still marked", what, id)
			}
		}
	}
	w.show(meta.NoOpRecord{})
	expect("nothing", nil, nil, nil)
	w.show(topicRecords("z", 9, 1, 1)...)
	expect("a topic that nobody looks at", nil, patterns, nil)
	w.show(topicRecords("abc", 3, 1, 1)...)
	expect("a topic that a pattern matches", nil, patterns, []string{"a.*"})
	w.show(meta.PartitionRecord{Index: 1, TopicID: topicID(1), Partition: meta.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
	expect("a topic grows", []string{"a", "a.*", "a+b"}, nil, []string{"a", "a.*", "a+b"})
	w.show(topicRecords("b", 4, 1, 1)...)
	expect("a topic that is waited for", []string{"b", "a+b"}, patterns, []string{"b", "a+b"})
	w.show(meta.RemoveTopicRecord{ID: topicID(2)})
	expect("a topic goes", nil, patterns, []string{"a.*"})
	w.show(meta.RegisterBrokerRecord{Broker: meta.Broker{ID: 1, Rack: &rack}})
	expect("racks", ids, ids, []string{"a", "b", "a.*", "a+b"})
}

// TestIndexForgets: when all members are gone, nothing is left of a group in the index.
func TestIndexForgets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show(slices.Concat(topicRecords("a", 1, 1, 1), topicRecords("ab", 2, 1, 1))...)
	gone := w.group("gone", "a", "/a.*", "b", "/a.*")
	dropped := w.group("dropped", "a", "/a.*")
	if len(w.index.byTopic) == 0 || len(w.index.byPattern) == 0 {
		t.Fatal("nothing is looked at")
	}
	for _, id := range slices.Clone(gone.IDs()) {
		w.change(gone, func(ch *Change) error { ch.Fence("leave", "", gone.Member(id)); return nil })
	}
	dropped.Drop()
	if len(w.index.byTopic)+len(w.index.byPattern) != 0 {
		t.Errorf("left: %v %v", w.index.byTopic, w.index.byPattern)
	}
	if gone.State() != "Empty" || gone.Subscribes("a") || len(gone.regexes)+len(gone.owners)+len(gone.topics) != 0 {
		t.Errorf("left in the group: %+v", gone)
	}
}

// TestMetadataHash: the hash is the same from run to run, since records keep it, and differs with all that an assignment depends on.
func TestMetadataHash(t *testing.T) {
	t.Parallel()
	rack := "x"
	base := slices.Concat(topicRecords("a", 1, 2, 1), topicRecords("b", 2, 1, 1))
	worlds := map[string][]meta.Record{
		"base":         base,
		"more":         slices.Concat(topicRecords("a", 1, 3, 1), topicRecords("b", 2, 1, 1)),
		"made anew":    slices.Concat(topicRecords("a", 3, 2, 1), topicRecords("b", 2, 1, 1)),
		"one only":     topicRecords("a", 1, 2, 1),
		"racks":        append(slices.Clone(base), meta.RegisterBrokerRecord{Broker: meta.Broker{ID: 1, Rack: &rack}}),
		"other leader": slices.Concat(topicRecords("a", 1, 2, 2), topicRecords("b", 2, 1, 2)),
		"none":         nil,
	}
	hashes := make(map[string]int64)
	for name, records := range worlds {
		w := newWorld(t)
		w.show(records...)
		hashes[name] = w.index.metadataHash([]string{"a", "b", "not there"})
		if again := w.index.metadataHash([]string{"a", "b"}); again != hashes[name] {
			t.Errorf("%s: %d, and %d without a topic that is not there", name, hashes[name], again)
		}
	}
	if hashes["base"] != 7_262_118_046_571_316_001 || hashes["none"] != 0 || hashes["base"] != hashes["other leader"] {
		t.Errorf("hashes %v", hashes)
	}
	for _, name := range []string{"more", "made anew", "one only", "racks"} {
		if hashes[name] == hashes["base"] {
			t.Errorf("%s has the hash of base", name)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		pattern string
		yes, no string
		err     error
	}{
		{pattern: "a", yes: "a", no: "ab"},
		{pattern: "a|ab", yes: "ab", no: "b"},
		{pattern: "^a$", yes: "a", no: "aa"},
		{pattern: "(?i)A", yes: "a", no: "b"},
		{pattern: `\w+-[0-9]{2}`, yes: "orders-10", no: "orders-1"},
		{pattern: "", yes: "", no: "a"},
		{pattern: "a)(b", err: kerr.InvalidRegularExpression},
		{pattern: "a(", err: kerr.InvalidRegularExpression},
		{pattern: `(a)\1`, err: kerr.InvalidRegularExpression},
		{pattern: "a{1001}", err: kerr.InvalidRegularExpression},
		{pattern: "\xff", err: kerr.InvalidRegularExpression},
		{pattern: strings.Repeat("a{1000}", 2900), err: kerr.InvalidRegularExpression},
	} {
		w.index.image = &meta.Image{Topics: []*meta.Topic{{Name: c.no}, {Name: c.yes}}}
		names, err := w.index.match(c.pattern)
		switch {
		case !errors.Is(err, c.err):
			t.Errorf("%q: %v", c.pattern, err)
		case err == nil && !slices.Equal(names, []string{c.yes}):
			t.Errorf("%q of %q and %q: %q", c.pattern, c.no, c.yes, names)
		}
	}
}

// TestStoredPatterns: a pattern in the log above a limit, which another coordinator let in, or this one before there was a limit, matches nothing
// after a replay. Its member stays, keeps what the log says that it matched until it is resolved anew, and may subscribe to another.
func TestStoredPatterns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show(topicRecords("a", 1, 1, 1)...)
	bomb, names := strings.Repeat("a{1000}", 2900), []string{"a"}
	g := New("g", w.index)
	g.ApplyMember(record.ConsumerMember{Group: "g", Member: "m0", Value: &record.ConsumerMemberValue{Regex: &bomb}})
	g.ApplyEpoch(record.ConsumerGroupValue{Epoch: 3})
	g.ApplyRegex(record.Regex{Group: "g", Pattern: bomb, Value: &record.RegexValue{Topics: names}})
	g.ApplyTargetEpoch(record.TargetEpoch{Value: &record.TargetEpochValue{Epoch: 3}})
	g.ApplyCurrent(record.CurrentAssignment{Group: "g", Member: "m0", Value: &record.CurrentAssignmentValue{Epoch: 3, PreviousEpoch: 2}})
	g.Loaded()
	if !g.Subscribes("a") {
		t.Error("what the log says that the pattern matches is lost")
	}
	beat := func(in Heartbeat) {
		in.ID, in.Epoch, in.RebalanceTimeout = "m0", g.Member("m0").Epoch, -1
		w.change(g, func(ch *Change) error { _, _, err := ch.Heartbeat(in); return err })
	}
	beat(Heartbeat{})
	w.show(topicRecords("aa", 2, 1, 1)...)
	beat(Heartbeat{})
	if g.Len() != 1 || g.Subscribes("a") || g.Subscribes("aa") {
		t.Errorf("%d members; it subscribes to a: %v", g.Len(), g.Subscribes("a"))
	}
	beat(Heartbeat{Regex: new("a+")})
	if !g.Subscribes("a") || !g.Subscribes("aa") || len(g.regexes) != 1 {
		t.Errorf("another pattern: %v, %d patterns", g.Subscribes("aa"), len(g.regexes))
	}
}

// TestTooManyMatches: a pattern that matches more topics than a record can hold is refused; a group whose pattern comes to match so many keeps the
// topics that it has.
func TestTooManyMatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.index.recordMax = 2000
	w.show(topicRecords("a", 1, 1, 1)...)
	g := w.group("g", "/a.*")
	for i := range 10 {
		w.show(topicRecords("a"+strings.Repeat("x", 200)+strconv.Itoa(i), 10+i, 1, 1)...)
	}
	beat := func(in Heartbeat) error {
		in.ID, in.Epoch, in.RebalanceTimeout = "m0", g.Member("m0").Epoch, -1
		ch := g.Change(time.UnixMilli(1), 0)
		_, _, err := ch.Heartbeat(in)
		return err
	}
	w.change(g, func(ch *Change) error {
		_, _, err := ch.Heartbeat(Heartbeat{ID: "m0", Epoch: g.Member("m0").Epoch, RebalanceTimeout: -1})
		return err
	})
	if !g.Subscribes("a") || g.Subscribes("a"+strings.Repeat("x", 200)+"1") {
		t.Error("the group does not keep what it had")
	}
	if err := beat(Heartbeat{Regex: new("a+x.*")}); !errors.Is(err, kerr.InvalidRegularExpression) || !strings.Contains(err.Error(), "matches 10 topics") {
		t.Errorf("too many topics: %v", err)
	}
	if err := beat(Heartbeat{Regex: new("a+x.*[12]")}); err != nil {
		t.Errorf("two topics: %v", err)
	}
}

func topicID(n int) topic.ID { return topic.ID{14: byte(n >> 8), 15: byte(n)} }
