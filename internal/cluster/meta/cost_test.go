package meta

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestEditedTwin: lists are edited as one element after the other would be.
func TestEditedTwin(t *testing.T) {
	t.Parallel()
	slow := func(now string, op ConfigOp, value string) string {
		list := slices.DeleteFunc(strings.Split(now, ","), func(s string) bool { return s == "" })
		for element := range strings.SplitSeq(value, ",") {
			at := slices.Index(list, element)
			switch {
			case op == OpAppend && at < 0:
				list = append(list, element)
			case op == OpSubtract && at >= 0:
				list = slices.Delete(list, at, at+1)
			}
		}
		return strings.Join(list, ",")
	}
	r := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		parts := make([]string, r.IntN(6))
		for i := range parts {
			parts[i] = []string{"a", "b", "c", "dd", ""}[r.IntN(5)]
		}
		return strings.Join(parts, ",")
	}
	for range 5000 {
		now, op, value := text(), OpAppend+ConfigOp(r.IntN(2)), text()
		if got, want := edited(now, op, value), slow(now, op, value); got != want {
			t.Fatalf("%q, operation %d of %q: %q, one by one %q", now, op, value, got, want)
		}
	}
}

// TestLongLists: a list that is appended to ends at the limit of a value.
func TestLongLists(t *testing.T) {
	t.Parallel()
	key := "leader.replication.throttled.replicas"
	now := map[string]string{key: strings.Repeat("1:1,", 8000) + "9:9"}
	r := ResourceChanges{Resource: TopicResource("t"), Changes: []ConfigChange{{Name: key, Op: OpAppend, Value: new(strings.Repeat("z", 1000))}}}
	_, err := changed(now, r, listSchema{})
	if !errors.Is(err, kerr.InvalidConfig) || !strings.Contains(err.Error(), "would have 33004 bytes, and a config value has at most 32767") {
		t.Errorf("%v", err)
	}
	*r.Changes[0].Value = "1:2"
	if next, err := changed(now, r, listSchema{}); err != nil || len(next[key]) != 32007 {
		t.Errorf("%d bytes, %v", len(next[key]), err)
	}
}

// listSchema takes every key for a list.
type listSchema struct{}

func (listSchema) Validate(Resource, map[string]string, []string) error { return nil }

func (listSchema) List(Resource, string) (def string, ok bool) { return "", true }

// TestPartitionsMax: what memory is not for is refused, of topics and of more partitions, one by one; internal topics are made all the same.
func TestPartitionsMax(t *testing.T) {
	t.Parallel()
	s := New("cluster", 1)
	run := func(c interface {
		decide(*State) ([]Record, []TopicResult, error)
	},
	) (refused []bool) {
		t.Helper()
		records, results, err := c.decide(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil && !errors.Is(r.Err, kerr.PolicyViolation) {
				t.Errorf("%s: %v", r.Name, r.Err)
			}
			refused = append(refused, r.Err != nil)
		}
		for _, r := range records {
			if err := s.Apply(s.Version()+1, r); err != nil {
				t.Fatal(err)
			}
		}
		return refused
	}
	if err := s.Apply(0, RegisterBrokerRecord{Broker: Broker{ID: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(1, RegistrationChangeRecord{ID: 1, Fenced: -1}); err != nil {
		t.Fatal(err)
	}
	topics := func(list ...NewTopic) CreateTopics {
		for i := range list {
			list[i].ID[15], list[i].ReplicationFactor = byte(len(list[i].Name))+list[i].Name[0], 1
		}
		return CreateTopics{Topics: list, PartitionsMax: 10}
	}
	if got := run(topics(NewTopic{Name: "a", Partitions: 6}, NewTopic{Name: "b", Partitions: 5}, NewTopic{Name: "c", Partitions: 3})); !slices.Equal(got, []bool{false, true, false}) {
		t.Errorf("6, 5 and 3 partitions: refused %v", got)
	}
	if got := run(CreatePartitions{PartitionsMax: 10, Topics: []MorePartitions{{Topic: "a", Count: 8}, {Topic: "c", Count: 4}}}); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("2 and 1 more: refused %v", got)
	}
	if got := run(topics(NewTopic{Name: "d", Partitions: 1}, NewTopic{Name: "__consumer_offsets", Partitions: 50})); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("one more, and the topic of groups: refused %v", got)
	}
	more := topics(NewTopic{Name: "e", Partitions: 100})
	more.PartitionsMax = 0
	if got := run(more); got[0] {
		t.Error("refused without a limit")
	}
}
