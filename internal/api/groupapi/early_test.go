package groupapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/partition"
)

func joinRequest() *kmsg.JoinGroupRequest {
	m := kmsg.NewPtrJoinGroupRequest()
	m.Group, m.MemberID, m.InstanceID, m.ProtocolType = "g", "m-1", new("i-1"), "consumer"
	m.SessionTimeoutMillis, m.RebalanceTimeoutMillis, m.Reason = 6000, 9000, new("why not")
	for _, name := range []string{"range", "sticky"} {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte("of "+name)
		m.Protocols = append(m.Protocols, p)
	}
	return m
}

func caller(token group.Token) group.Caller {
	return group.Caller{Token: token, ClientID: "the client", Host: "/192.0.2.9", FreshID: "fresh"}
}

func TestJoinGroup(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i, v := range versions(t, kmsg.JoinGroup) {
		n.says(group.JoinResult{
			Generation: 3, ProtocolType: new("consumer"), Protocol: new("range"), Leader: "m-1", Member: "m-1", SkipAssignment: true,
			Members: []group.JoinedMember{{Member: "m-1", InstanceID: new("i-1"), Metadata: []byte{1, 2}}, {Member: "m-2"}},
		})
		got := ask[*kmsg.JoinGroupResponse](n, v, joinRequest())
		want := group.Join{
			Caller: caller(group.Token(i + 1)), Group: "g", Member: "m-1", ProtocolType: "consumer", Session: 6 * time.Second, Rebalance: 6 * time.Second,
			Protocols:    []record.Protocol{{Name: "range", Metadata: []byte("of range")}, {Name: "sticky", Metadata: []byte("of sticky")}},
			NeedsKnownID: v >= 4, KnowsSkipAssignment: v >= 9,
		}
		if v >= 1 {
			want.Rebalance = 9 * time.Second
		}
		if v >= 5 {
			want.InstanceID = new("i-1")
		}
		if v >= 8 {
			want.Reason = "why not"
		}
		if d := cmp.Diff(want, n.fake.last().in); d != "" {
			t.Errorf("v%d: want -, got +: %s", v, d)
		}
		if got.ErrorCode != 0 || got.Generation != 3 || *got.Protocol != "range" || got.LeaderID != "m-1" || got.MemberID != "m-1" || got.SkipAssignment != (v >= 9) ||
			len(got.Members) != 2 || string(got.Members[0].ProtocolMetadata) != "\x01\x02" || (got.Members[0].InstanceID != nil) != (v >= 5) || (got.ProtocolType != nil) != (v >= 7) {
			t.Errorf("v%d: %+v", v, got)
		}
		n.fails(kerr.MemberIDRequired)
		got = ask[*kmsg.JoinGroupResponse](n, v, joinRequest())
		wantCode(t, "failed", got.ErrorCode, kerr.MemberIDRequired)
		if got.Generation != -1 || got.MemberID != "m-1" || v < 7 && (got.Protocol == nil || *got.Protocol != "") || v >= 7 && got.Protocol != nil {
			t.Errorf("v%d: %+v", v, got)
		}
		n.fake.mu.Lock()
		n.fake.token = group.Token(i + 1)
		n.fake.mu.Unlock()
	}
}

// A reason is cut, since it is kept and logged.
func TestJoinGroupLongReason(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.says(group.JoinResult{})
	m := joinRequest()
	m.Reason = new(fmt.Sprintf("%4000d", 1))
	ask[*kmsg.JoinGroupResponse](n, 9, m)
	if in := n.fake.last().in.(group.Join); len(in.Reason) != 255 {
		t.Errorf("the reason has %d bytes", len(in.Reason))
	}
}

func syncRequest() *kmsg.SyncGroupRequest {
	m := kmsg.NewPtrSyncGroupRequest()
	m.Group, m.MemberID, m.InstanceID, m.Generation = "g", "m-1", new("i-1"), 4
	m.ProtocolType, m.Protocol = new("consumer"), new("range")
	for _, member := range []string{"m-1", "m-2"} {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = member, []byte("for "+member)
		m.GroupAssignment = append(m.GroupAssignment, a)
	}
	return m
}

