package aclapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
)

// CreateAcls: v0 to v3.
//
// **Behaviour**
//
// Answers SECURITY_DISABLED with a message for each creation, as Kafka without an authorizer does
// (AclApis.handleCreateAcls).
//
// **Differences from Apache Kafka**
//
// The creations are ignored; Kafka closes the connection for one that has UNKNOWN (0) in it, or a
// pattern type below v1. v0 is answered; Kafka removed it in 4.0.
//
// **Versions**
//
//	v0 KIP-140, v1 pattern types (KIP-290), v2 flexible, v3 resources of type user (KIP-373)

func createACLs(_ context.Context, a *api.API, req *api.Request, m *kmsg.CreateACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateACLsResponse()
	q := a.Asked(req)
	resp.Results = make([]kmsg.CreateACLsResponseResult, len(m.Creations))
	for i := range resp.Results {
		r := &resp.Results[i]
		*r = kmsg.NewCreateACLsResponseResult()
		r.ErrorCode, r.ErrorMessage = q.Code(errDisabled), api.Explain(errDisabled)
	}
	return resp
}
