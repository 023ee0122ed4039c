package hostile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startGroups starts a broker whose groups begin at once, with a topic t of 3 partitions.
func startGroups(t *testing.T, args ...string) *broker {
	t.Helper()
	b := start(t, t.TempDir(), append([]string{"--set", "group.initial.rebalance.delay.ms=0"}, args...)...)
	b.create(t, "t", 3)
	c := b.dial(t)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	if codes := codesOf(c.ask(find)); codes != "" {
		t.Fatalf("no coordinator: %s", codes)
	}
	return b
}

// codesOf are the names of all error codes of a response, each once, sorted.
func codesOf(resp kmsg.Response) string {
	var names []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for field, inner := range v.Fields() {
				if err := kerr.TypedErrorForCode(int16(asInt(field.Name, inner))); err != nil {
					names = append(names, err.Message)
				}
				walk(inner)
			}
		default: // it holds no codes
		}
	}
	walk(reflect.ValueOf(resp))
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func asInt(name string, v reflect.Value) int64 {
	if name != "ErrorCode" {
		return 0
	}
	return v.Int()
}

// at sets the request's version.
func at[R kmsg.Request](version int16, req R, change ...func(R)) R {
	for _, fn := range change {
		fn(req)
	}
	req.SetVersion(version)
	return req
}

func joinGroup(version int16, group, member string, change ...func(*kmsg.JoinGroupRequest)) *kmsg.JoinGroupRequest {
	m := kmsg.NewPtrJoinGroupRequest()
	m.Group, m.MemberID, m.ProtocolType, m.SessionTimeoutMillis, m.RebalanceTimeoutMillis = group, member, "consumer", 10_000, 10_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte{0, 0, 0, 0, 0, 1, 0, 1, 't', 0xff, 0xff, 0xff, 0xff}
	m.Protocols = append(m.Protocols, p)
	return at(version, m, change...)
}

func syncGroup(version int16, group, member string, generation int32) *kmsg.SyncGroupRequest {
	m := kmsg.NewPtrSyncGroupRequest()
	m.Group, m.MemberID, m.Generation = group, member, generation
	m.ProtocolType, m.Protocol = new("consumer"), new("range")
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = member, []byte("all of it")
	m.GroupAssignment = append(m.GroupAssignment, a)
	return at(version, m)
}

func heartbeat(version int16, group, member string, generation int32) *kmsg.HeartbeatRequest {
	m := kmsg.NewPtrHeartbeatRequest()
	m.Group, m.MemberID, m.Generation = group, member, generation
	return at(version, m)
}

func leaveGroup(version int16, group, member string) *kmsg.LeaveGroupRequest {
	m := kmsg.NewPtrLeaveGroupRequest()
	m.Group, m.MemberID = group, member
	rm := kmsg.NewLeaveGroupRequestMember()
	rm.MemberID = member
	m.Members = append(m.Members, rm)
	return at(version, m)
}

func offsetCommit(version int16, group, member string, generation int32, offset int64, change ...func(*kmsg.OffsetCommitRequest)) *kmsg.OffsetCommitRequest {
	m := kmsg.NewPtrOffsetCommitRequest()
	m.Group, m.MemberID, m.Generation = group, member, generation
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "t"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	rt.Partitions = append(rt.Partitions, p)
	m.Topics = append(m.Topics, rt)
	return at(version, m, change...)
}

// committed is the offset of t-0 that the group has committed.
func (c conn) committed(group string) int64 {
	c.t.Helper()
	m := kmsg.NewPtrOffsetFetchRequest()
	m.Group = group
	rt := kmsg.NewOffsetFetchRequestTopic()
	rt.Topic, rt.Partitions = "t", []int32{0}
	m.Topics = append(m.Topics, rt)
	resp := c.ask(at(5, m)).(*kmsg.OffsetFetchResponse)
	if codes := codesOf(resp); codes != "" {
		c.t.Fatalf("fetch: %s", codes)
	}
	return resp.Topics[0].Partitions[0].Offset
}

// want wants these error codes, by name, each once.
func (c conn) want(codes string, req kmsg.Request) kmsg.Response {
	c.t.Helper()
	resp := c.ask(req)
	if got := codesOf(resp); got != codes {
		c.t.Errorf("%s v%d: %q, expected %q: %+v", kmsg.NameForKey(req.Key()), req.GetVersion(), got, codes, req)
	}
	return resp
}

