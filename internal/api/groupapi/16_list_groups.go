package groupapi

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// ListGroups: v0 to v5.
//
// **Behaviour**
//
// Lists the groups that this broker coordinates, those of the states (v4+) and types (v5+) that are named, or all; by name. A state or a type that
// no group can have matches none. While some are being loaded the answer is COORDINATOR_LOAD_IN_PROGRESS, and no groups.
//
// **Differences from Apache Kafka**
//
// Groups are in order of name.
//
// **Versions**
//
//	v1 throttle first, v3 flexible, v4 states (KIP-518), v5 types (KIP-848)

func (f *family) listGroups(ctx context.Context, a *api.API, req *api.Request, m *kmsg.ListGroupsRequest) kmsg.Response {
	states, types := group.FilterOf(m.StatesFilter), group.FilterOf(m.TypesFilter)
	calls := f.groups.AskAll(func() group.Input {
		return group.List{Caller: f.caller(req), States: states, Types: types}
	})
	resp := kmsg.NewPtrListGroupsResponse()
	asked := a.Asked(req)
	var failed error
	for _, call := range calls {
		r := result[group.ListResult](call.Wait(ctx))
		if r.Err != nil && failed == nil {
			failed = r.Err
		}
		for i := range r.Groups {
			from := &r.Groups[i]
			rg := kmsg.NewListGroupsResponseGroup()
			rg.Group, rg.ProtocolType, rg.GroupState, rg.GroupType = from.Group, from.ProtocolType, from.State, from.Type
			resp.Groups = append(resp.Groups, rg)
		}
	}
	if failed != nil {
		resp.ErrorCode, resp.Groups = asked.Code(failed), nil
	}
	slices.SortFunc(resp.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
	return resp
}
