package groupapi

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// Heartbeat: v0 to v4.
//
// **Behaviour**
//
// Keeps a classic member's session alive and tells it of a rebalance. While the group is being loaded it is answered without an error, since
// sessions begin after that only (Kafka's GroupCoordinatorService.heartbeat).
//
// INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID (v3+), ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, NOT_COORDINATOR.
//
// **Differences from Apache Kafka**
//
// In a group of the next generation it begins an assignment that is due; in Kafka only members of the next generation, and JoinGroup, do.
//
// **Versions**
//
//	v1 throttle first, v3 static members (KIP-345), v4 flexible

func (f *family) heartbeat(a *api.API, req *api.Request, m *kmsg.HeartbeatRequest) api.Reply {
	return park(a, req, f.groups.Ask(m.Group, group.Heartbeat{
		Caller: f.caller(req), Group: m.Group, Member: m.MemberID, InstanceID: m.InstanceID, Generation: m.Generation,
	}), 0, heard)
}

// heard is the response.
func heard(q *api.Asked, r group.HeartbeatResult) kmsg.Response {
	resp := kmsg.NewPtrHeartbeatResponse()
	if !api.Is(r.Err, kerr.CoordinatorLoadInProgress) {
		resp.ErrorCode = q.Code(r.Err)
	}
	return resp
}
