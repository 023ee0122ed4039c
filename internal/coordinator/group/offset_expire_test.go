package group

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Times of TestExpiryRules: the retention is an hour, so that what happened two hours ago is old, and what happened now is not.
const (
	ruleNow   int64 = 100_000_000
	ruleOld         = ruleNow - 2*3_600_000
	ruleFresh       = ruleNow - 60_000
)

// expiryRule is a group in some state, as its log has it, and what is left of its offsets.
type expiryRule struct {
	name string
	// is are the records of the group.
	is []record.Entry
	// after is stepped once all is loaded.
	after Input
	// left are the offsets that stay.
	left []string
}

// expires are the offsets of every rule by topic and partition: t and u with an old and a fresh one each, and of u two that say themselves when they go.
var expires = map[string]record.Offset{
	"t-old":    {Topic: "t", Partition: 0, Value: &record.OffsetValue{Committed: ruleOld, Expires: -1}},
	"t-fresh":  {Topic: "t", Partition: 1, Value: &record.OffsetValue{Committed: ruleFresh, Expires: -1}},
	"u-old":    {Topic: "u", Partition: 0, Value: &record.OffsetValue{Committed: ruleOld, Expires: -1}},
	"u-fresh":  {Topic: "u", Partition: 1, Value: &record.OffsetValue{Committed: ruleFresh, Expires: -1}},
	"u-passed": {Topic: "u", Partition: 2, Value: &record.OffsetValue{Committed: ruleFresh, Expires: ruleNow - 1}},
	"u-kept":   {Topic: "u", Partition: 3, Value: &record.OffsetValue{Committed: ruleOld, Expires: ruleNow + 7_200_000}},
}

func classicOf(kind string, changed int64, subscriptions ...[]byte) record.Classic {
	v := &record.ClassicValue{ProtocolType: kind, Generation: 3, Changed: changed}
	for i, s := range subscriptions {
		id := string(rune('a' + i))
		v.Protocol, v.Leader = new("range"), &id
		v.Members = append(v.Members, record.ClassicMember{ID: id, RebalanceTimeoutMs: 60_000, SessionTimeout: 1_000_000, Subscription: s})
	}
	return record.Classic{Group: "g", Value: v}
}

func consumerOf(members map[string][]string) []record.Entry {
	entries := []record.Entry{
		record.ConsumerGroup{Group: "g", Value: &record.ConsumerGroupValue{Epoch: 1}},
		record.TargetEpoch{Group: "g", Value: &record.TargetEpochValue{Epoch: 1}},
	}
	for _, id := range slices.Sorted(maps.Keys(members)) {
		entries = append(entries,
			record.ConsumerMember{Group: "g", Member: id, Value: &record.ConsumerMemberValue{Topics: members[id], RebalanceTimeout: 60_000}},
			record.TargetAssignment{Group: "g", Member: id, Value: &record.TargetAssignmentValue{}},
			record.CurrentAssignment{Group: "g", Member: id, Value: &record.CurrentAssignmentValue{Epoch: 1, PreviousEpoch: 1}},
		)
	}
	return entries
}

var (
	all      = []string{"t-fresh", "t-old", "u-fresh", "u-kept", "u-old", "u-passed"}
	standing = []string{"t-fresh", "u-fresh", "u-kept"}
)

