package groupapi

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// DeleteGroups: v0 to v3.
//
// **Behaviour**
//
// Deletes groups without members, and their offsets. Each succeeds or fails by itself; answered when it is on disk.
//
// Per group: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR.
//
// **Versions**
//
//	v0 KIP-229, v1 throttle first, v2 flexible, v3 a message for each group

func (f *family) deleteGroups(ctx context.Context, a *api.API, req *api.Request, m *kmsg.DeleteGroupsRequest) kmsg.Response {
	ids := distinct(m.Groups)
	results := askEach[group.DeleteResult](ctx, f, req, ids, func(c group.Caller, id string) group.Input {
		return group.Delete{Caller: c, Group: id}
	})
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(ids))
	asked := a.Asked(req)
	audit := a.Audit(req)
	defer audit.Done()
	for i, id := range ids {
		if results[i].Err == nil {
			audit.Line("group deleted", slog.String("group", api.AuditText(id)))
		}
		rg := kmsg.NewDeleteGroupsResponseGroup()
		rg.Group = id
		rg.ErrorCode, rg.ErrorMessage = asked.Code(results[i].Err), api.Explain(results[i].Err)
		resp.Groups[i] = rg
	}
	return resp
}
