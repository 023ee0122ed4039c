package hostile

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// joined is a member of a group of its own, that has its assignment.
func (c conn) joined(group string) (member string, generation int32) {
	c.t.Helper()
	resp := c.want("", joinGroup(3, group, "")).(*kmsg.JoinGroupResponse)
	if resp.LeaderID != resp.MemberID || resp.Generation < 1 {
		c.t.Fatalf("joined %s: %+v", group, resp)
	}
	if got := c.want("", syncGroup(3, group, resp.MemberID, resp.Generation)).(*kmsg.SyncGroupResponse); string(got.MemberAssignment) != "all of it" {
		c.t.Fatalf("assigned %q", got.MemberAssignment)
	}
	return resp.MemberID, resp.Generation
}

// TestGroupOutOfStep: calls in a wrong order, of another generation, of somebody else. None moves an offset or holds up the group.
func TestGroupOutOfStep(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	member, generation := c.joined("g")
	c.want("", offsetCommit(7, "g", member, generation, 10))

	for _, g := range []int32{-1, 0, generation - 1, generation + 1, 1 << 30} {
		c.want("ILLEGAL_GENERATION", heartbeat(4, "g", member, g))
		c.want("ILLEGAL_GENERATION", syncGroup(5, "g", member, g))
		if g >= 0 {
			c.want("ILLEGAL_GENERATION", offsetCommit(7, "g", member, g, 99))
		}
	}
	for _, stranger := range []string{"", "x", member + "x"} {
		c.want("UNKNOWN_MEMBER_ID", heartbeat(4, "g", stranger, generation))
		c.want("UNKNOWN_MEMBER_ID", syncGroup(5, "g", stranger, generation))
		c.want("UNKNOWN_MEMBER_ID", offsetCommit(7, "g", stranger, generation, 99))
		c.want("UNKNOWN_MEMBER_ID", leaveGroup(4, "g", stranger))
	}
	c.want("UNKNOWN_MEMBER_ID", offsetCommit(7, "g", "", -1, 99)) // a standalone consumer in a group with members
	c.want("INCONSISTENT_GROUP_PROTOCOL", at(5, syncGroup(5, "g", member, generation), func(m *kmsg.SyncGroupRequest) { m.Protocol = new("sticky") }))
	c.want("INCONSISTENT_GROUP_PROTOCOL", at(5, syncGroup(5, "g", member, generation), func(m *kmsg.SyncGroupRequest) { m.ProtocolType = new("connect") }))
	c.want("INCONSISTENT_GROUP_PROTOCOL", joinGroup(3, "g", "", func(m *kmsg.JoinGroupRequest) { m.ProtocolType = "connect" }))
	c.want("INCONSISTENT_GROUP_PROTOCOL", joinGroup(3, "g", "", func(m *kmsg.JoinGroupRequest) { m.Protocols[0].Name = "other" }))
	c.want("UNKNOWN_MEMBER_ID", joinGroup(3, "g", "x"))
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"g"}
	c.want("NON_EMPTY_GROUP", at(2, remove))

	c.want("", heartbeat(4, "g", member, generation))
	if got := c.committed("g"); got != 10 {
		t.Errorf("committed %d", got)
	}
	c.want("", leaveGroup(4, "g", member))
	c.want("UNKNOWN_MEMBER_ID", heartbeat(4, "g", member, generation))
	c.want("UNKNOWN_MEMBER_ID", offsetCommit(7, "g", member, generation, 99))
	if again, next := c.joined("g"); again == member || next <= generation {
		t.Errorf("joined again as %s at generation %d; was %s at %d", again, next, member, generation)
	}
	if got := c.committed("g"); got != 10 {
		t.Errorf("committed %d", got)
	}
	b.serves(t)
}

// TestGroupInRebalance: a member that joins while another is in the middle of its rebalance. Who does not follow is told to, and a commit of the
// generation that ends is refused or kept, never mixed up.
func TestGroupInRebalance(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	one, two, other := b.dial(t), b.dial(t), b.dial(t)
	member, generation := one.joined("g")
	two.send(frame(joinGroup(3, "g", ""), 5)) // waits for the first to join again
	for i := 0; ; i++ {
		if codes := codesOf(other.ask(heartbeat(4, "g", member, generation))); codes == "REBALANCE_IN_PROGRESS" {
			break
		} else if codes != "" || i > 10_000 {
			t.Fatalf("heartbeat while another joins: %s", codes)
		}
	}
	other.want("", offsetCommit(7, "g", member, generation, 11)) // before it joins again it may say how far it came
	other.want("REBALANCE_IN_PROGRESS", syncGroup(5, "g", member, generation))

	resp := one.want("", joinGroup(3, "g", member)).(*kmsg.JoinGroupResponse)
	_, body, err := two.reply()
	if err != nil {
		t.Fatal(err)
	}
	joined := kmsg.NewPtrJoinGroupResponse()
	joined.SetVersion(3)
	if err := joined.ReadFrom(body); err != nil || joined.Generation != resp.Generation || resp.Generation != generation+1 || len(resp.Members)+len(joined.Members) != 2 {
		t.Fatalf("%v: %+v and %+v", err, resp, joined)
	}
	other.want("REBALANCE_IN_PROGRESS", offsetCommit(7, "g", member, resp.Generation, 99)) // nobody has an assignment yet
	other.want("ILLEGAL_GENERATION", offsetCommit(7, "g", member, generation, 99))
	other.want("UNKNOWN_MEMBER_ID", syncGroup(5, "g", "x", resp.Generation))
	two.send(frame(syncGroup(3, "g", joined.MemberID, joined.Generation), 5))
	one.send(frame(syncGroup(3, "g", member, resp.Generation), 5))
	for _, c := range []conn{one, two} {
		_, body, err := c.reply()
		synced := kmsg.NewPtrSyncGroupResponse()
		synced.SetVersion(3)
		if err == nil {
			err = synced.ReadFrom(body)
		}
		if err != nil || synced.ErrorCode != 0 {
			t.Fatalf("%v: %+v", err, synced)
		}
	}
	other.want("", heartbeat(4, "g", member, resp.Generation))
	if got := other.committed("g"); got != 11 {
		t.Errorf("committed %d", got)
	}
}

