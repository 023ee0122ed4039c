package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type nextGen = kmsg.ConsumerGroupHeartbeatRequest

// consumer is a heartbeat of a next-generation member that joins or, with an epoch above 0, changes nothing.
func consumer(version int16, group, member string, epoch int32, change ...func(*nextGen)) *nextGen {
	m := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	m.Group, m.MemberID, m.MemberEpoch = group, member, epoch
	if epoch == 0 {
		m.RebalanceTimeoutMillis, m.SubscribedTopicNames, m.Topics = 10_000, []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	return at(version, m, change...)
}

func owns(id [16]byte, partitions ...int32) func(*nextGen) {
	return func(m *nextGen) {
		rt := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		rt.TopicID, rt.Partitions = id, partitions
		m.Topics = append(m.Topics, rt)
	}
}

// TestNextGenRefused: heartbeats that say too little, too much, or nonsense.
func TestNextGenRefused(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	for code, refused := range map[string][]*nextGen{
		"INVALID_REQUEST": {
			consumer(1, "", "m", 0),
			consumer(1, "g", "", 0), // from v1 on the client makes its id
			consumer(0, "g", "", 1),
			consumer(0, "g", "", 0, func(m *nextGen) { m.RebalanceTimeoutMillis = -1 }),
			consumer(0, "g", "", 0, func(m *nextGen) { m.SubscribedTopicNames = nil }),
			consumer(0, "g", "", 0, func(m *nextGen) { m.Topics = nil }),
			consumer(0, "g", "", 0, owns([16]byte{1}, 0)),
			consumer(0, "g", "", 0, func(m *nextGen) { m.InstanceID = new("") }),
			consumer(0, "g", "", 0, func(m *nextGen) { m.RackID = new("") }),
			consumer(1, "g", "m", -2),
			consumer(1, "g", "m", -3),
			consumer(1, "g", "m", -1<<31),
		},
		"UNSUPPORTED_ASSIGNOR":       {consumer(1, "g", "m", 0, func(m *nextGen) { m.ServerAssignor = new("worst") })},
		"INVALID_REGULAR_EXPRESSION": {consumer(1, "g", "m", 0, func(m *nextGen) { m.SubscribedTopicRegex = new("t[") })},
		"GROUP_ID_NOT_FOUND":         {consumer(1, "g", "m", 1), consumer(1, "g", "m", -1), consumer(1, "g", "m", 1<<31-1)},
	} {
		for _, m := range refused {
			c.want(code, m)
		}
	}
	describe := kmsg.NewPtrConsumerGroupDescribeRequest()
	for v := range int16(2) {
		describe.Groups = []string{"g"}
		c.want("GROUP_ID_NOT_FOUND", at(v, describe))
		describe.Groups = []string{""}
		c.want("INVALID_GROUP_ID", at(v, describe))
	}
	c.wantNoGroups()
	b.serves(t)
}

// TestNextGenOutOfStep: epochs, members and protocols that do not fit. None moves an offset.
func TestNextGenOutOfStep(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	joined := c.want("", consumer(1, "g", "m", 0)).(*kmsg.ConsumerGroupHeartbeatResponse)
	epoch := joined.MemberEpoch
	if joined.Assignment == nil || len(joined.Assignment.Topics) != 1 || len(joined.Assignment.Topics[0].Partitions) != 3 || epoch < 1 {
		t.Fatalf("joined: %+v", joined)
	}
	id := joined.Assignment.Topics[0].TopicID
	c.want("", consumer(1, "g", "m", epoch, owns(id, 0, 1, 2)))
	c.want("", offsetCommit(9, "g", "m", epoch, 10))

	c.want("FENCED_MEMBER_EPOCH", consumer(1, "g", "m", epoch+1))
	c.want("FENCED_MEMBER_EPOCH", consumer(1, "g", "m", 1<<31-1))
	c.want("UNKNOWN_MEMBER_ID", consumer(1, "g", "x", epoch))
	c.want("UNKNOWN_MEMBER_ID", consumer(1, "g", "x", -1))
	c.want("STALE_MEMBER_EPOCH", offsetCommit(9, "g", "m", epoch+1, 99))
	c.want("UNSUPPORTED_VERSION", offsetCommit(8, "g", "m", epoch, 99))
	c.want("UNKNOWN_MEMBER_ID", offsetCommit(9, "g", "x", epoch, 99))
	c.want("UNKNOWN_MEMBER_ID", offsetCommit(9, "g", "", -1, 99))
	c.want("STALE_MEMBER_EPOCH", fetchAs("m", epoch+1))
	c.want("UNKNOWN_MEMBER_ID", fetchAs("x", epoch))
	c.want("", fetchAs("m", epoch))

	// Of the classic protocol.
	c.want("UNKNOWN_MEMBER_ID", heartbeat(4, "g", "m", epoch))
	c.want("UNKNOWN_MEMBER_ID", heartbeat(4, "g", "x", epoch))
	c.want("UNKNOWN_MEMBER_ID", syncGroup(5, "g", "x", epoch))
	c.want("INCONSISTENT_GROUP_PROTOCOL", joinGroup(3, "g", "", func(m *kmsg.JoinGroupRequest) { m.ProtocolType = "connect" }))
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"g"}
	c.want("NON_EMPTY_GROUP", at(2, remove))
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"g"}
	c.want("GROUP_ID_NOT_FOUND", at(6, describe))

	if got := c.committed("g"); got != 10 {
		t.Errorf("committed %d", got)
	}
	c.want("", consumer(1, "g", "m", epoch, owns(id, 0, 1, 2)))
	c.want("", consumer(1, "g", "m", -1))
	c.want("UNKNOWN_MEMBER_ID", consumer(1, "g", "m", epoch))
	c.want("", at(2, remove))
	b.serves(t)
}

