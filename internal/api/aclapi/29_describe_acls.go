package aclapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
)

// DescribeAcls: v0 to v3.
//
// **Behaviour**
//
// Answers SECURITY_DISABLED with a message and no resources, as Kafka without an authorizer does
// (AclApis.handleDescribeAcls).
//
// **Differences from Apache Kafka**
//
// The filter is ignored; Kafka closes the connection for one that has UNKNOWN (0) in it, or a pattern
// type below v1. v0 is answered; Kafka removed it in 4.0.
//
// **Versions**
//
//	v0 KIP-140, v1 pattern types (KIP-290), v2 flexible, v3 resources of type user (KIP-373)

func describeACLs(_ context.Context, a *api.API, req *api.Request, _ *kmsg.DescribeACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeACLsResponse()
	q := a.Asked(req)
	resp.ErrorCode, resp.ErrorMessage = q.Code(errDisabled), api.Explain(errDisabled)
	return resp
}