// TestStaticMembers: KIP-345, two processes with one instance id: the older is fenced.
func TestStaticMembers(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	instance := func(m *kmsg.JoinGroupRequest) { m.InstanceID = new("i") }
	first := c.want("", joinGroup(5, "g", "", instance)).(*kmsg.JoinGroupResponse)
	c.want("", syncGroup(3, "g", first.MemberID, first.Generation))
	second := c.want("", joinGroup(5, "g", "", instance)).(*kmsg.JoinGroupResponse)
	if second.MemberID == first.MemberID {
		t.Fatalf("the same member id twice: %s", second.MemberID)
	}
	beat := func(member string, generation int32) *kmsg.HeartbeatRequest {
		m := heartbeat(4, "g", member, generation)
		m.InstanceID = new("i")
		return m
	}
	c.want("FENCED_INSTANCE_ID", beat(first.MemberID, second.Generation))
	c.want("FENCED_INSTANCE_ID", at(7, offsetCommit(7, "g", first.MemberID, second.Generation, 9), func(m *kmsg.OffsetCommitRequest) { m.InstanceID = new("i") }))
	c.want("FENCED_INSTANCE_ID", joinGroup(5, "g", first.MemberID, instance))
	c.want("FENCED_INSTANCE_ID", at(4, leaveGroup(4, "g", first.MemberID), func(m *kmsg.LeaveGroupRequest) { m.Members[0].InstanceID = new("i") }))
	c.want("UNKNOWN_MEMBER_ID", at(4, heartbeat(4, "g", second.MemberID, second.Generation), func(m *kmsg.HeartbeatRequest) { m.InstanceID = new("nobody") }))
	c.want("", beat(second.MemberID, second.Generation))
	c.want("", at(4, leaveGroup(4, "g", ""), func(m *kmsg.LeaveGroupRequest) { m.Members[0].InstanceID = new("i") }))
	if got := c.committed("g"); got != -1 {
		t.Errorf("committed %d", got)
	}
}

// TestJoinFlood: reference case 59, joins without member ids: bounded memory, and the group is none the worse.
func TestJoinFlood(t *testing.T) {
	t.Parallel()
	lean.Store(t.Name(), "GOGC=10")
	b := startGroups(t)
	c := b.dial(t)
	c.joined("warm")
	before := b.rss(t)
	const conns = 20
	each := 5000
	if testing.Short() {
		each = 1000
	}
	var floods sync.WaitGroup
	for i := range conns {
		floods.Go(func() {
			c := b.dial(t)
			join := joinGroup(9, "flooded", "", func(m *kmsg.JoinGroupRequest) {
				m.Protocols[0].Metadata = bytes.Repeat([]byte{7}, 2000)
				m.Reason = new(fmt.Sprintf("%3000d", i))
			})
			for range each {
				codesOf(c.ask(join)) // MEMBER_ID_REQUIRED, or what says that it is enough
			}
		})
	}
	floods.Wait()
	if grown := b.settled(t, before, 64<<20); grown > 64<<20 {
		t.Errorf("%d joins without a member id cost %d MiB", conns*each, grown>>20)
	}
	member, generation := c.joined("flooded")
	c.want("", offsetCommit(7, "flooded", member, generation, 3))
	b.serves(t)
}

// TestLargeMembers: what a member brings is bounded by a record of the group's topic.
func TestLargeMembers(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	large := bytes.Repeat([]byte{7}, 20<<20)
	c.joined("warm") // the first frame of a connection may not be large
	resp := c.ask(joinGroup(3, "g", "", func(m *kmsg.JoinGroupRequest) { m.Protocols[0].Metadata = large })).(*kmsg.JoinGroupResponse)
	if resp.ErrorCode == 0 { // then its assignment is what does not fit
		sync := syncGroup(3, "g", resp.MemberID, resp.Generation)
		sync.GroupAssignment[0].MemberAssignment = large
		if codes := codesOf(c.ask(sync)); codes == "" {
			t.Error("an assignment of 20 MiB is stored")
		}
		c.ask(leaveGroup(3, "g", resp.MemberID))
	}
	member, generation := c.joined("h")
	sync := syncGroup(3, "h", member, generation)
	sync.GroupAssignment[0].MemberAssignment = large
	c.want("", sync) // it has its assignment; what it brings now counts for nothing
	if got := c.want("", syncGroup(3, "h", member, generation)).(*kmsg.SyncGroupResponse); string(got.MemberAssignment) != "all of it" {
		t.Errorf("assigned %d bytes", len(got.MemberAssignment))
	}
	c.joined("g")
	b.serves(t)
}