// expiryRules are KIP-211's, and those that came after it (KIP-496, KAFKA-8730, KIP-848).
var expiryRules = []expiryRule{
	{name: "standalone consumers: by commit", left: standing},
	{name: "an empty group without a protocol type: by commit", is: []record.Entry{classicOf("", ruleOld)}, left: standing},
	{name: "empty for long: all but what has its own time", is: []record.Entry{classicOf("consumer", ruleOld)}, left: []string{"u-kept"}},
	{name: "empty for long, of some other protocol", is: []record.Entry{classicOf("connect", ruleOld)}, left: []string{"u-kept"}},
	{name: "empty for a minute: nothing but what has its own time", is: []record.Entry{classicOf("consumer", ruleFresh)}, left: without("u-passed")},
	{name: "empty, not known since when: by commit", is: []record.Entry{classicOf("consumer", -1)}, left: standing},
	{name: "stable: never what is subscribed to", is: []record.Entry{classicOf("consumer", ruleOld, subscription("t"))}, left: append([]string{"t-old"}, standing...)},
	{name: "stable, two members", is: []record.Entry{classicOf("consumer", ruleOld, subscription("t"), subscription("u"))}, left: all},
	{name: "stable, some other protocol: nothing", is: []record.Entry{classicOf("connect", ruleOld, []byte("x"))}, left: all},
	{name: "stable, a subscription that nobody can read: nothing", is: []record.Entry{classicOf("consumer", ruleOld, []byte("x"))}, left: all},
	{
		name: "amid a rebalance: nothing", is: []record.Entry{classicOf("consumer", ruleOld, subscription("t"))}, left: all,
		after: Join{
			Group: "g", ProtocolType: "consumer", Protocols: []record.Protocol{{Name: "range", Metadata: subscription("t")}},
			Session: 1000 * time.Second, Rebalance: time.Hour,
		},
	},
	{name: "next generation: never what is subscribed to", is: consumerOf(map[string][]string{"m": {"t"}}), left: append([]string{"t-old"}, standing...)},
	{name: "next generation, two members", is: consumerOf(map[string][]string{"m": {"t"}, "n": {"u"}}), left: all},
	{name: "next generation, empty: by commit", is: consumerOf(nil), left: standing},
}

func without(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(names, s) })
}

// TestExpiryRules checks each rule, and that a group goes only when nothing of it is left and it has no members: hard case 56.
func TestExpiryRules(t *testing.T) {
	t.Parallel()
	for _, rule := range expiryRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			m, end := expiryMachine(t, rule.is, all)
			if rule.after != nil {
				end = applyAll(t, m, end, m.Step(time.UnixMilli(ruleNow-1), rule.after).Records)
			}
			groupGone := look(t, m, end)
			got := []string{}
			for _, name := range all {
				if e := expires[name]; m.find("g") != nil && m.find("g").offsets.Get(e.Topic, e.Partition) != nil {
					got = append(got, name)
				}
			}
			want := slices.Sorted(slices.Values(rule.left))
			if !slices.Equal(got, want) {
				t.Errorf("left are %q, want %q", got, want)
			}
			if groupGone {
				t.Errorf("the group went with %q left", got)
			}
		})
	}
}

// TestEmptyGroupGoes checks that a group goes with the last of its offsets, or at once if it never had one, but not while it has members.
func TestEmptyGroupGoes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		is      []record.Entry
		after   Input
		offsets []string
		gone    bool
	}{
		{name: "classic", is: []record.Entry{classicOf("consumer", ruleOld)}, offsets: []string{"t-old", "u-passed"}, gone: true},
		{name: "classic without offsets", is: []record.Entry{classicOf("consumer", ruleFresh)}, gone: true},
		{name: "classic with members", is: []record.Entry{classicOf("consumer", ruleFresh, subscription("x"))}, offsets: []string{"t-old"}},
		{
			name: "classic, a member id is given out", is: []record.Entry{classicOf("consumer", ruleOld)}, offsets: []string{"t-old"},
			after: Join{
				Caller: Caller{FreshID: "x"}, Group: "g", ProtocolType: "consumer", Protocols: []record.Protocol{{Name: "range"}}, NeedsKnownID: true,
				Session: 1000 * time.Second, Rebalance: time.Hour,
			},
		},
		{name: "next generation", is: consumerOf(nil), offsets: []string{"t-old", "u-passed"}, gone: true},
		{name: "next generation without offsets", is: consumerOf(nil), gone: true},
		{name: "next generation with members", is: consumerOf(map[string][]string{"m": {"x"}}), offsets: []string{"t-old"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, end := expiryMachine(t, test.is, test.offsets)
			if test.after != nil {
				end = applyAll(t, m, end, m.Step(time.UnixMilli(ruleNow-1), test.after).Records)
			}
			if gone := look(t, m, end); gone != test.gone || (m.find("g") == nil) != test.gone {
				t.Errorf("tombstones of the group: %v, it is left: %v, want it gone: %v", gone, m.find("g") != nil, test.gone)
			}
		})
	}
}

