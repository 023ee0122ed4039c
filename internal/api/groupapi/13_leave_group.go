package groupapi

import (
	"context"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// LeaveGroup: v0 to v5.
//
// **Behaviour**
//
// Takes members out of a group, by member id or by instance id; below v3 it is one member, and its error is the response's. In groups of the next
// generation members of both protocols leave this way, since administrators remove them so.
//
// INVALID_GROUP_ID, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR. Per member: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
//
// **Versions**
//
//	v1 throttle first, v3 many members (KIP-345), v4 flexible, v5 reason (KIP-800)

func (f *family) leaveGroup(ctx context.Context, a *api.API, req *api.Request, m *kmsg.LeaveGroupRequest) kmsg.Response {
	in := group.Leave{Caller: f.caller(req), Group: m.Group}
	if m.Version < 3 {
		in.Members = []group.LeavingMember{{Member: m.MemberID}}
	}
	for i := range m.Members {
		from := &m.Members[i]
		leaving := group.LeavingMember{Member: from.MemberID, InstanceID: from.InstanceID}
		if from.Reason != nil {
			leaving.Reason = (*from.Reason)[:min(len(*from.Reason), reasonMax)]
		}
		in.Members = append(in.Members, leaving)
	}
	r := result[group.LeaveResult](f.groups.Ask(m.Group, in).Wait(ctx))
	resp := kmsg.NewPtrLeaveGroupResponse()
	asked := a.Asked(req)
	if m.Version < 3 && r.Err == nil && len(r.Members) > 0 {
		r.Err = r.Members[0].Err
	}
	if resp.ErrorCode = asked.Code(r.Err); r.Err != nil || m.Version < 3 {
		return resp
	}
	auditLeave(a.Audit(req), m.Group, in.Members, r.Members)
	resp.Members = make([]kmsg.LeaveGroupResponseMember, len(r.Members))
	for i := range r.Members {
		from, to := &r.Members[i], &resp.Members[i]
		*to = kmsg.NewLeaveGroupResponseMember()
		to.MemberID, to.InstanceID, to.ErrorCode = from.Member, from.InstanceID, asked.Code(from.Err)
	}
	return resp
}

// byAdmin is how the reason of Kafka's admin client begins (KafkaAdminClient.DEFAULT_LEAVE_GROUP_REASON). Members leave for others.
const byAdmin = "member was removed by an admin"

// auditLeave writes a line for each member that was taken out by somebody else. A member leaves alone and by its member id; several at
// once, or one by its instance id alone, or with that reason, are an administrator's.
func auditLeave(audit *api.Audit, groupID string, asked, left []group.LeavingMember) {
	defer audit.Done()
	for i := range min(len(asked), len(left)) {
		m := &asked[i]
		if left[i].Err != nil || len(asked) == 1 && m.Member != "" && !strings.HasPrefix(m.Reason, byAdmin) {
			continue
		}
		instance := ""
		if m.InstanceID != nil {
			instance = *m.InstanceID
		}
		audit.Line("member removed", slog.String("group", api.AuditText(groupID)), slog.String("member", api.AuditText(left[i].Member)),
			slog.String("instance_id", api.AuditText(instance)), slog.String("reason", api.AuditText(m.Reason)))
	}
}
