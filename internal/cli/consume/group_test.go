package consume

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func TestBehind(t *testing.T) {
	t.Parallel()
	for want, seconds := range map[string]float64{
		"0s": 0, "1ms": 0.0012, "1s": 1, "2s": 1.6, "1m": 60, "1m1s": 61, "1h": 3600, "1h0m1s": 3601, "1h1m": 3660, "1d0h": 86400, "12d4h": 12*86400 + 4*3600 + 59,
		"1,234d": 1234 * 86400, "53,375d": 1e30,
	} {
		if got := behind(&seconds); got != want {
			t.Errorf("%v: got %s, want %s", seconds, got, want)
		}
	}
	if got := behind(nil); got != "-" {
		t.Errorf("unknown: got %s", got)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		want selection
	}{
		{"t", selection{"t": nil}},
		{"t:0,3-5 u", selection{"t": {0, 3, 4, 5}, "u": nil}},
		{"t:5 t:1,5", selection{"t": {1, 5}}},
		{"t:5 t", selection{"t": nil}},
		{"t t:5", selection{"t": nil}},
	} {
		got, err := parseSelection(strings.Fields(tt.args))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, want -, got +: %s", tt.args, err, diff)
		}
	}
	for _, bad := range []string{":", "t:", ":1", "t:x", "t:-1", "t:3-1", "t:1-", "t:1,", "t:0-2000000000", "t:99999999999"} {
		if got, err := parseSelection([]string{bad}); !errors.As(err, new(session.UsageError)) {
			t.Errorf("%s: got %v, %v", bad, got, err)
		}
	}
}