// expiryMachine is loaded with the group's records and offsets, ten minutes before ruleNow.
func expiryMachine(t *testing.T, is []record.Entry, offsets []string) (*Machine, batch.Offset) {
	t.Helper()
	opts := newScript(t).opts
	opts.OffsetsRetention, opts.RetentionInterval = time.Hour, 10*time.Minute
	m := New(opts)
	m.Step(time.UnixMilli(ruleNow), NewImage{Image: newScript(t).image})
	var records []record.Record
	for _, e := range is {
		records = append(records, e.Record())
	}
	for _, name := range offsets {
		e := expires[name]
		e.Group = "g"
		records = append(records, e.Record())
	}
	end := applyAll(t, m, 0, records)
	return m, applyAll(t, m, end, m.Step(time.UnixMilli(ruleNow-600_000), Loaded{}).Records)
}

func applyAll(t *testing.T, m *Machine, at batch.Offset, records []record.Record) batch.Offset {
	t.Helper()
	for _, r := range records {
		if err := m.Apply(at, ruleNow, r.Key, r.Value); err != nil {
			t.Fatal(err)
		}
		at++
	}
	return at
}

// look lets the machine look for old offsets, at ruleNow, and reports whether the group went, too.
func look(t *testing.T, m *Machine, at batch.Offset) bool {
	t.Helper()
	now := time.UnixMilli(ruleNow)
	m.timers.set(timer{kind: expireOffsets}, time.Time{}) // before all else that is due by now
	e := m.Step(now, Tick{})
	if !e.Retractable || len(e.Replies) > 0 {
		t.Errorf("a look for old offsets: retractable %v, %d replies", e.Retractable, len(e.Replies))
	}
	gone := false
	for _, r := range e.Records {
		entry, err := record.Decode(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := entry.(record.Offset); !ok {
			gone = true
		}
		if r.Value != nil {
			t.Errorf("%s is written by a look for old offsets", show(entry))
		}
	}
	applyAll(t, m, at, e.Records)
	return gone
}

// TestLostTombstones checks that a machine whose tombstones cannot be written does not look again and again: each group once, and all of
// them at the next interval.
func TestLostTombstones(t *testing.T) {
	t.Parallel()
	m := New(Options{OffsetsRetention: time.Hour, RetentionInterval: 10 * time.Minute, RecordMax: 250})
	at := batch.Offset(0)
	for _, id := range []string{"a", "b", "c"} {
		for p := range int32(20) {
			m.applyOffset(at, record.Offset{Group: id, Topic: "t", Partition: p, Value: &record.OffsetValue{Expires: -1}})
			at++
		}
	}
	now := time.UnixMilli(ruleNow)
	m.Step(now, Loaded{})
	for range 2 {
		now = m.Next()
		lost := make(map[string]int)
		for steps := 0; m.Next().Sub(now) < time.Second; steps++ {
			if steps > 10 {
				t.Fatalf("more than %d steps", steps)
			}
			now = m.Next()
			for _, r := range m.Step(now, Tick{}).Records {
				entry, err := record.Decode(r.Key, r.Value)
				if err != nil {
					t.Fatal(err)
				}
				lost[entry.(record.Offset).Group]++
			}
		}
		if lost["a"] == 0 || lost["b"] == 0 || lost["c"] == 0 {
			t.Errorf("tombstones were wanted for %v, not for every group", lost)
		}
	}
	// At last they can be written.
	for n := 0; len(m.groups) > 0; n++ {
		if n > 100 {
			t.Fatalf("%d groups are left", len(m.groups))
		}
		now = m.Next()
		at = applyAll(t, m, at, m.Step(now, Tick{}).Records)
	}
}
