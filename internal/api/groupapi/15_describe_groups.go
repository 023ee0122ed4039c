package groupapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// DescribeGroups: v0 to v6.
//
// **Behaviour**
//
// Shows classic groups: their state, and their members with what they brought and got. A group that is not there, or is none of the classic
// protocol, is Dead: without an error below v6, with GROUP_ID_NOT_FOUND and a message from then on. Each group is described once.
//
// Per group: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, GROUP_ID_NOT_FOUND (v6).
//
// **Differences from Apache Kafka**
//
// A group that is named twice is described once.
//
// **Versions**
//
//	v1 throttle first, v3 authorised operations (KIP-430), v4 static members (KIP-345), v5 flexible, v6 GROUP_ID_NOT_FOUND (KIP-1043)

func (f *family) describeGroups(ctx context.Context, a *api.API, req *api.Request, m *kmsg.DescribeGroupsRequest) kmsg.Response {
	results := askEach[group.DescribeResult](ctx, f, req, distinct(m.Groups), func(c group.Caller, id string) group.Input {
		return group.Describe{Caller: c, Group: id}
	})
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(results))
	asked := a.Asked(req)
	for i := range results {
		r := &results[i]
		if m.Version < 6 && api.Is(r.Err, kerr.GroupIDNotFound) {
			r.Err = nil
		}
		resp.Groups[i] = described(&asked, r)
		resp.Groups[i].AuthorizedOperations = api.GroupOperations(m.IncludeAuthorizedOperations && r.Err == nil)
	}
	return resp
}

// described is one group of the response.
func described(q *api.Asked, r *group.DescribeResult) kmsg.DescribeGroupsResponseGroup {
	rg := kmsg.NewDescribeGroupsResponseGroup()
	rg.ErrorCode, rg.ErrorMessage = q.Code(r.Err), api.Explain(r.Err)
	rg.Group, rg.State, rg.ProtocolType, rg.Protocol = r.Group, r.State, r.ProtocolType, r.Protocol
	rg.Members = make([]kmsg.DescribeGroupsResponseGroupMember, len(r.Members))
	for i := range r.Members {
		from, to := &r.Members[i], &rg.Members[i]
		*to = kmsg.NewDescribeGroupsResponseGroupMember()
		to.MemberID, to.InstanceID, to.ClientID, to.ClientHost = from.Member, from.InstanceID, from.ClientID, from.Host
		to.ProtocolMetadata, to.MemberAssignment = from.Metadata, from.Assignment
	}
	return rg
}
