package groupapi_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

func commitRequest(name string, partitions ...int32) *kmsg.OffsetCommitRequest {
	m := kmsg.NewPtrOffsetCommitRequest()
	m.Group, m.MemberID, m.InstanceID, m.Generation, m.RetentionTimeMillis = "g", "m-1", new("i-1"), 4, 99
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = name
	for _, index := range partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Timestamp, p.Metadata = index, 100+int64(index), 5, 1234, new("note")
		t.Partitions = append(t.Partitions, p)
	}
	m.Topics = append(m.Topics, t)
	return m
}

func TestOffsetCommit(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	for i, v := range versions(t, kmsg.OffsetCommit) {
		m := commitRequest("t", 0, 2, 1, -1)
		other := commitRequest("none", 0).Topics[0]
		m.Topics = append(m.Topics, other)
		m.Topics[0].TopicID, m.Topics[1].TopicID = id, topic.ID{9}
		n.fake.answer = func(in group.Input) (any, bool) {
			r := group.CommitResult{Topics: in.(group.Commit).Topics}
			r.Topics[0].Partitions[2].Err = kerr.OffsetMetadataTooLarge
			return r, true
		}
		resp := ask[*kmsg.OffsetCommitResponse](n, v, m)
		want := group.Commit{Caller: caller(group.Token(i + 1)), Group: "g", Epoch: -1, Version: v, Retention: -1}
		if v >= 1 {
			want.Member, want.Epoch = "m-1", 4
		}
		if v >= 2 && v <= 4 {
			want.Retention = 99
		}
		if v >= 7 {
			want.InstanceID = new("i-1")
		}
		got := n.fake.last().in.(group.Commit)
		topics := got.Topics
		got.Topics = nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("v%d: want -, got +: %s", v, d)
		}
		p := topics[0].Partitions[0]
		if topics[0].Topic != "t" || topics[0].ID != id || p.Offset != 100 || p.Metadata != "note" || (p.LeaderEpoch == 5) != (v >= 6) || (p.Timestamp == 1234) != (v == 1) {
			t.Errorf("v%d: %+v", v, topics[0])
		}
		wantCommitted(t, v, resp, id)
	}
}

func wantCommitted(t *testing.T, v int16, resp *kmsg.OffsetCommitResponse, id [16]byte) {
	t.Helper()
	unknown := error(kerr.UnknownTopicOrPartition)
	if v >= 10 {
		unknown = kerr.UnknownTopicID
		if resp.Topics[0].TopicID != id || resp.Topics[1].TopicID != (topic.ID{9}) {
			t.Errorf("v%d: ids %+v", v, resp.Topics)
		}
	} else if resp.Topics[0].Topic != "t" || resp.Topics[1].Topic != "none" {
		t.Errorf("v%d: names %+v", v, resp.Topics)
	}
	for i, want := range []error{nil, kerr.UnknownTopicOrPartition, kerr.OffsetMetadataTooLarge, kerr.UnknownTopicOrPartition} {
		wantCode(t, "partition", resp.Topics[0].Partitions[i].ErrorCode, want)
	}
	wantCode(t, "unknown topic", resp.Topics[1].Partitions[0].ErrorCode, unknown)
}

// TestOffsetCommitNothing: a group is not asked about topics that do not exist.
func TestOffsetCommitNothing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, v := range versions(t, kmsg.OffsetCommit) {
		resp := ask[*kmsg.OffsetCommitResponse](n, v, commitRequest("none", 3))
		if resp.Topics[0].Partitions[0].Partition != 3 || resp.Topics[0].Partitions[0].ErrorCode == 0 || n.fake.last() != nil {
			t.Errorf("v%d: %+v", v, resp)
		}
		m := commitRequest("none") // a topic without partitions is not there, as in Kafka
		if resp = ask[*kmsg.OffsetCommitResponse](n, v, m); len(resp.Topics) != 0 || n.fake.last() != nil {
			t.Errorf("v%d: %+v", v, resp)
		}
	}
}

// TestOffsetCommitFails: what is wrong with the group is said of each partition that had nothing wrong.
func TestOffsetCommitFails(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.create("t", 1)
	n.fails(kerr.IllegalGeneration)
	resp := ask[*kmsg.OffsetCommitResponse](n, 8, commitRequest("t", 0, 1))
	wantCode(t, "there", resp.Topics[0].Partitions[0].ErrorCode, kerr.IllegalGeneration)
	wantCode(t, "not there", resp.Topics[0].Partitions[1].ErrorCode, kerr.UnknownTopicOrPartition)
}

func fetchRequest(v int16, id [16]byte, partitions ...int32) *kmsg.OffsetFetchRequest {
	m := kmsg.NewPtrOffsetFetchRequest()
	m.RequireStable = true
	if v < 8 {
		m.Group = "g"
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = "t", partitions
		m.Topics = append(m.Topics, t)
		return m
	}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberID, g.MemberEpoch = "g", new("m-1"), 3
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.TopicID, t.Partitions = "t", id, partitions
	g.Topics = append(g.Topics, t)
	m.Groups = append(m.Groups, g)
	return m
}

