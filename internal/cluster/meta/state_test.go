package meta

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// shown is an image as plain data, for comparing.
type shown struct {
	Brokers  []Broker
	Topics   []Topic
	Features []Feature
	Configs  map[Resource]map[string]string
}

func show(i *Image) shown {
	s := shown{Brokers: slices.Clone(i.Brokers), Features: slices.Clone(i.Features), Configs: map[Resource]map[string]string{}}
	for _, t := range i.Topics {
		own := *t
		own.Partitions = slices.Clone(t.Partitions)
		s.Topics = append(s.Topics, own)
	}
	for r, c := range i.Configs() {
		s.Configs[r] = maps.Clone(c)
	}
	return s
}

// same compares images as plain data; nil and empty lists are the same.
func same(t *rapid.T, what string, want, got shown) {
	t.Helper()
	if diff := cmp.Diff(fmt.Sprintf("%+v", want.Topics), fmt.Sprintf("%+v", got.Topics)); diff != "" {
		t.Fatalf("%s: topics differ\n%s", what, diff)
	}
	if diff := cmp.Diff(want.Configs, got.Configs); diff != "" {
		t.Fatalf("%s: configs differ\n%s", what, diff)
	}
	if fmt.Sprintf("%+v %+v", want.Brokers, want.Features) != fmt.Sprintf("%+v %+v", got.Brokers, got.Features) {
		t.Fatalf("%s: brokers or features differ:\n%+v\n%+v", what, want, got)
	}
}

// model drives a state with random commands and remembers everything.
type model struct {
	state *State
	log   [][]byte
	kept  []keptImage
	ids   byte
}

type keptImage struct {
	image *Image
	shown shown
}

func names() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "a.b", "a_b", "d-e"})
}

func run[R any](t *rapid.T, m *model, c Command[R]) {
	records, _, err := Decide(m.state, c)
	if err != nil {
		return
	}
	again, _, _ := Decide(m.state, c)
	if !bytes.Equal(encoded(records), encoded(again)) {
		t.Fatalf("%T decided twice differs", c)
	}
	for _, r := range records {
		value := AppendRecord(nil, r)
		decoded, err := DecodeRecord(value)
		if err != nil {
			t.Fatalf("%#v: %v", r, err)
		}
		if err := m.state.Apply(m.state.Version()+1, decoded); err != nil {
			t.Fatalf("own record: %v", err)
		}
		m.log = append(m.log, value)
	}
	image := m.state.Image()
	m.kept = append(m.kept, keptImage{image, show(image)})
}

func encoded(records []Record) []byte {
	var all []byte
	for _, r := range records {
		all = AppendRecord(all, r)
	}
	return all
}

func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"register": func(t *rapid.T) {
			run(t, m, RegisterBroker{ID: rapid.Int32Range(1, 3).Draw(t, "id"), Offset: m.state.Version() + 1, Alone: rapid.Bool().Draw(t, "alone")})
		},
		"elect": func(t *rapid.T) {
			run(t, m, ElectLeaders{Broker: rapid.Int32Range(1, 3).Draw(t, "id"), Renew: rapid.Bool().Draw(t, "renew")})
		},
		"create": func(t *rapid.T) {
			m.ids++
			run(t, m, CreateTopics{Schema: testSchema{}, Topics: []NewTopic{{
				Name: names().Draw(t, "name"), ID: topic.ID{0: m.ids}, Partitions: rapid.Int32Range(1, 4).Draw(t, "partitions"),
				ReplicationFactor: rapid.Int16Range(1, 3).Draw(t, "factor"),
				Configs:           []NewConfig{{Name: "retention.ms", Value: new("5")}},
			}}})
		},
		"delete": func(t *rapid.T) { run(t, m, DeleteTopics{Topics: []TopicRef{{Name: names().Draw(t, "name")}}}) },
		"grow": func(t *rapid.T) {
			run(t, m, CreatePartitions{Topics: []MorePartitions{{Topic: names().Draw(t, "name"), Count: rapid.Int32Range(1, 6).Draw(t, "count")}}})
		},
		"alter": func(t *rapid.T) {
			c := ConfigChange{Name: "cleanup.policy", Op: ConfigOp(rapid.IntRange(0, 3).Draw(t, "op")), Value: new(rapid.SampledFrom([]string{"delete", "compact"}).Draw(t, "value"))}
			run(t, m, AlterConfigs{Schema: testSchema{}, Resources: []ResourceChanges{{Resource: TopicResource(names().Draw(t, "name")), Changes: []ConfigChange{c}}}})
		},
		"features": func(t *rapid.T) {
			run(t, m, SetFeatures{Features: []Feature{{Name: "metadata.version", Level: rapid.Int16Range(0, 3).Draw(t, "level")}}})
		},
		"producers": func(t *rapid.T) {
			run(t, m, AllocateProducerIDs{Broker: 1, Epoch: m.state.brokers[1].Epoch})
		},
		"check": m.check,
	}
}

// check replays the log, with and without images in between, and a snapshot; and looks whether any image changed.
func (m *model) check(t *rapid.T) {
	want := show(m.state.Image())
	replayed, peeked := New("cluster", 1), New("cluster", 1)
	for i, value := range m.log {
		r, _ := DecodeRecord(value)
		for _, s := range []*State{replayed, peeked} {
			if err := s.Apply(batch.Offset(i), r); err != nil {
				t.Fatal(err)
			}
		}
		peeked.Image()
	}
	same(t, "replay", want, show(replayed.Image()))
	same(t, "replay with images", want, show(peeked.Image()))
	restored := New("cluster", 1)
	snapshot := m.state.Snapshot()
	for i, r := range snapshot {
		if err := restored.Apply(batch.Offset(i), r); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "snapshot", want, show(restored.Image()))
	if restored.nextProducerID != m.state.nextProducerID || !maps.Equal(restored.collision, m.state.collision) {
		t.Fatalf("snapshot: next producer id %d, collisions %v; want %d, %v",
			restored.nextProducerID, restored.collision, m.state.nextProducerID, m.state.collision)
	}
	if !bytes.Equal(encoded(restored.Snapshot()), encoded(snapshot)) {
		t.Fatal("a snapshot of a restored snapshot differs")
	}
	m.kept = m.kept[max(0, len(m.kept)-8):]
	for _, k := range m.kept {
		same(t, "an old image", k.shown, show(k.image))
	}
}

func TestStateProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{state: New("cluster", 1)}
		t.Repeat(m.actions())
		m.check(t)
	})
}

// TestImageOfMany creates topics one by one, taking an image after each.
func TestImageOfMany(t *testing.T) {
	t.Parallel()
	s := New("cluster", 1)
	apply := func(r Record) {
		if err := s.Apply(s.Version()+1, r); err != nil {
			t.Fatal(err)
		}
	}
	apply(RegisterBrokerRecord{Broker: Broker{ID: 1}})
	const n = 4_000
	for i := range n {
		id := topic.ID{0: byte(i >> 8), 1: byte(i), 15: 1}
		apply(TopicRecord{Name: fmt.Sprintf("topic-%05d", i*7919%n), ID: id})
		apply(PartitionRecord{TopicID: id, Partition: Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
		if got := len(s.Image().Topics); got != i+1 {
			t.Fatalf("%d topics after %d", got, i+1)
		}
	}
	image := s.Image()
	if !slices.IsSortedFunc(image.Topics, func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("topics are not sorted by name")
	}
	for _, want := range image.Topics {
		if image.Topic(want.Name) != want || image.TopicByID(want.ID) != want {
			t.Fatalf("topic %s is not found", want.Name)
		}
	}
}