func TestReadOffsets(t *testing.T) {
	t.Parallel()
	read := func(text string) (map[string]map[int32]int64, error) {
		a := &commands{&session.Session{Stdin: strings.NewReader(text)}}
		return a.readOffsets("-", "g")
	}
	got, err := read("# a comment\nt,0,1\n\"t\", 1, 2\nother,t,2,3\ng,u,0,9223372036854775807\nt,0,1\n")
	want := map[string]map[int32]int64{"t": {0: 1, 1: 2}, "u": {0: 1<<63 - 1}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, want -, got +: %s", err, diff)
	}
	for _, bad := range []string{"", "t,0\n", "t,0,-1\n", "t,-1,1\n", "t,0,x\n", "t,0,1\nt,0,2\n", "a,b,c,d,e\n", "\"t,0,1\n", "other,t,0,1\n"} {
		if got, err := read(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

// TestSeekPlan: whatever is asked for, a partition ends up within its log.
func TestSeekPlan(t *testing.T) {
	t.Parallel()
	at := func(offset int64) kadm.ListedOffsets {
		return kadm.ListedOffsets{"t": {0: {Topic: "t", Offset: offset}}}
	}
	for _, tt := range []struct {
		name string
		want target
		is   int64 // -1: nothing committed
		to   int64 // -1: an error, -2: it stays
		note bool
	}{
		{"start", target{place: session.Place{Kind: session.AtStart}}, -1, 10, false},
		{"end", target{place: session.Place{Kind: session.AtEnd}}, 12, 20, false},
		{"an offset", target{place: session.Place{Kind: session.AtOffset, Offset: 15}}, 12, 15, false},
		{"an offset before", target{place: session.Place{Kind: session.AtOffset, Offset: 9}}, 12, 10, true},
		{"an offset after", target{place: session.Place{Kind: session.AtOffset, Offset: 21}}, 12, 20, true},
		{"before the end", target{place: session.Place{Kind: session.BeforeEnd, Offset: 3}}, 12, 17, false},
		{"before the start", target{place: session.Place{Kind: session.BeforeEnd, Offset: 30}}, 12, 10, false},
		{"a time", target{place: session.Place{Kind: session.AtTime}}, 12, 14, false},
		{"current", target{current: true}, 12, 12, false},
		{"current, outside", target{current: true}, 5, 10, true},
		{"current, none", target{current: true}, -1, -2, false},
		{"shift", target{shift: new(int64(2))}, 12, 14, false},
		{"shift back", target{shift: new(int64(-2))}, 12, 10, false},
		{"shift too far", target{shift: new(int64(1<<63 - 1))}, 12, 20, true},
		{"shift too far back", target{shift: new(int64(-1 << 63))}, 12, 10, true},
		{"shift, none", target{shift: new(int64(1))}, -1, -1, false},
		{"a file", target{file: map[string]map[int32]int64{"t": {0: 13}}}, -1, 13, false},
	} {
		var notes bytes.Buffer
		s := &seeker{
			commands: &commands{&session.Session{ErrOut: &notes}}, want: tt.want, committed: map[string]map[int32]int64{},
			starts: at(10), ends: at(20), times: at(14),
		}
		if tt.is >= 0 {
			s.committed["t"] = map[int32]int64{0: tt.is}
		}
		row, ok, err := s.row("t", 0)
		got := row.After
		switch {
		case err != nil:
			got = -1
		case !ok:
			got = -2
		}
		if got != tt.to || notes.Len() > 0 != tt.note || ok && row.Lag != 20-got {
			t.Errorf("%s: got %d, %+v, %v, want %d; noted %q", tt.name, got, row, err, tt.to, notes.String())
		}
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	offsets := func(text map[int32]int64) map[int32]kadm.ListedOffset {
		all := map[int32]kadm.ListedOffset{}
		for p, at := range text {
			all[p] = kadm.ListedOffset{Topic: "t", Partition: p, Offset: at}
		}
		return all
	}
	var committed kadm.OffsetResponses = map[string]map[int32]kadm.OffsetResponse{"t": {}, "gone": {}}
	add := func(topic string, p int32, at int64) {
		committed[topic][p] = kadm.OffsetResponse{Offset: kadm.Offset{Topic: topic, Partition: p, At: at}}
	}
	add("t", 0, 5)  // behind
	add("t", 1, 0)  // behind what is there no more
	add("t", 2, 99) // past the end
	add("gone", 0, 7)
	g := &groupView{Members: []member{{ID: "m", Topics: []string{"t"}, owns: map[string][]int32{"t": {3}}}}}
	rows := partitionsOf(g, committed)
	starts := kadm.ListedOffsets{"t": offsets(map[int32]int64{0: 0, 1: 4, 2: 0, 3: 0, 4: 0}), "gone": {-1: {Err: kerr.UnknownTopicOrPartition}}}
	ends := kadm.ListedOffsets{"t": offsets(map[int32]int64{0: 9, 1: 9, 2: 9, 3: 9, 4: 9}), "gone": {-1: {Err: kerr.UnknownTopicOrPartition}}}
	var got []string
	for _, p := range measure(rows, starts, ends) {
		got = append(got, strings.Join([]string{p.Topic, known(p.Committed), known(p.End), known(p.Lag), p.Member, p.Error}, " "))
	}
	want := []string{
		"gone 7 - -  the topic or partition is not there any more",
		"t 5 9 4  ", "t 0 9 5  ", "t 99 9 0  ", "t - 9 - m ", "t - 9 -  ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("want -, got +:", diff)
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	g := groupLag{Partitions: []partitionLag{
		{Topic: "t", Partition: 0, Lag: new(int64(0))},
		{Topic: "t", Partition: 1, Lag: new(int64(3))},
		{Topic: "t", Partition: 2, Lag: new(int64(3))},
		{Topic: "t", Partition: 3},
		{Topic: "t", Partition: 4, Lag: new(int64(1))},
	}}
	g.age(map[string]map[int32]time.Time{"t": {1: now.Add(-time.Minute), 4: now.Add(time.Hour)}}, now)
	var got []string
	for _, p := range g.Partitions {
		got = append(got, behind(p.LagSeconds))
	}
	if want := []string{"0s", "1m", "-", "-", "0s"}; !slices.Equal(got, want) || behind(g.LagSeconds) != "1m" {
		t.Errorf("got %v, %s, want %v", got, behind(g.LagSeconds), want)
	}
}

// TestViews: groups of both types, as the broker tells of them, in one form.
func TestViews(t *testing.T) {
	t.Parallel()
	set := make(kadm.TopicsSet)
	set.Add("t", 2, 0)
	target := make(kadm.TopicsSet)
	target.Add("t", 0)
	got := consumerMember(&kadm.ConsumerGroupMember{
		MemberID: "m", InstanceID: new("i"), ClientHost: "/10.0.0.1", MemberEpoch: 7, MemberType: 1, Assignment: set, TargetAssignment: target,
	})
	if got.Host != "10.0.0.1" || got.InstanceID != "i" || *got.Epoch != 7 || got.Type != consumerGroup ||
		showPartitions(got.Assigned) != "t:0,2" || showPartitions(got.Target) != "t:0" {
		t.Errorf("got %+v", got)
	}
	got = consumerMember(&kadm.ConsumerGroupMember{MemberType: typeClassic, Assignment: set, TargetAssignment: set})
	if got.Type != classicGroup || got.Target != nil {
		t.Errorf("a classic member of a consumer group: %+v", got)
	}
	got = classicMember(&kadm.DescribedGroupMember{MemberID: "m", ClientHost: "/10.0.0.1"})
	if got.Type != classicGroup || len(got.Assigned) != 0 || got.Epoch != nil {
		t.Errorf("a member of which nothing is known: %+v", got)
	}
}

func TestHopeless(t *testing.T) {
	t.Parallel()
	for _, err := range []error{kerr.GroupAuthorizationFailed, kerr.FencedInstanceID, kerr.GroupMaxSizeReached} {
		if !hopeless(groupError("g", err, "")) {
			t.Errorf("%v is not hopeless", err)
		}
	}
	for _, err := range []error{kerr.RebalanceInProgress, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.CoordinatorNotAvailable, errors.New("reset")} {
		if hopeless(err) {
			t.Errorf("%v is hopeless", err)
		}
	}
}

func TestCommitted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &groupConsumption{commands: &commands{&session.Session{ErrOut: &out}}}
	req, resp := kmsg.NewPtrOffsetCommitRequest(), kmsg.NewPtrOffsetCommitResponse()
	for i, name := range []string{"u", "t"} {
		rt, rp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		rt.Topic, rp.Partition, rp.Offset = name, 3, int64(10+i)
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
		pt, pp := kmsg.NewOffsetCommitResponseTopic(), kmsg.NewOffsetCommitResponseTopicPartition()
		pt.Topic, pp.Partition = name, 3
		pt.Partitions = append(pt.Partitions, pp)
		resp.Topics = append(resp.Topics, pt)
	}
	c.committed(nil, req, resp, nil)
	resp.Topics[1].Partitions[0].ErrorCode = kerr.RebalanceInProgress.Code
	c.committed(nil, req, resp, nil)
	want := "... committed t:3@11 u:3@10\n... not committed for now: REBALANCE_IN_PROGRESS: " + kerr.RebalanceInProgress.Description + "\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestAssignors(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{classicGroup, consumerGroup} {
		for _, name := range append(strings.Split(assignorNames(protocol), ", "), "") {
			f := groupFlags{name: "g", protocol: protocol, assignor: name}
			if _, err := f.options(); err != nil {
				t.Errorf("%s %s: %v", protocol, name, err)
			}
		}
	}
	if n := len(slices.Collect(maps.Keys(assignors))); n != 8 {
		t.Errorf("%d assignors", n)
	}
}
