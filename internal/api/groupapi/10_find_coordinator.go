package groupapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
)

// FindCoordinator: v0 to v6.
//
// **Behaviour**
//
// Says which broker coordinates a group, at the address of the listener that the client came in on. The topic of groups is made if it is not
// there. From v4 on many keys are asked for at once; each is answered once.
//
// Per key: COORDINATOR_NOT_AVAILABLE while the topic of groups cannot be had, INVALID_REQUEST for a type that is not known, or that the
// version does not know. With an error there is no node: id -1, no host, port -1.
//
// **Differences from Apache Kafka**
//
// Transactions do not exist yet. A transaction's key gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED, as InitProducerId with a
// transactional id does: Kafka's answer to a producer that may not use its transactional id. It is the one code that clients take
// as final here: with any other but CLUSTER_AUTHORIZATION_FAILED, librdkafka repeats the request until its caller gives up, for
// ever by default (rd_kafka_txn_handle_FindCoordinator). sarama repeats it for 5 s with every code. The message says why;
// librdkafka shows it. Share groups do not exist either: UNSUPPORTED_VERSION. A key that is named twice is answered once.
//
// **Versions**
//
//	v1 key type, v3 flexible, v4 many keys (KIP-699)
//	v5 TRANSACTION_ABORTABLE (KIP-890), v6 share groups (KIP-932)

// The types of keys (Kafka's CoordinatorType).
const (
	coordinatorOfGroup       = 0
	coordinatorOfTransaction = 1
	coordinatorOfShare       = 2
)

func (f *family) findCoordinator(ctx context.Context, a *api.API, req *api.Request, m *kmsg.FindCoordinatorRequest) kmsg.Response {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	asked := a.Asked(req)
	if m.Version < 4 {
		c := f.coordinatorOf(ctx, a, req, &asked, m.CoordinatorType, m.CoordinatorKey)
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		return resp
	}
	for _, key := range distinct(m.CoordinatorKeys) {
		resp.Coordinators = append(resp.Coordinators, f.coordinatorOf(ctx, a, req, &asked, m.CoordinatorType, key))
	}
	return resp
}

// coordinatorOf is the coordinator of one key.
func (f *family) coordinatorOf(ctx context.Context, a *api.API, req *api.Request, asked *api.Asked, typ int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key = key
	err := refuseCoordinator(asked.Version(), typ)
	if err == nil {
		err = f.groups.Locate(ctx, key)
	}
	if err != nil {
		c.NodeID, c.Port = -1, -1
		c.ErrorCode, c.ErrorMessage = asked.Code(err), api.Explain(err)
		return c
	}
	c.NodeID, c.Host, c.Port = a.Here(req.Conn)
	return c
}

// refuseCoordinator says why there is no coordinator of that type.
func refuseCoordinator(version int16, typ int8) error {
	switch {
	case typ == coordinatorOfGroup:
		return nil
	case typ == coordinatorOfTransaction:
		return api.Refuse(kerr.TransactionalIDAuthorizationFailed, "transactions are not served yet: unset transactional.id")
	case typ == coordinatorOfShare && version >= 6:
		return api.Refuse(kerr.UnsupportedVersion, "share groups are not served")
	}
	return api.Refuse(kerr.InvalidRequest, "coordinator type %d is not known to version %d", typ, version)
}
