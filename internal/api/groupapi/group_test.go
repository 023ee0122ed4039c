package groupapi_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

func TestFindCoordinator(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, v := range versions(t, kmsg.FindCoordinator) {
		find := func(typ int8, key string) kmsg.FindCoordinatorResponseCoordinator {
			m := kmsg.NewPtrFindCoordinatorRequest()
			m.CoordinatorType, m.CoordinatorKey, m.CoordinatorKeys = typ, key, []string{key, key}
			resp := ask[*kmsg.FindCoordinatorResponse](n, v, m)
			if v >= 4 {
				if len(resp.Coordinators) != 1 || resp.Coordinators[0].Key != key {
					t.Fatalf("v%d: %+v", v, resp)
				}
				return resp.Coordinators[0]
			}
			return kmsg.FindCoordinatorResponseCoordinator{
				Key: key, NodeID: resp.NodeID, Host: resp.Host, Port: resp.Port, ErrorCode: resp.ErrorCode, ErrorMessage: resp.ErrorMessage,
			}
		}
		n.fake.locate = nil
		if c := find(0, "g"); c.NodeID != 7 || c.Host != "kafka.example.org" || c.Port != 9094 || c.ErrorCode != 0 {
			t.Errorf("v%d: %+v", v, c)
		}
		if v >= 1 {
			for typ, want := range map[int8]error{1: kerr.TransactionalIDAuthorizationFailed, 2: map[bool]error{false: kerr.InvalidRequest, true: kerr.UnsupportedVersion}[v >= 6], 3: kerr.InvalidRequest, -1: kerr.InvalidRequest} {
				c := find(typ, "g")
				if wantCode(t, "type", c.ErrorCode, want); c.NodeID != -1 || c.Host != "" || c.Port != -1 || c.ErrorMessage == nil {
					t.Errorf("v%d, type %d: %+v", v, typ, c)
				}
			}
		}
		n.fake.locate = kerr.CoordinatorNotAvailable
		wantCode(t, "no topic", find(0, "g").ErrorCode, kerr.CoordinatorNotAvailable)
	}
}

func TestLeaveGroup(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i, v := range versions(t, kmsg.LeaveGroup) {
		m := kmsg.NewPtrLeaveGroupRequest()
		m.Group, m.MemberID = "g", "m-1"
		for _, member := range []string{"m-1", ""} {
			rm := kmsg.NewLeaveGroupRequestMember()
			rm.MemberID, rm.InstanceID, rm.Reason = member, new("i-1"), new("why not")
			m.Members = append(m.Members, rm)
		}
		n.fake.answer = func(in group.Input) (any, bool) {
			r := group.LeaveResult{Members: in.(group.Leave).Members}
			r.Members[len(r.Members)-1].Err = kerr.UnknownMemberID
			return r, true
		}
		resp := ask[*kmsg.LeaveGroupResponse](n, v, m)
		want := group.Leave{Caller: caller(group.Token(2*i + 1)), Group: "g", Members: []group.LeavingMember{{Member: "m-1", Err: kerr.UnknownMemberID}}}
		if v >= 3 {
			want.Members = []group.LeavingMember{{Member: "m-1", InstanceID: new("i-1")}, {InstanceID: new("i-1"), Err: kerr.UnknownMemberID}}
		}
		for j := range want.Members {
			if v >= 5 {
				want.Members[j].Reason = "why not"
			}
		}
		if d := cmp.Diff(want, n.fake.last().in, cmpopts.EquateErrors()); d != "" {
			t.Errorf("v%d: want -, got +: %s", v, d)
		}
		if v < 3 {
			wantCode(t, "member", resp.ErrorCode, kerr.UnknownMemberID)
		} else {
			wantCode(t, "whole", resp.ErrorCode, nil)
			wantCode(t, "first", resp.Members[0].ErrorCode, nil)
			wantCode(t, "second", resp.Members[1].ErrorCode, kerr.UnknownMemberID)
		}
		n.fails(kerr.NotCoordinator)
		resp = ask[*kmsg.LeaveGroupResponse](n, v, m)
		if wantCode(t, "group", resp.ErrorCode, kerr.NotCoordinator); len(resp.Members) != 0 {
			t.Errorf("v%d: %+v", v, resp)
		}
	}
}

