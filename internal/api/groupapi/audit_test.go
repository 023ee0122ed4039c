package groupapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/coordinator/group"
)

var auditNoise = regexp.MustCompile(`^time=\S+ level=INFO msg=|audit=true principal=User:ANONYMOUS client_id="the client" remote=192.0.2.9:40000 `)

// wantLog compares what was logged since the last call, without what is the same in each line.
func (n *node) wantLog(what string, want ...string) {
	n.t.Helper()
	var got []string
	for line := range strings.Lines(n.log.String()) {
		got = append(got, auditNoise.ReplaceAllString(strings.TrimSuffix(line, "\n"), ""))
	}
	n.log.Reset()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		n.t.Errorf("%s: the log has\n%s\nexpected\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAuditGroups checks that each group and offset that an administrator deletes has a line, and each
// member that one removes; what consumers do by themselves has none.
func TestAuditGroups(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.create("orders", 4)
	n.fake.answer = func(in group.Input) (any, bool) {
		switch in := in.(type) {
		case group.Delete:
			if in.Group == "busy" {
				return group.DeleteResult{Err: kerr.NonEmptyGroup}, true
			}
			return group.DeleteResult{}, true
		case group.DeleteOffsets:
			return group.DeleteOffsetsResult{Topics: []group.DeletedTopic{{Topic: "orders", Partitions: []group.DeletedPartition{
				{Partition: 0, Old: 42}, {Partition: 1, Old: -1}, {Partition: 0, Old: 42}, {Partition: 2, Old: 7, Err: kerr.GroupSubscribedToTopic},
			}}}}, true
		case group.Leave:
			r := group.LeaveResult{Members: in.Members}
			for i := range r.Members {
				if r.Members[i].Member == "nobody" {
					r.Members[i].Err = kerr.UnknownMemberID
				}
			}
			return r, true
		}
		return nil, false
	}
	groups := kmsg.NewPtrDeleteGroupsRequest()
	groups.Groups = []string{"a", "busy", "b=\n"}
	ask[*kmsg.DeleteGroupsResponse](n, 2, groups)
	n.wantLog("delete groups", `"group deleted" group=a`, `"group deleted" group="b=\n"`)

	offsets := kmsg.NewPtrOffsetDeleteRequest()
	offsets.Group = "g"
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic = "orders"
	for _, p := range []int32{0, 1, 0, 2} {
		rp := kmsg.NewOffsetDeleteRequestTopicPartition()
		rp.Partition = p
		rt.Partitions = append(rt.Partitions, rp)
	}
	offsets.Topics = append(offsets.Topics, rt)
	ask[*kmsg.OffsetDeleteResponse](n, 0, offsets)
	n.wantLog("delete offsets", `"committed offset deleted" group=g topic=orders partition=0 old=42`)

	leave := func(version int16, members ...kmsg.LeaveGroupRequestMember) {
		m := kmsg.NewPtrLeaveGroupRequest()
		m.Group, m.MemberID, m.Members = "g", "m-1", members
		ask[*kmsg.LeaveGroupResponse](n, version, m)
	}
	byID, byInstance, nobody := kmsg.NewLeaveGroupRequestMember(), kmsg.NewLeaveGroupRequestMember(), kmsg.NewLeaveGroupRequestMember()
	byID.MemberID, byID.Reason = "m-1", new("the consumer is being closed")
	byInstance.InstanceID = new("i-1")
	nobody.MemberID = "nobody"
	leave(2)
	leave(5, byID)
	leave(5, nobody)
	n.wantLog("a member leaves")
	leave(5, byInstance)
	n.wantLog("by instance", `"member removed" group=g member="" instance_id=i-1 reason=""`)
	leave(4, byID, nobody, byInstance)
	n.wantLog("several", `"member removed" group=g member=m-1 instance_id="" reason=""`,
		`"member removed" group=g member="" instance_id=i-1 reason=""`)
	byID.Reason = new("member was removed by an admin: too slow")
	leave(5, byID)
	n.wantLog("by reason", `"member removed" group=g member=m-1 instance_id="" reason="member was removed by an admin: too slow"`)
}

// TestAuditOffsets checks the lines of offsets that were altered, which the machine tells apart from
// commits of consumers, and that a client that alters without end does not fill the log.
func TestAuditOffsets(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.create("orders", 4)
	n.fake.answer = func(in group.Input) (any, bool) {
		altered := []group.AlteredOffset{{Topic: "orders", Partition: 0, Old: -1, New: 5}, {Topic: "orders", Partition: 1, Old: 9, New: 5}}
		return group.CommitResult{Topics: in.(group.Commit).Topics, Altered: altered}, true
	}
	commit := func(generation int32) {
		m := kmsg.NewPtrOffsetCommitRequest()
		m.Group, m.Generation = "g", generation
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = "orders"
		for p := range int32(2) {
			rp := kmsg.NewOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset = p, 5
			rt.Partitions = append(rt.Partitions, rp)
		}
		m.Topics = append(m.Topics, rt)
		ask[*kmsg.OffsetCommitResponse](n, 8, m)
	}
	commit(-1)
	n.wantLog("altered", `"committed offset altered" group=g topic=orders partition=0 old=-1 new=5`,
		`"committed offset altered" group=g topic=orders partition=1 old=9 new=5`)
	commit(3)
	n.wantLog("of a member")
	for range 1000 {
		commit(-1)
	}
	if lines := strings.Count(n.log.String(), "\n"); lines < 90 || lines > 1000 {
		t.Errorf("%d lines of 2000 offsets altered at once", lines)
	}
}
