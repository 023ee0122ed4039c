package aclapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
)

// DeleteAcls: v0 to v3.
//
// **Behaviour**
//
// Answers SECURITY_DISABLED with a message for each filter, as Kafka without an authorizer does
// (AclApis.handleDeleteAcls).
//
// **Differences from Apache Kafka**
//
// The filters are ignored; Kafka closes the connection for one that has UNKNOWN (0) in it, or a
// pattern type below v1. v0 is answered; Kafka removed it in 4.0.
//
// **Versions**
//
//	v0 KIP-140, v1 pattern types (KIP-290), v2 flexible, v3 resources of type user (KIP-373)

func deleteACLs(_ context.Context, a *api.API, req *api.Request, m *kmsg.DeleteACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteACLsResponse()
	q := a.Asked(req)
	resp.Results = make([]kmsg.DeleteACLsResponseResult, len(m.Filters))
	for i := range resp.Results {
		r := &resp.Results[i]
		*r = kmsg.NewDeleteACLsResponseResult()
		r.ErrorCode, r.ErrorMessage = q.Code(errDisabled), api.Explain(errDisabled)
	}
	return resp
}