// flat is the first topic of a response of any version.
func flat(t *testing.T, v int16, resp *kmsg.OffsetFetchResponse) (topics int, partitions []kmsg.OffsetFetchResponseGroupTopicPartition, code int16) {
	t.Helper()
	if v >= 8 {
		if len(resp.Groups) == 0 || resp.Groups[0].Group != "g" {
			t.Fatalf("v%d: %+v", v, resp)
		}
		g := resp.Groups[0]
		if len(g.Topics) > 0 {
			partitions = g.Topics[0].Partitions
		}
		return len(g.Topics), partitions, g.ErrorCode
	}
	if len(resp.Topics) > 0 {
		for _, p := range resp.Topics[0].Partitions {
			q := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			q.Partition, q.Offset, q.LeaderEpoch, q.Metadata, q.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			partitions = append(partitions, q)
		}
	}
	return len(resp.Topics), partitions, resp.ErrorCode
}

func TestOffsetFetch(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	for i, v := range versions(t, kmsg.OffsetFetch) {
		n.fake.answer = func(in group.Input) (any, bool) {
			f := in.(group.Fetch)
			return group.FetchResult{Topics: []group.FetchedTopic{{Topic: "t", ID: f.Topics[0].ID, Partitions: []group.FetchedPartition{
				{Partition: 0, Offset: 7, LeaderEpoch: 2, Metadata: "note"}, {Partition: 9, Offset: -1, LeaderEpoch: -1},
			}}}}, true
		}
		resp := ask[*kmsg.OffsetFetchResponse](n, v, fetchRequest(v, id, 0, 9))
		want := group.Fetch{
			Caller: caller(group.Token(i + 1)), Group: "g", Epoch: -1, RequireStable: v >= 7,
			Topics: []group.FetchTopic{{Topic: "t", Partitions: []int32{0, 9}}},
		}
		if v >= 9 {
			want.Member, want.Epoch = new("m-1"), 3
		}
		if v >= 10 {
			want.Topics[0].ID = id
		}
		if d := cmp.Diff(want, n.fake.last().in); d != "" {
			t.Errorf("v%d: want -, got +: %s", v, d)
		}
		topics, ps, code := flat(t, v, resp)
		if code != 0 || topics != 1 || len(ps) != 2 || ps[0].Offset != 7 || *ps[0].Metadata != "note" || ps[1].Offset != -1 || ps[1].Partition != 9 || (ps[0].LeaderEpoch == 2) != (v >= 5) {
			t.Errorf("v%d: %+v", v, resp)
		}
		nothing := error(nil)
		if v == 0 {
			nothing = kerr.UnknownTopicOrPartition
		}
		wantCode(t, "something committed", ps[0].ErrorCode, nil)
		wantCode(t, "nothing committed", ps[1].ErrorCode, nothing)
	}
}

// TestOffsetFetchFails: an error of a group is one for each partition below v2.
func TestOffsetFetchFails(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	n.fails(kerr.CoordinatorLoadInProgress)
	for _, v := range versions(t, kmsg.OffsetFetch) {
		topics, ps, code := flat(t, v, ask[*kmsg.OffsetFetchResponse](n, v, fetchRequest(v, id, 0, 1)))
		if v >= 2 {
			wantCode(t, "group", code, kerr.CoordinatorLoadInProgress)
			if topics != 0 {
				t.Errorf("v%d: %+v", v, ps)
			}
			continue
		}
		if topics != 1 || len(ps) != 2 || ps[1].Offset != -1 || ps[1].Partition != 1 {
			t.Fatalf("v%d: %+v", v, ps)
		}
		wantCode(t, "partition", ps[1].ErrorCode, kerr.CoordinatorLoadInProgress)
	}
}

// TestOffsetFetchAll: null asks for all; versions that know no null ask for nothing with an empty list.
func TestOffsetFetchAll(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	gone := group.FetchedTopic{Topic: "gone", Partitions: []group.FetchedPartition{{Offset: 1}}}
	n.says(group.FetchResult{Topics: []group.FetchedTopic{gone, {Topic: "t", Partitions: []group.FetchedPartition{{Offset: 1}}}}})
	for _, v := range versions(t, kmsg.OffsetFetch) {
		m := fetchRequest(v, id)
		m.Topics = nil
		if v >= 8 {
			m.Groups[0].Topics = nil
		}
		resp := ask[*kmsg.OffsetFetchResponse](n, v, m)
		if in := n.fake.last().in.(group.Fetch); (in.Topics == nil) != (v >= 2) {
			t.Errorf("v%d: asked for %+v", v, in.Topics)
		}
		topics, _, _ := flat(t, v, resp)
		if want := map[bool]int{false: 2, true: 1}[v >= 10]; topics != want { // what has no id cannot be named
			t.Errorf("v%d: %+v", v, resp)
		}
		if v >= 10 && resp.Groups[0].Topics[0].TopicID != id {
			t.Errorf("v%d: %+v", v, resp)
		}
	}
	empty := fetchRequest(9, id)
	empty.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	if ask[*kmsg.OffsetFetchResponse](n, 9, empty); n.fake.last().in.(group.Fetch).Topics == nil {
		t.Error("an empty list asked for all")
	}
}