func TestDescribeGroups(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.fake.answer = func(in group.Input) (any, bool) {
		r := group.DescribeResult{Group: in.(group.Describe).Group, State: "Dead", Err: kerr.GroupIDNotFound}
		switch r.Group {
		case "stable":
			r = group.DescribeResult{Group: "stable", State: "Stable", ProtocolType: "consumer", Protocol: "range", Members: []group.DescribedMember{{
				Member: "m-1", InstanceID: new("i-1"), ClientID: "c", Host: "/h", Metadata: []byte("md"), Assignment: []byte("as"),
			}}}
		case "loading":
			r = group.DescribeResult{Group: "loading", Err: kerr.CoordinatorLoadInProgress}
		}
		return r, true
	}
	for _, v := range versions(t, kmsg.DescribeGroups) {
		m := kmsg.NewPtrDescribeGroupsRequest()
		m.Groups, m.IncludeAuthorizedOperations = []string{"stable", "none", "loading", "stable"}, true
		resp := ask[*kmsg.DescribeGroupsResponse](n, v, m)
		if len(resp.Groups) != 3 {
			t.Fatalf("v%d: %+v", v, resp)
		}
		g := resp.Groups[0]
		if g.ErrorCode != 0 || g.Group != "stable" || g.State != "Stable" || g.ProtocolType != "consumer" || g.Protocol != "range" || len(g.Members) != 1 {
			t.Fatalf("v%d: %+v", v, g)
		}
		rm := g.Members[0]
		if rm.MemberID != "m-1" || rm.ClientID != "c" || rm.ClientHost != "/h" || string(rm.ProtocolMetadata) != "md" || string(rm.MemberAssignment) != "as" || (rm.InstanceID != nil) != (v >= 4) {
			t.Errorf("v%d: %+v", v, rm)
		}
		none := map[bool]error{true: kerr.GroupIDNotFound}[v >= 6]
		wantCode(t, "not there", resp.Groups[1].ErrorCode, none)
		if resp.Groups[1].State != "Dead" || (resp.Groups[1].ErrorMessage != nil) != (v >= 6) {
			t.Errorf("v%d: %+v", v, resp.Groups[1])
		}
		wantCode(t, "loading", resp.Groups[2].ErrorCode, kerr.CoordinatorLoadInProgress)
		if v >= 3 && (g.AuthorizedOperations != 1<<3|1<<6|1<<8|1<<10|1<<11 || resp.Groups[2].AuthorizedOperations != -1<<31) {
			t.Errorf("v%d: operations %b, %b", v, g.AuthorizedOperations, resp.Groups[2].AuthorizedOperations)
		}
		m.IncludeAuthorizedOperations = false
		if g = ask[*kmsg.DescribeGroupsResponse](n, v, m).Groups[0]; g.AuthorizedOperations != -1<<31 {
			t.Errorf("v%d: operations nobody asked for: %b", v, g.AuthorizedOperations)
		}
	}
}

func TestListGroups(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, v := range versions(t, kmsg.ListGroups) {
		m := kmsg.NewPtrListGroupsRequest()
		m.StatesFilter, m.TypesFilter = []string{"Stable"}, []string{"classic"}
		names, i := []string{"b", "c", "a"}, 0
		n.fake.answer = func(in group.Input) (any, bool) {
			l := in.(group.List)
			if (len(l.States) > 0) != (v >= 4) || (len(l.Types) > 0) != (v >= 5) {
				t.Errorf("v%d: %+v", v, l)
			}
			i++
			return group.ListResult{Groups: []group.Listed{{Group: names[i-1], ProtocolType: "consumer", State: "Stable", Type: "classic"}}}, true
		}
		resp := ask[*kmsg.ListGroupsResponse](n, v, m)
		if len(resp.Groups) != 3 || resp.Groups[0].Group != "a" || resp.Groups[2].Group != "c" || resp.Groups[1].ProtocolType != "consumer" ||
			(resp.Groups[1].GroupState != "") != (v >= 4) || (resp.Groups[1].GroupType != "") != (v >= 5) {
			t.Errorf("v%d: %+v", v, resp)
		}
		i = 0
		n.fake.answer = func(in group.Input) (any, bool) {
			if i++; i == 2 {
				return group.Failed(in, kerr.CoordinatorLoadInProgress), true
			}
			return group.ListResult{Groups: []group.Listed{{Group: "a"}}}, true
		}
		resp = ask[*kmsg.ListGroupsResponse](n, v, m)
		if wantCode(t, "loading", resp.ErrorCode, kerr.CoordinatorLoadInProgress); len(resp.Groups) != 0 {
			t.Errorf("v%d: %+v", v, resp)
		}
	}
}

