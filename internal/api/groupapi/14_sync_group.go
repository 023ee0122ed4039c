package groupapi

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// SyncGroup: v0 to v5.
//
// **Behaviour**
//
// Brings the leader's assignment, and gives each member its part when it is there and stored. The reply waits for the leader, for as long as the
// rebalance timeout at most; when the broker closes, it says NOT_COORDINATOR.
//
// INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID (v3+), ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL (v5+: another protocol than the
// group's, or none), REBALANCE_IN_PROGRESS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR.
//
// **Differences from Apache Kafka**
//
// When a member that waits leaves, it is answered UNKNOWN_MEMBER_ID; Kafka does not answer.
//
// **Versions**
//
//	v1 throttle first, v3 static members (KIP-345), v4 flexible, v5 protocol type and name (KIP-559)

func (f *family) syncGroup(a *api.API, req *api.Request, m *kmsg.SyncGroupRequest) api.Reply {
	if m.Version >= 5 && (m.ProtocolType == nil || m.Protocol == nil) {
		q := a.Asked(req)
		return q.Ready(synced(&q, group.SyncResult{Err: kerr.InconsistentGroupProtocol}))
	}
	in := group.Sync{
		Caller: f.caller(req), Group: m.Group, Member: m.MemberID, InstanceID: m.InstanceID, Generation: m.Generation,
		ProtocolType: m.ProtocolType, Protocol: m.Protocol,
	}
	var kept keep
	for i := range m.GroupAssignment {
		kept.want(m.GroupAssignment[i].MemberAssignment)
	}
	in.Assignments = make([]group.Assigned, len(m.GroupAssignment))
	for i := range m.GroupAssignment {
		from := &m.GroupAssignment[i]
		in.Assignments[i] = group.Assigned{Member: from.MemberID, Assignment: kept.clone(from.MemberAssignment)}
	}
	return parkForOthers(a, req, f.groups.Ask(in.Group, in), in, kept.size, synced)
}

// synced is the response.
func synced(q *api.Asked, r group.SyncResult) kmsg.Response {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = q.Code(r.Err)
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = r.ProtocolType, r.Protocol, r.Assignment
	return resp
}