// TestOffsetFetchMany: all groups are asked before the first answers, and each once.
func TestOffsetFetchMany(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	n.fake.answer = func(in group.Input) (any, bool) {
		if f := in.(group.Fetch); f.Group != "last" {
			return nil, false
		}
		for _, c := range n.fake.calls {
			c.settle(group.FetchResult{Topics: []group.FetchedTopic{}})
		}
		return group.FetchResult{Err: kerr.NotCoordinator}, true
	}
	m := fetchRequest(10, id, 0)
	m.Groups[0].Topics[0].TopicID = topic.ID{9}
	m.Groups[0].Topics = append(m.Groups[0].Topics, m.Groups[0].Topics[0])
	m.Groups[0].Topics[1].TopicID = topic.ID{} // of no topic
	for _, name := range []string{"h", "h", "last"} {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = name
		m.Groups = append(m.Groups, g)
	}
	resp := ask[*kmsg.OffsetFetchResponse](n, 10, m)
	if len(resp.Groups) != 4 || len(resp.Groups[0].Topics) != 2 || resp.Groups[0].Topics[0].TopicID != (topic.ID{9}) {
		t.Fatalf("%+v", resp)
	}
	for _, rt := range resp.Groups[0].Topics {
		wantCode(t, "unknown id", rt.Partitions[0].ErrorCode, kerr.UnknownTopicID)
	}
	for i, want := range []error{nil, nil, kerr.InvalidRequest, kerr.NotCoordinator} {
		wantCode(t, m.Groups[i].Group, resp.Groups[i].ErrorCode, want)
	}
	if len(n.fake.calls) != 3 {
		t.Errorf("%d groups were asked", len(n.fake.calls))
	}
}

// TestOffsetFetchOnce: a partition that is named again is left out.
func TestOffsetFetchOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	n.says(group.FetchResult{})
	for _, v := range versions(t, kmsg.OffsetFetch) {
		m := fetchRequest(v, id, 0, 1, 0, 0, 1)
		if v >= 8 {
			m.Groups[0].Topics = append(m.Groups[0].Topics, fetchRequest(v, id, 1, 2).Groups[0].Topics[0])
		} else {
			m.Topics = append(m.Topics, fetchRequest(v, id, 1, 2).Topics[0])
		}
		ask[*kmsg.OffsetFetchResponse](n, v, m)
		in := n.fake.last().in.(group.Fetch)
		if len(in.Topics) != 2 || !slices.Equal(in.Topics[0].Partitions, []int32{0, 1}) || !slices.Equal(in.Topics[1].Partitions, []int32{2}) {
			t.Errorf("v%d: asked for %+v", v, in.Topics)
		}
	}
}

func TestOffsetDelete(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	m := kmsg.NewPtrOffsetDeleteRequest()
	m.Group = "g"
	for _, name := range []string{"none", "t"} {
		rt := kmsg.NewOffsetDeleteRequestTopic()
		rt.Topic = name
		for _, i := range []int32{0, 2, 1, -1} { // of t there are two
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = i
			rt.Partitions = append(rt.Partitions, p)
		}
		m.Topics = append(m.Topics, rt)
	}
	n.says(group.DeleteOffsetsResult{Topics: []group.DeletedTopic{{Topic: "t", Partitions: []group.DeletedPartition{{Partition: 0}, {Partition: 1, Err: kerr.GroupSubscribedToTopic}}}}})
	resp := ask[*kmsg.OffsetDeleteResponse](n, 0, m)
	if len(resp.Topics) != 2 {
		t.Errorf("%+v: each topic is to be there once", resp.Topics)
	}
	want := group.DeleteOffsets{Caller: caller(1), Group: "g", Topics: []group.FetchTopic{{Topic: "t", ID: id, Partitions: []int32{0, 1}}}}
	if d := cmp.Diff(want, n.fake.last().in); d != "" {
		t.Errorf("want -, got +: %s", d)
	}
	codes := map[string][]int16{}
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			codes[rt.Topic] = append(codes[rt.Topic], p.ErrorCode)
		}
	}
	if d := cmp.Diff(map[string][]int16{"t": {0, 3, kerr.GroupSubscribedToTopic.Code, 3}, "none": {3, 3, 3, 3}}, codes); d != "" || resp.ErrorCode != 0 {
		t.Errorf("want -, got +: %s", d)
	}
	n.fails(kerr.NonEmptyGroup)
	resp = ask[*kmsg.OffsetDeleteResponse](n, 0, m)
	if wantCode(t, "group", resp.ErrorCode, kerr.NonEmptyGroup); len(resp.Topics) != 0 {
		t.Errorf("%+v", resp)
	}
}
