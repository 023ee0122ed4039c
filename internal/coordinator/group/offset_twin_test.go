package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// offsetTwin says slowly what a machine must do with offsets of groups that have no members: it has a plain map, and no idea of records.
type offsetTwin struct {
	t       *rapid.T
	opts    Options
	machine *Machine
	replica *Machine // is fed with the records only
	image   *meta.Image
	now     time.Time
	log     []logged
	want    map[twinKey]twinOffset
	groups  map[string]time.Time // that there are, and when each was last changed
	ids     map[string]byte      // of the topics there are
	lastID  byte
	token   Token
	loaded  time.Time
}

type twinKey struct {
	group, topic string
	partition    int32
}

type twinOffset struct {
	FetchedPartition
	committed, expires int64
	id                 byte // of the topic at the time; 0: there was none
}

var (
	twinGroups = []string{"", "a", "b"}
	twinTopics = []string{"t", "u", "v"}
)

const (
	twinInterval  = 10 * time.Minute
	twinRetention = time.Hour
)

// TestOffsetTwin runs random histories. After each step every answer is that of the twin, of a machine that was fed with the records, and of
// one that was fed only with those that the reply waits for.
func TestOffsetTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &offsetTwin{t: t, now: scriptEpoch, want: make(map[twinKey]twinOffset), groups: make(map[string]time.Time), ids: make(map[string]byte)}
		w.opts = Options{OffsetMetadataMax: 5, OffsetsRetention: twinRetention, RetentionInterval: twinInterval, RecordMax: rapid.SampledFrom([]int{250, 1 << 20}).Draw(t, "max")}
		for _, name := range twinTopics {
			w.lastID++
			w.ids[name] = w.lastID
		}
		w.setImage()
		w.restart()
		t.Repeat(map[string]func(*rapid.T){
			"commit": w.commit, "again": w.commit, "once more": w.commit,
			"delete offsets": w.deleteOffsets, "delete": w.deleteGroup,
			"wait":         func(t *rapid.T) { w.advance(time.Duration(rapid.IntRange(0, 100).Draw(t, "minutes")) * time.Minute) },
			"delete topic": w.deleteTopic, "create topic": w.createTopic,
			"restart": func(*rapid.T) { w.restart() },
			"":        func(*rapid.T) { w.check() },
		})
	})
}

func (w *offsetTwin) caller() Caller { w.token++; return Caller{Token: w.token} }