func fetchAs(member string, epoch int32) *kmsg.OffsetFetchRequest {
	m := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberID, g.MemberEpoch = "g", new(member), epoch
	m.Groups = append(m.Groups, g)
	return at(9, m)
}

// TestNextGenStatic: an instance id belongs to one member until that one leaves.
func TestNextGenStatic(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	c := b.dial(t)
	as := func(instance string) func(*nextGen) { return func(m *nextGen) { m.InstanceID = new(instance) } }
	first := c.want("", consumer(1, "g", "m1", 0, as("i"))).(*kmsg.ConsumerGroupHeartbeatResponse)
	c.want("UNRELEASED_INSTANCE_ID", consumer(1, "g", "m2", 0, as("i")))
	c.want("UNKNOWN_MEMBER_ID", consumer(1, "g", "m1", first.MemberEpoch, as("j")))
	c.want("FENCED_INSTANCE_ID", consumer(1, "g", "m2", first.MemberEpoch, as("i")))
	c.want("", consumer(1, "g", "m1", -2, as("i")))
	second := c.want("", consumer(1, "g", "m2", 0, as("i"))).(*kmsg.ConsumerGroupHeartbeatResponse)
	c.want("FENCED_INSTANCE_ID", consumer(1, "g", "m1", first.MemberEpoch, as("i")))
	if second.Assignment == nil || len(second.Assignment.Topics) != 1 || len(second.Assignment.Topics[0].Partitions) != 3 {
		t.Errorf("the place of m1 went to m2 without its partitions: %+v", second)
	}
}

// TestNextGenLarge: more members than there may be, and members that say more than a record can hold. The group goes on.
func TestNextGenLarge(t *testing.T) {
	t.Parallel()
	b := startGroups(t, "--set", "group.consumer.max.size=3")
	c := b.dial(t)
	for i := range 3 {
		c.want("", consumer(1, "g", fmt.Sprint("m", i), 0))
	}
	for i := range 100 {
		c.want("GROUP_MAX_SIZE_REACHED", consumer(1, "g", fmt.Sprint("x", i), 0))
	}
	for name, m := range map[string]*nextGen{
		"a member id": consumer(1, "h", strings.Repeat("m", 32_000), 0),
		"names": consumer(1, "h", "names", 0, func(m *nextGen) {
			for i := range 20_000 {
				m.SubscribedTopicNames = append(m.SubscribedTopicNames, fmt.Sprintf("%0200d", i))
			}
		}),
		"a pattern": consumer(1, "h", "pattern", 0, func(m *nextGen) { m.SubscribedTopicRegex = new(strings.Repeat("(a*)*", 6000)) }),
		"a rack":    consumer(1, "h", "rack", 0, func(m *nextGen) { m.RackID = new(strings.Repeat("r", 32_000)) }),
	} {
		resp := c.ask(m).(*kmsg.ConsumerGroupHeartbeatResponse)
		if resp.ErrorCode == 0 {
			c.want("", consumer(1, "h", m.MemberID, -1))
		}
		b.alive(t)
		t.Logf("%s: %s", name, codesOf(resp))
	}
	c.want("", consumer(1, "h", "m", 0))
	b.serves(t)
}