func TestDeleteGroups(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, v := range versions(t, kmsg.DeleteGroups) {
		n.fake.answer = func(in group.Input) (any, bool) {
			if in.(group.Delete).Group == "full" {
				return group.DeleteResult{Err: kerr.NonEmptyGroup}, true
			}
			return group.DeleteResult{}, true
		}
		m := kmsg.NewPtrDeleteGroupsRequest()
		m.Groups = []string{"g", "full", "g"}
		resp := ask[*kmsg.DeleteGroupsResponse](n, v, m)
		if len(resp.Groups) != 2 || resp.Groups[0].Group != "g" || (resp.Groups[1].ErrorMessage != nil) != (v >= 3) {
			t.Fatalf("v%d: %+v", v, resp)
		}
		wantCode(t, "empty", resp.Groups[0].ErrorCode, nil)
		wantCode(t, "full", resp.Groups[1].ErrorCode, kerr.NonEmptyGroup)
	}
}

func TestConsumerGroupHeartbeat(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := topic.ID{5}
	for i, v := range versions(t, kmsg.ConsumerGroupHeartbeat) {
		m := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		m.Group, m.MemberID, m.MemberEpoch, m.InstanceID, m.RackID = "g", "m-1", 2, new("i-1"), new("r")
		m.RebalanceTimeoutMillis, m.SubscribedTopicNames, m.SubscribedTopicRegex, m.ServerAssignor = 5000, []string{"t"}, new("t.*"), new("range")
		owned := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		owned.TopicID, owned.Partitions = id, []int32{1, 2}
		m.Topics = append(m.Topics, owned)
		n.says(group.ConsumerHeartbeatResult{Member: "m-1", Epoch: 3, Interval: 5 * time.Second, Assignment: &[]record.TopicPartitions{{Topic: id, Partitions: []int32{1}}}})
		resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](n, v, m)
		want := group.ConsumerHeartbeat{
			Caller: caller(group.Token(3*i + 1)), Group: "g", Member: "m-1", Epoch: 2, InstanceID: new("i-1"), RackID: new("r"),
			RebalanceTimeout: 5 * time.Second, Topics: []string{"t"}, Assignor: new("range"), Version: v,
			Owned: []record.TopicPartitions{{Topic: id, Partitions: []int32{1, 2}}},
		}
		if v >= 1 {
			want.Regex = new("t.*")
		}
		if d := cmp.Diff(want, n.fake.last().in); d != "" {
			t.Errorf("v%d: want -, got +: %s", v, d)
		}
		if resp.ErrorCode != 0 || *resp.MemberID != "m-1" || resp.MemberEpoch != 3 || resp.HeartbeatIntervalMillis != 5000 || len(resp.Assignment.Topics) != 1 || resp.Assignment.Topics[0].TopicID != id {
			t.Errorf("v%d: %+v", v, resp)
		}
		n.says(group.ConsumerHeartbeatResult{Member: "m-1", Epoch: 3})
		resp = ask[*kmsg.ConsumerGroupHeartbeatResponse](n, v, kmsg.NewPtrConsumerGroupHeartbeatRequest())
		if in := n.fake.last().in.(group.ConsumerHeartbeat); in.RebalanceTimeout != -1 || in.Topics != nil || in.Owned != nil || resp.Assignment != nil {
			t.Errorf("v%d: what did not change: %+v, %+v", v, in, resp)
		}
		n.fails(kerr.FencedMemberEpoch)
		resp = ask[*kmsg.ConsumerGroupHeartbeatResponse](n, v, m)
		if wantCode(t, "fenced", resp.ErrorCode, kerr.FencedMemberEpoch); resp.ErrorMessage == nil || resp.MemberID != nil {
			t.Errorf("v%d: %+v", v, resp)
		}
	}
}