func TestSyncGroup(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i, v := range versions(t, kmsg.SyncGroup) {
		n.says(group.SyncResult{ProtocolType: new("consumer"), Protocol: new("range"), Assignment: []byte("mine")})
		got := ask[*kmsg.SyncGroupResponse](n, v, syncRequest())
		want := group.Sync{
			Caller: caller(group.Token(i + 1)), Group: "g", Member: "m-1", Generation: 4,
			Assignments: []group.Assigned{{Member: "m-1", Assignment: []byte("for m-1")}, {Member: "m-2", Assignment: []byte("for m-2")}},
		}
		if v >= 3 {
			want.InstanceID = new("i-1")
		}
		if v >= 5 {
			want.ProtocolType, want.Protocol = new("consumer"), new("range")
		}
		if d := cmp.Diff(want, n.fake.last().in); d != "" {
			t.Errorf("v%d: want -, got +: %s", v, d)
		}
		if got.ErrorCode != 0 || string(got.MemberAssignment) != "mine" || (got.Protocol != nil) != (v >= 5) {
			t.Errorf("v%d: %+v", v, got)
		}
	}
	for _, spoil := range []func(*kmsg.SyncGroupRequest){
		func(m *kmsg.SyncGroupRequest) { m.ProtocolType = nil },
		func(m *kmsg.SyncGroupRequest) { m.Protocol = nil },
	} {
		m, asked := syncRequest(), len(n.fake.calls)
		spoil(m)
		wantCode(t, "no protocol", ask[*kmsg.SyncGroupResponse](n, 5, m).ErrorCode, kerr.InconsistentGroupProtocol)
		if len(n.fake.calls) != asked {
			t.Error("the machine was asked")
		}
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i, v := range versions(t, kmsg.Heartbeat) {
		m := kmsg.NewPtrHeartbeatRequest()
		m.Group, m.MemberID, m.InstanceID, m.Generation = "g", "m-1", new("i-1"), 4
		n.says(group.HeartbeatResult{Err: kerr.RebalanceInProgress})
		wantCode(t, "heartbeat", ask[*kmsg.HeartbeatResponse](n, v, m).ErrorCode, kerr.RebalanceInProgress)
		want := group.Heartbeat{Caller: caller(group.Token(2*i + 1)), Group: "g", Member: "m-1", Generation: 4}
		if v >= 3 {
			want.InstanceID = new("i-1")
		}
		if d := cmp.Diff(want, n.fake.last().in); d != "" {
			t.Errorf("v%d: want -, got +: %s", v, d)
		}
		n.fails(kerr.CoordinatorLoadInProgress)
		wantCode(t, "while the group is loaded", ask[*kmsg.HeartbeatResponse](n, v, m).ErrorCode, nil)
	}
}

// TestParked: a reply waits, wakes who watches it, and is given up when nobody wants it.
func TestParked(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.create("t", 1)
	w := partition.NewWaiter()
	for _, m := range []kmsg.Request{joinRequest(), syncRequest(), kmsg.NewPtrHeartbeatRequest(), commitRequest("t", 0), kmsg.NewPtrConsumerGroupHeartbeatRequest()} {
		m.SetVersion(m.MaxVersion())
		if m.Key() == int16(kmsg.OffsetCommit) {
			m.SetVersion(9)
		}
		name := kmsg.NameForKey(m.Key())
		if !n.api.Early(kmsg.Key(m.Key())) {
			t.Errorf("%s is not early", name)
		}
		r, err := n.begin(m)
		if err != nil {
			t.Fatal(err)
		}
		if n.poll(m, r, w) != nil {
			t.Fatalf("%s: an answer that nobody gave", name)
		}
		call := n.fake.last()
		call.settle(group.Failed(call.in, kerr.UnknownMemberID))
		select {
		case <-w.C:
		default:
			t.Errorf("%s: not woken", name)
		}
		if n.poll(m, r, w) == nil {
			t.Errorf("%s: no answer", name)
		}
		if r, err = n.begin(m); err != nil {
			t.Fatal(err)
		}
		if r.Drop(); !n.fake.last().dropped {
			t.Errorf("%s: the call was not given up", name)
		}
	}
}

// TestHeld: what waits counts what it holds.
func TestHeld(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.create("t", 1)
	big := make([]byte, 10_000)
	join, synced, commit := joinRequest(), syncRequest(), commitRequest("t", 0)
	join.Protocols[0].Metadata, synced.GroupAssignment[1].MemberAssignment = big, big
	commit.Topics[0].Partitions[0].Metadata = new(string(big))
	for _, m := range []kmsg.Request{join, synced, commit} {
		m.SetVersion(5)
		r, err := n.begin(m)
		if err != nil {
			t.Fatal(err)
		}
		if r.Held() < len(big) {
			t.Errorf("%s holds %d bytes", kmsg.NameForKey(m.Key()), r.Held())
		}
	}
}

// TestDraining: when the server is about to close, what waits for other clients ends, and what waits for the disk does not.
func TestDraining(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.create("t", 1)
	n.api.Drain()
	for _, m := range []kmsg.Request{joinRequest(), syncRequest()} {
		wantCode(t, kmsg.NameForKey(m.Key()), codeOf(ask[kmsg.Response](n, 4, m)), kerr.NotCoordinator)
		if !n.fake.last().dropped {
			t.Errorf("%s: the call was not given up", kmsg.NameForKey(m.Key()))
		}
	}
	m := commitRequest("t", 0)
	r, err := n.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	if n.poll(m, r, nil) != nil {
		t.Error("a commit did not wait")
	}
}

func codeOf(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	}
	return -1
}