// TestGroupsNobodyKnows: whatever is said of groups and members that are not there gets Kafka's code, and makes no group.
func TestGroupsNobodyKnows(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	for v := range int16(10) {
		c.want("INVALID_GROUP_ID", joinGroup(v, "", ""))
		c.want("UNKNOWN_MEMBER_ID", joinGroup(v, "none", "m"))
		for _, ms := range []int32{-1, 0, 5999, 1_800_001} {
			c.want("INVALID_SESSION_TIMEOUT", joinGroup(v, "none", "", func(m *kmsg.JoinGroupRequest) { m.SessionTimeoutMillis = ms }))
		}
		c.want("INCONSISTENT_GROUP_PROTOCOL", joinGroup(v, "none", "", func(m *kmsg.JoinGroupRequest) { m.Protocols = nil }))
		c.want("INCONSISTENT_GROUP_PROTOCOL", joinGroup(v, "none", "", func(m *kmsg.JoinGroupRequest) { m.ProtocolType = "" }))
	}
	for v := range int16(6) {
		c.want("INVALID_GROUP_ID", syncGroup(v, "", "m", 1))
		c.want("UNKNOWN_MEMBER_ID", syncGroup(v, "none", "m", 1))
		c.want("INVALID_GROUP_ID", leaveGroup(v, "", "m"))
		c.want("UNKNOWN_MEMBER_ID", leaveGroup(v, "none", "m"))
	}
	for v := range int16(5) {
		c.want("INVALID_GROUP_ID", heartbeat(v, "", "m", 1))
		c.want("UNKNOWN_MEMBER_ID", heartbeat(v, "none", "m", 1))
	}
	for v := int16(1); v <= 9; v++ {
		code := "ILLEGAL_GENERATION"
		if v >= 9 {
			code = "GROUP_ID_NOT_FOUND"
		}
		c.want(code, offsetCommit(v, "none", "m", 1, 5))
		c.want("UNKNOWN_TOPIC_OR_PARTITION", offsetCommit(v, "none", "", -1, 5, func(m *kmsg.OffsetCommitRequest) { m.Topics[0].Topic = "nowhere" }))
		c.want("UNKNOWN_TOPIC_OR_PARTITION", offsetCommit(v, "none", "", -1, 5, func(m *kmsg.OffsetCommitRequest) { m.Topics[0].Partitions[0].Partition = 3 }))
	}
	c.want("UNKNOWN_TOPIC_ID", offsetCommit(10, "none", "", -1, 5, func(m *kmsg.OffsetCommitRequest) { m.Topics[0].TopicID = [16]byte{1} }))
	if got := c.committed("none"); got != -1 {
		t.Errorf("a group that nobody knows has committed %d", got)
	}
	c.wantNoGroups()
	b.serves(t)
}

// wantNoGroups wants that no group was made.
func (c conn) wantNoGroups() {
	c.t.Helper()
	for v := range int16(6) {
		if resp := c.want("", at(v, kmsg.NewPtrListGroupsRequest())).(*kmsg.ListGroupsResponse); len(resp.Groups) > 0 {
			c.t.Errorf("groups: %+v", resp.Groups)
		}
	}
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"none"}
	for v := range int16(7) {
		code := ""
		if v >= 6 {
			code = "GROUP_ID_NOT_FOUND"
		}
		if resp := c.want(code, at(v, describe)).(*kmsg.DescribeGroupsResponse); resp.Groups[0].State != "Dead" {
			c.t.Errorf("v%d: state %s", v, resp.Groups[0].State)
		}
	}
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"none", "none"}
	for v := range int16(4) {
		c.want("GROUP_ID_NOT_FOUND", at(v, remove))
	}
	offsets := kmsg.NewPtrOffsetDeleteRequest()
	offsets.Group = "none"
	c.want("GROUP_ID_NOT_FOUND", offsets)
}