func TestConsumerGroupDescribe(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := n.create("t", 2)
	member := group.ConsumerDescribed{
		Member: "m-1", InstanceID: new("i-1"), RackID: new("r"), Epoch: 2, ClientID: "c", Host: "/h", Topics: []string{"t"}, Regex: new("t.*"),
		Assigned: []record.TopicPartitions{{Topic: id, Partitions: []int32{0}}, {Topic: topic.ID{9}, Partitions: []int32{0}}}, Target: []record.TopicPartitions{{Topic: id, Partitions: []int32{0, 1}}},
	}
	old := member
	old.Classic, old.Regex = true, nil
	n.fake.answer = func(in group.Input) (any, bool) {
		if in.(group.ConsumerDescribe).Group == "none" {
			return group.Failed(in, kerr.GroupIDNotFound), true
		}
		return group.ConsumerDescribeResult{Group: "g", State: "Stable", Assignor: "range", Epoch: 4, AssignmentEpoch: 3, Members: []group.ConsumerDescribed{member, old}}, true
	}
	for _, v := range versions(t, kmsg.ConsumerGroupDescribe) {
		m := kmsg.NewPtrConsumerGroupDescribeRequest()
		m.Groups, m.IncludeAuthorizedOperations = []string{"g", "none", "g"}, true
		resp := ask[*kmsg.ConsumerGroupDescribeResponse](n, v, m)
		g := resp.Groups[0]
		if len(resp.Groups) != 2 || g.Group != "g" || g.State != "Stable" || g.AssignorName != "range" || g.Epoch != 4 || g.AssignmentEpoch != 3 || g.AuthorizedOperations <= 0 || len(g.Members) != 2 {
			t.Fatalf("v%d: %+v", v, resp)
		}
		rm := g.Members[0]
		if rm.MemberID != "m-1" || *rm.InstanceID != "i-1" || *rm.RackID != "r" || rm.MemberEpoch != 2 || rm.ClientID != "c" || rm.ClientHost != "/h" || *rm.SubscribedTopicRegex != "t.*" ||
			len(rm.Assignment.TopicPartitions) != 1 || rm.Assignment.TopicPartitions[0].Topic != "t" || len(rm.TargetAssignment.TopicPartitions[0].Partitions) != 2 {
			t.Errorf("v%d: %+v", v, rm)
		}
		if none := g.Members[1].SubscribedTopicRegex; none == nil || *none != "" {
			t.Errorf("v%d: no pattern is %v, Kafka's is empty", v, none)
		}
		if v >= 1 && (rm.MemberType != 1 || g.Members[1].MemberType != 0) {
			t.Errorf("v%d: types %d, %d", v, rm.MemberType, g.Members[1].MemberType)
		}
		wantCode(t, "not there", resp.Groups[1].ErrorCode, kerr.GroupIDNotFound)
		if resp.Groups[1].ErrorMessage == nil || resp.Groups[1].AuthorizedOperations != -1<<31 {
			t.Errorf("v%d: %+v", v, resp.Groups[1])
		}
	}
}

// Without "consumer" in group.coordinator.rebalance.protocols there is no next generation.
func TestNoConsumerProtocol(t *testing.T) {
	t.Parallel()
	n := newNodeWith(t, false)
	wantCode(t, "heartbeat", ask[*kmsg.ConsumerGroupHeartbeatResponse](n, 1, kmsg.NewPtrConsumerGroupHeartbeatRequest()).ErrorCode, kerr.UnsupportedVersion)
	m := kmsg.NewPtrConsumerGroupDescribeRequest()
	m.Groups = []string{"g"}
	wantCode(t, "describe", ask[*kmsg.ConsumerGroupDescribeResponse](n, 1, m).Groups[0].ErrorCode, kerr.UnsupportedVersion)
	if n.fake.last() != nil {
		t.Error("the machine was asked")
	}
}

// TestLateEnds: what waits in its handler waits no longer than its connection.
func TestLateEnds(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	m := kmsg.NewPtrDeleteGroupsRequest()
	m.Groups = []string{"g"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := n.beginIn(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "cut", n.poll(m, r, nil).(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode, kerr.CoordinatorNotAvailable)
}

// Hosts are shown as Java shows them.
func TestHost(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.says(group.HeartbeatResult{})
	for remote, want := range map[string]string{
		"192.0.2.9:1": "/192.0.2.9", "[::ffff:192.0.2.9]:1": "/192.0.2.9", "[::1]:1": "/0:0:0:0:0:0:0:1", "[2001:db8::a%eth0]:1": "/2001:db8:0:0:0:0:0:a",
	} {
		n.conn.Remote = netip.MustParseAddrPort(remote)
		ask[*kmsg.HeartbeatResponse](n, 4, kmsg.NewPtrHeartbeatRequest())
		if got := n.fake.last().in.(group.Heartbeat).Host; got != want {
			t.Errorf("%s is shown as %s", remote, got)
		}
	}
}
