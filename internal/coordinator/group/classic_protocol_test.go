package group

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

func classicWith(kind string, metadata ...[]byte) *classic {
	c := newClassic()
	c.kind = kind
	for i, m := range metadata {
		c.add(&classicMember{id: string(rune('a' + i)), protocols: []record.Protocol{{Name: "range", Metadata: m}}})
	}
	return c
}

func TestSubscribes(t *testing.T) {
	t.Parallel()
	orders, payments := subscription("orders", "users"), subscription("payments")
	for name, tt := range map[string]struct {
		group *classic
		want  map[string]bool
	}{
		"of nobody":             {classicWith(consumerProtocol), map[string]bool{"orders": false}},
		"of all":                {classicWith(consumerProtocol, orders, payments), map[string]bool{"orders": true, "users": true, "payments": true, "other": false}},
		"of none":               {classicWith(consumerProtocol, subscription()), map[string]bool{"orders": false}},
		"unknown":               {classicWith(consumerProtocol, orders, []byte("what?")), map[string]bool{"orders": true, "other": true}},
		"empty":                 {classicWith(consumerProtocol, orders, nil), map[string]bool{"other": true}},
		"cut":                   {classicWith(consumerProtocol, orders[:len(orders)-8]), map[string]bool{"other": true}},
		"more topics than fit":  {classicWith(consumerProtocol, []byte{0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 1, 'x'}), map[string]bool{"other": true}},
		"of another protocol":   {classicWith("connect", orders), map[string]bool{"orders": true, "other": true}},
		"of a version to come":  {classicWith(consumerProtocol, append([]byte{0, 9}, append(orders[2:], 1, 2, 3)...)), map[string]bool{"orders": true, "other": false}},
		"negative topics, none": {classicWith(consumerProtocol, []byte{0, 0, 0xff, 0xff, 0xff, 0xff}), map[string]bool{"other": false}},
	} {
		for topic, want := range tt.want {
			if got := tt.group.subscribes(topic); got != want {
				t.Errorf("%s: subscribes to %s: %t", name, topic, got)
			}
		}
	}
	c := classicWith(consumerProtocol, orders)
	if !c.subscribes("orders") || c.subscribes("payments") {
		t.Error("before another came")
	}
	other := &classicMember{id: "other", protocols: []record.Protocol{{Name: "range", Metadata: payments}}}
	c.add(other)
	if !c.subscribes("payments") {
		t.Error("not when another came")
	}
	c.remove(other)
	if c.subscribes("payments") {
		t.Error("still when it went")
	}
}

// FuzzSubscription: what kmsg takes for a consumer's subscription is read, with the same topics.
func FuzzSubscription(f *testing.F) {
	for version := range int16(4) {
		m := kmsg.NewConsumerMemberMetadata()
		m.Version, m.Topics, m.UserData = version, []string{"orders", ""}, []byte("data")
		m.OwnedPartitions = []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: "orders", Partitions: []int32{0, 1}}}
		f.Add(m.AppendTo(nil))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		topics := subscribedTopics{names: make(map[string]bool)}
		ok := topics.add(b)
		var m kmsg.ConsumerMemberMetadata
		if m.ReadFrom(b) != nil {
			return
		}
		if !ok || slices.ContainsFunc(m.Topics, func(name string) bool { return !topics.names[name] }) || len(topics.names) > len(m.Topics) {
			t.Errorf("read %t %v, want %v", ok, topics.names, m.Topics)
		}
	})
}

// TestClassicOddRecords: whatever a record says of a group, the group is sound with it, and ends.
func TestClassicOddRecords(t *testing.T) {
	t.Parallel()
	numbers := rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, 6_000, math.MaxInt32})
	names := rapid.SampledFrom([]string{"", "a", "b", "c"})
	maybe := rapid.Ptr(names, true)
	rapid.Check(t, func(t *rapid.T) {
		m, now := floodMachine(rapid.IntRange(1, 3).Draw(t, "size"))
		for at := range rapid.IntRange(1, 3).Draw(t, "records") {
			v := &record.ClassicValue{
				ProtocolType: names.Draw(t, "type"), Generation: numbers.Draw(t, "generation"), Protocol: maybe.Draw(t, "protocol"),
				Leader: maybe.Draw(t, "leader"), Changed: int64(numbers.Draw(t, "changed")),
			}
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				v.Members = append(v.Members, record.ClassicMember{
					ID: names.Draw(t, "id"), InstanceID: maybe.Draw(t, "instance"), RebalanceTimeoutMs: numbers.Draw(t, "rebalance"),
					SessionTimeout: rapid.SampledFrom([]int32{math.MinInt32, 0, 6_000, 100_000}).Draw(t, "session"), Subscription: []byte("x"),
				})
			}
			r := record.Classic{Group: "g", Value: v}.Record()
			if err := m.Apply(batch.Offset(at), 0, r.Key, r.Value); err != nil {
				t.Fatal(err)
			}
		}
		m.Step(now, Loaded{})
		for at := batch.Offset(10); ; at++ {
			if err := checkClassic(m, nil); err != nil {
				t.Fatal(err)
			}
			if m.Next().IsZero() {
				break
			}
			now = slices.MaxFunc([]time.Time{now, m.Next()}, time.Time.Compare)
			for _, r := range m.Step(now, Tick{}).Records {
				if err := m.Apply(at, 0, r.Key, r.Value); err != nil {
					t.Fatal(err)
				}
			}
		}
		if g := m.find("g"); g.state() != "Empty" {
			t.Fatalf("the group is %s", g.state())
		}
	})
}
