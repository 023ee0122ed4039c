package groupapi

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// JoinGroup: v0 to v9.
//
// **Behaviour**
//
// Makes the client a member of a classic group, or keeps it one, and answers when all members have joined. The leader gets everybody's
// metadata for the protocol that was chosen. The reply waits, for as long as the longest rebalance timeout at most, or
// group.initial.rebalance.delay.ms where a group begins; when the broker closes, it says NOT_COORDINATOR.
//
// INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED (v4+: the id comes with it), UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID (v5+),
// INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, REBALANCE_IN_PROGRESS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR.
//
// **Differences from Apache Kafka**
//
// A reason is cut at 255 bytes here; Kafka leaves that to its client. The first rebalance of a group waits for group.initial.rebalance.delay.ms
// from the last member that came; Kafka waits for whole delays while members come. Of protocols with as many votes the one that was voted for
// first is taken; in Kafka that is chance. A protocol that is named twice counts as it is named first; Kafka does not answer. A member brings
// 1,000 protocols at most. When a member that waits asks again, the first answer is REBALANCE_IN_PROGRESS; Kafka does not answer.
//
// A group that has nothing but a refused JoinGroup, or ids that were given out and not used, is forgotten; Kafka shows it as Empty until it
// restarts. A member id begins with the client's id or the instance id, cut at 255 bytes; Kafka does not cut it, and leaves it out where the
// group is of the next generation.
//
// When a group changes its protocol without members, its generation goes on from its epoch, and its epoch from its generation; Kafka begins at
// 1 again. A static member that takes the place of the only one of the next generation begins a rebalance; Kafka hands the assignment on. In a
// group that becomes a classic one members keep what they have; Kafka notes down what they were to get. An upgrade that is refused disturbs
// nobody; Kafka answers REBALANCE_IN_PROGRESS to those who wait in JoinGroup.
//
// **Versions**
//
//	v1 rebalance timeout (before, the session's), v2 throttle first
//	v4 member ids are given out first (KIP-394), v5 static members (KIP-345), v6 flexible
//	v7 protocol type and null protocol in responses (KIP-559), v8 reason (KIP-800), v9 skip assignment (KIP-814)

// reasonMax bounds the reason that a client gives, in bytes (the length to which Kafka's client cuts it).
const reasonMax = 255

func (f *family) joinGroup(a *api.API, req *api.Request, m *kmsg.JoinGroupRequest) api.Reply {
	in := f.joinOf(req, m)
	size := len(in.Reason)
	for _, p := range in.Protocols {
		size += len(p.Name) + len(p.Metadata)
	}
	return parkForOthers(a, req, f.groups.Ask(in.Group, in), in, size, joined)
}

// joinOf is the request as the machine takes it.
func (f *family) joinOf(req *api.Request, m *kmsg.JoinGroupRequest) group.Join {
	in := group.Join{
		Caller: f.caller(req), Group: m.Group, Member: m.MemberID, InstanceID: m.InstanceID, ProtocolType: m.ProtocolType,
		Session: millis(m.SessionTimeoutMillis), Rebalance: millis(m.RebalanceTimeoutMillis),
		NeedsKnownID: m.Version >= 4, KnowsSkipAssignment: m.Version >= 9,
	}
	if m.Version == 0 {
		in.Rebalance = in.Session
	}
	if m.Reason != nil {
		in.Reason = (*m.Reason)[:min(len(*m.Reason), reasonMax)]
	}
	var kept keep
	for i := range m.Protocols {
		kept.want(m.Protocols[i].Metadata)
	}
	in.Protocols = make([]record.Protocol, len(m.Protocols))
	for i := range m.Protocols {
		p := &m.Protocols[i]
		in.Protocols[i] = record.Protocol{Name: p.Name, Metadata: kept.clone(p.Metadata)}
	}
	return in
}

// joined is the response.
func joined(q *api.Asked, r group.JoinResult) kmsg.Response {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode = q.Code(r.Err)
	resp.Generation, resp.ProtocolType, resp.Protocol = r.Generation, r.ProtocolType, r.Protocol
	resp.LeaderID, resp.MemberID, resp.SkipAssignment = r.Leader, r.Member, r.SkipAssignment
	resp.Members = make([]kmsg.JoinGroupResponseMember, len(r.Members))
	for i := range r.Members {
		from, to := &r.Members[i], &resp.Members[i]
		*to = kmsg.NewJoinGroupResponseMember()
		to.MemberID, to.InstanceID, to.ProtocolMetadata = from.Member, from.InstanceID, from.Metadata
	}
	return resp
}

// millis is a time of a request.
func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// keep clones byte slices of a frame into one piece of memory: first all are wanted, then all cloned.
type keep struct {
	size int
	left []byte
}

func (k *keep) want(b []byte) { k.size += len(b) }

func (k *keep) clone(b []byte) []byte {
	if k.left == nil {
		k.left = make([]byte, k.size)
	}
	n := copy(k.left, b)
	b, k.left = k.left[:n:n], k.left[n:]
	return b
}