// TestStrangeGroups: a group may have any name, and each is another group.
func TestStrangeGroups(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	names := []string{"", " ", "..", "/etc/passwd", "a\x00b", "ü", "\xff\xfe", "\U0001F600", strings.Repeat("x", 32_767), "t-0", "__consumer_offsets"}
	for i, name := range names {
		c.want("", offsetCommit(2, name, "", -1, int64(i)))
	}
	for i, name := range names {
		if got := c.committed(name); got != int64(i) {
			t.Errorf("group %d (%.20q) has committed %d", i, name, got)
		}
	}
	b.stop(t)
	b = start(t, b.dir)
	c = b.dial(t)
	for i, name := range names {
		if got := c.committedWhenLoaded(name); got != int64(i) {
			t.Errorf("after a restart, group %d (%.20q) has committed %d", i, name, got)
		}
	}
}

// committedWhenLoaded is committed, once the groups are loaded.
func (c conn) committedWhenLoaded(group string) int64 {
	c.t.Helper()
	list := at(0, kmsg.NewPtrListGroupsRequest())
	for range 10_000 {
		if codesOf(c.ask(list)) == "" {
			return c.committed(group)
		}
	}
	c.t.Fatal("the groups are not loaded")
	return 0
}

// TestLargeOffsets: a text beside an offset is bounded; so is what a request can ask for.
func TestLargeOffsets(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	note := func(n int) func(*kmsg.OffsetCommitRequest) {
		return func(m *kmsg.OffsetCommitRequest) { m.Topics[0].Partitions[0].Metadata = new(strings.Repeat("x", n)) }
	}
	c.want("", offsetCommit(6, "g", "", -1, 5, note(4096)))
	c.want("OFFSET_METADATA_TOO_LARGE", offsetCommit(6, "g", "", -1, 6, note(4097)))
	c.want("OFFSET_METADATA_TOO_LARGE", offsetCommit(6, "g", "", -1, 6, note(32_767)))
	if got := c.committed("g"); got != 5 {
		t.Errorf("committed %d", got)
	}
	// One partition many times, and one group many times.
	c.want("", offsetCommit(6, "g", "", -1, 7, func(m *kmsg.OffsetCommitRequest) {
		m.Topics[0].Partitions = slices.Repeat(m.Topics[0].Partitions, 5000)
	}))
	all := kmsg.NewPtrOffsetFetchRequest()
	one := kmsg.NewOffsetFetchRequestGroup()
	one.Group, one.Topics = "g", nil
	all.Groups = slices.Repeat([]kmsg.OffsetFetchRequestGroup{one}, 2000)
	resp := c.want("INVALID_REQUEST", at(8, all)).(*kmsg.OffsetFetchResponse)
	if len(resp.Groups) != 2000 || len(resp.Groups[0].Topics) != 1 || resp.Groups[0].Topics[0].Partitions[0].Offset != 7 {
		t.Errorf("%d groups, first %+v", len(resp.Groups), resp.Groups[0])
	}
	// One partition many times, with a large text beside its offset.
	c.want("", offsetCommit(6, "h", "", -1, 5, note(4096)))
	text := kmsg.NewPtrOffsetFetchRequest()
	text.Group, text.Topics = "h", []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: make([]int32, 60_000)}}
	if resp := c.want("", at(5, text)).(*kmsg.OffsetFetchResponse); len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Errorf("%d topics", len(resp.Topics))
	}
	b.serves(t)
	text.Topics[0].Partitions = make([]int32, 200_000)
	c.send(frame(text, 5))
	c.wantClosed()
	b.serves(t)
}

// TestCoordinatorFlood: coordinators of many groups in one request, and of kinds that are not there.
func TestCoordinatorFlood(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	m := kmsg.NewPtrFindCoordinatorRequest()
	for i := range 10_000 {
		m.CoordinatorKeys = append(m.CoordinatorKeys, fmt.Sprint("group-", i%5000))
	}
	if resp := c.want("", at(6, m)).(*kmsg.FindCoordinatorResponse); len(resp.Coordinators) != 5000 || resp.Coordinators[4999].Port == 0 {
		t.Errorf("%d coordinators", len(resp.Coordinators))
	}
	m.CoordinatorKeys = []string{"x"}
	for typ, code := range map[int8]string{1: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 2: "UNSUPPORTED_VERSION", 3: "INVALID_REQUEST", -1: "INVALID_REQUEST"} {
		m.CoordinatorType = typ
		c.want(code, at(6, m))
	}
}