// step steps the machine; its records are applied to both, or lost where lose says so and they may be.
func (w *offsetTwin) step(in Input, lose bool) (Effects, bool) {
	e := w.machine.Step(w.now, in)
	if size := batchSize(e.Records); w.opts.RecordMax < size && len(e.Records) > 1 {
		if _, ok := in.(Commit); !ok {
			w.t.Fatalf("%T wants %d bytes in one batch, at most %d fit", in, size, w.opts.RecordMax)
		}
	}
	if lose && e.Retractable && len(e.Records) > 0 {
		return e, false
	}
	for _, r := range e.Records {
		at := batch.Offset(len(w.log))
		w.log = append(w.log, logged{r, w.now.UnixMilli()})
		for _, m := range []*Machine{w.machine, w.replica} {
			if err := m.Apply(at, w.now.UnixMilli(), r.Key, r.Value); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return e, true
}

func batchSize(records []record.Record) int {
	n := 0
	for _, r := range records {
		n += len(r.Key) + len(r.Value) + 10
	}
	return n
}

func (w *offsetTwin) restart() {
	w.machine, w.replica = w.replay(len(w.log)), w.replay(len(w.log))
	w.loaded = w.now
	w.step(Loaded{}, false)
}

func (w *offsetTwin) replay(end int) *Machine {
	m := New(w.opts)
	m.Step(w.now, NewImage{Image: w.image})
	for i, r := range w.log[:end] {
		if err := m.Apply(batch.Offset(i), r.timestamp, r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	return m
}

func (w *offsetTwin) commit(t *rapid.T) {
	in := Commit{Caller: w.caller(), Group: rapid.SampledFrom(twinGroups).Draw(t, "group"), Epoch: -1, Retention: -1, Version: 9}
	if rapid.IntRange(0, 4).Draw(t, "old") == 0 {
		in.Retention = int64(rapid.IntRange(0, 7_200_000).Draw(t, "retention"))
	}
	set := make(map[twinKey]twinOffset)
	for range rapid.IntRange(1, 4).Draw(t, "topics") {
		name := rapid.SampledFrom(twinTopics).Draw(t, "topic")
		ct := CommitTopic{Topic: name}
		for range rapid.IntRange(1, 4).Draw(t, "partitions") {
			p := CommitPartition{
				Partition: int32(rapid.SampledFrom([]int{0, 1, 2, 31, 32, 99}).Draw(t, "partition")), Offset: batch.Offset(rapid.IntRange(0, 1000).Draw(t, "offset")),
				LeaderEpoch: batch.Epoch(rapid.IntRange(-1, 3).Draw(t, "epoch")), Metadata: strings.Repeat("m", rapid.SampledFrom([]int{0, 5, 5, 6}).Draw(t, "metadata")), Timestamp: -1,
			}
			ct.Partitions = append(ct.Partitions, p)
			if len(p.Metadata) > 5 {
				continue
			}
			o := twinOffset{FetchedPartition{p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, nil}, w.now.UnixMilli(), -1, w.ids[name]}
			if in.Retention != -1 {
				o.expires, o.LeaderEpoch = w.now.UnixMilli()+in.Retention, batch.NoEpoch
			}
			set[twinKey{in.Group, name, p.Partition}] = o
		}
		in.Topics = append(in.Topics, ct)
	}
	if _, written := w.step(in, rapid.IntRange(0, 5).Draw(t, "lose") == 0); written {
		maps.Copy(w.want, set)
		if len(set) > 0 {
			w.groups[in.Group] = w.now
		}
	}
}

func (w *offsetTwin) deleteOffsets(t *rapid.T) {
	in := DeleteOffsets{Caller: w.caller(), Group: rapid.SampledFrom(twinGroups[1:]).Draw(t, "group")}
	var gone []twinKey
	for _, name := range twinTopics {
		ft := FetchTopic{Topic: name}
		for _, p := range []int32{0, 1, 2, 31, 32, 99} {
			if rapid.Bool().Draw(t, "partition") {
				ft.Partitions = append(ft.Partitions, p)
				gone = append(gone, twinKey{in.Group, name, p})
			}
		}
		in.Topics = append(in.Topics, ft)
	}
	w.remove(in, rapid.IntRange(0, 5).Draw(t, "lose") == 0, func(k twinKey) bool { return slices.Contains(gone, k) })
}

func (w *offsetTwin) deleteGroup(t *rapid.T) {
	in := Delete{Caller: w.caller(), Group: rapid.SampledFrom(twinGroups).Draw(t, "group")}
	if w.remove(in, rapid.IntRange(0, 5).Draw(t, "lose") == 0, func(k twinKey) bool { return k.group == in.Group }) {
		delete(w.groups, in.Group)
	}
}

// remove steps a deletion until it is answered; false if it was lost.
func (w *offsetTwin) remove(in Input, lose bool, gone func(twinKey) bool) bool {
	e, written := w.step(in, lose)
	if !written {
		return false
	}
	whole, _ := in.(Delete)
	for n := 0; len(e.Replies) == 0; n++ {
		if n > 100 {
			w.t.Fatalf("%+v is not answered", in)
		}
		w.now = w.machine.Next()
		e, _ = w.step(Tick{}, false)
		for _, r := range e.Records { // a look for old offsets may be under way, too
			if k, ok := w.keyOf(r); ok && !gone(k) || !ok && (whole.Group != k.group || whole.Token == 0) {
				w.wentRightly(r)
			}
		}
	}
	if e.Replies[0].Token != in.token() {
		w.t.Fatalf("a reply to %d, want one to %d", e.Replies[0].Token, in.token())
	}
	maps.DeleteFunc(w.want, func(k twinKey, _ twinOffset) bool { return gone(k) })
	return true
}

// advance lets time pass. What goes meanwhile has to be old, or its topic gone; what is so for two intervals has to have gone.
func (w *offsetTwin) advance(by time.Duration) {
	end := w.now.Add(by)
	for next := w.machine.Next(); !next.IsZero() && !next.After(end); next = w.machine.Next() {
		w.now = next
		e, _ := w.step(Tick{}, false)
		for _, r := range e.Records {
			w.wentRightly(r)
		}
	}
	w.now = end
	if overdue := w.now.Add(-2 * twinInterval); overdue.After(w.loaded) {
		for k, o := range w.want {
			if w.old(o, overdue) {
				w.t.Fatalf("%+v is still there: %+v", k, o)
			}
		}
		for id, changed := range w.groups {
			if w.offsetsOf(id) == 0 && changed.Before(overdue) {
				w.t.Fatalf("group %q is still there, it lost its last offset by %v", id, changed)
			}
		}
	}
}

// keyOf is the offset that a record is of; false if it is a group's tombstone.
func (w *offsetTwin) keyOf(r record.Record) (twinKey, bool) {
	entry, err := record.Decode(r.Key, r.Value)
	if err != nil {
		w.t.Fatal(err)
	}
	if e, ok := entry.(record.Classic); ok {
		return twinKey{group: e.Group}, false
	}
	e := entry.(record.Offset)
	return twinKey{e.Group, e.Topic, e.Partition}, true
}

// offsetsOf counts what is committed in a group.
func (w *offsetTwin) offsetsOf(id string) (n int) {
	for k := range w.want {
		if k.group == id {
			n++
		}
	}
	return n
}

func (w *offsetTwin) wentRightly(r record.Record) {
	k, ok := w.keyOf(r)
	if !ok {
		if _, there := w.groups[k.group]; !there || r.Value != nil || w.offsetsOf(k.group) > 0 {
			w.t.Fatalf("a record of group %q at a tick, which has %d offsets", k.group, w.offsetsOf(k.group))
		}
		delete(w.groups, k.group)
		return
	}
	w.groups[k.group] = w.now
	o, ok := w.want[k]
	if !ok || r.Value != nil {
		w.t.Fatalf("a record of %+v at a tick", k)
	}
	if !w.old(o, w.now) && !w.gone(k, o) {
		w.t.Fatalf("%+v went too early: %+v at %v", k, o, w.now)
	}
	delete(w.want, k)
}

func (w *offsetTwin) old(o twinOffset, at time.Time) bool {
	if o.expires != -1 {
		return at.UnixMilli() >= o.expires
	}
	return at.UnixMilli()-o.committed >= twinRetention.Milliseconds()
}

// gone reports whether the topic of o is not there, or is another one by now, or was none when it was committed.
func (w *offsetTwin) gone(k twinKey, o twinOffset) bool { return w.ids[k.topic] != o.id || o.id == 0 }

func (w *offsetTwin) deleteTopic(t *rapid.T) {
	name := rapid.SampledFrom(twinTopics).Draw(t, "topic")
	if w.ids[name] == 0 {
		return
	}
	delete(w.ids, name)
	if rapid.Bool().Draw(t, "again") {
		w.lastID++
		w.ids[name] = w.lastID
	}
	w.setImage()
	w.replica.Step(w.now, NewImage{Image: w.image})
	w.step(NewImage{Image: w.image}, false)
	w.advance(time.Second)
	for k, o := range w.want {
		if k.topic == name {
			t.Fatalf("%+v outlives its topic: %+v", k, o)
		}
	}
}

func (w *offsetTwin) createTopic(t *rapid.T) {
	name := rapid.SampledFrom(twinTopics).Draw(t, "topic")
	if w.ids[name] != 0 {
		return
	}
	w.lastID++
	w.ids[name] = w.lastID
	w.setImage()
	w.replica.Step(w.now, NewImage{Image: w.image})
	w.step(NewImage{Image: w.image}, false)
}

func (w *offsetTwin) setImage() {
	state := meta.New("cluster", 1)
	var at batch.Offset
	for _, name := range twinTopics {
		if id := w.ids[name]; id != 0 {
			at++
			if err := state.Apply(at, meta.TopicRecord{Name: name, ID: topic.ID{15: id}}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.image = state.Image()
}

// check asks all there is to ask.
func (w *offsetTwin) check() {
	for _, id := range twinGroups {
		want := w.expected(id)
		some := Fetch{Group: id, Epoch: -1, Topics: []FetchTopic{{Topic: "t", Partitions: []int32{99, 0}}, {Topic: "v", Partitions: []int32{31}}}}
		for _, in := range []Fetch{{Group: id, Epoch: -1}, some} {
			in.Caller = w.caller()
			got := w.ask(w.machine, in)
			wanted := show(FetchResult{Topics: want(in.Topics)})
			if shown := show(got.Result); shown != wanted {
				w.t.Fatalf("group %q has\n%s, want\n%s", id, shown, wanted)
			}
			w.same(in, got)
		}
	}
	in := List{Caller: w.caller()}
	got := w.ask(w.machine, in)
	listed := []Listed{}
	for _, id := range slices.Sorted(maps.Keys(w.groups)) {
		listed = append(listed, Listed{Group: id, State: "Empty", Type: "classic"})
	}
	if shown, wanted := show(got.Result), show(ListResult{Groups: listed}); shown != wanted {
		w.t.Fatalf("listed are %s, want %s", shown, wanted)
	}
	w.same(in, got)
}

// same checks that the replica, and a machine that knows only what the reply waits for, give the same answer.
func (w *offsetTwin) same(in Input, got Reply) {
	for i, m := range []*Machine{w.replica, w.replay(int(got.Wait))} {
		if other := w.ask(m, in); show(other.Result) != show(got.Result) {
			w.t.Fatalf("%s: machine %d says\n%s, want\n%s after %d", show(in), i, show(other.Result), show(got.Result), got.Wait)
		}
	}
}

func (w *offsetTwin) ask(m *Machine, in Input) Reply {
	e := m.Step(w.now, in)
	if len(e.Replies) != 1 || len(e.Records) != 0 || e.Replies[0].Token != in.token() {
		w.t.Fatalf("%s: %d replies and %d records", show(in), len(e.Replies), len(e.Records))
	}
	return e.Replies[0]
}

// expected is what a fetch of a group shows: of some topics, or of all.
func (w *offsetTwin) expected(id string) func([]FetchTopic) []FetchedTopic {
	return func(asked []FetchTopic) []FetchedTopic {
		list := []FetchedTopic{}
		for _, t := range asked {
			ft := FetchedTopic{Topic: t.Topic, ID: topic.ID{15: w.ids[t.Topic]}}
			for _, p := range t.Partitions {
				o, ok := w.want[twinKey{id, t.Topic, p}]
				if !ok {
					o.FetchedPartition = FetchedPartition{Partition: p, Offset: -1, LeaderEpoch: -1}
				}
				ft.Partitions = append(ft.Partitions, o.FetchedPartition)
			}
			list = append(list, ft)
		}
		if asked != nil {
			return list
		}
		keys := slices.SortedFunc(maps.Keys(w.want), func(a, b twinKey) int {
			return strings.Compare(fmt.Sprintf("%s %3d", a.topic, a.partition), fmt.Sprintf("%s %3d", b.topic, b.partition))
		})
		for _, k := range keys {
			if k.group != id {
				continue
			}
			if n := len(list); n == 0 || list[n-1].Topic != k.topic {
				list = append(list, FetchedTopic{Topic: k.topic, ID: topic.ID{15: w.ids[k.topic]}})
			}
			last := &list[len(list)-1]
			last.Partitions = append(last.Partitions, w.want[k].FetchedPartition)
		}
		return list
	}
}
