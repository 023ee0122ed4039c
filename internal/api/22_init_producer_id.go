package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId: v0 to v5.
//
// **Behaviour**
//
// Gives an idempotent producer an id that nobody had before, and epoch 0. A producer id and epoch that the client has are
// ignored without a transactional id: a new id is as good as a new epoch. An empty transactional id, or only one of producer id and epoch,
// gets INVALID_REQUEST.
//
// **Differences from Apache Kafka**
//
// Transactions do not exist yet. A transactional id gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Kafka's answer to a producer that
// may not use it, which all clients take as final. Most find out before: FindCoordinator answers a transaction's key so too, and
// has a message.
//
// **Versions**
//
//	v2 flexible
//	v3 producer id and epoch (KIP-360)
//	v4 PRODUCER_FENCED (KIP-588), v5 TRANSACTION_ABORTABLE (KIP-890)

func (a *API) initProducerID(ctx context.Context, req *Request, m *kmsg.InitProducerIDRequest) kmsg.Response {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	err := refuseInitProducerID(m)
	if err == nil {
		resp.ProducerID, err = a.node.AllocateProducerID(ctx)
	}
	if err != nil {
		resp.ProducerID, resp.ErrorCode = -1, a.fault(req, err)
		return resp
	}
	resp.ProducerEpoch = 0
	return resp
}

// errTransactions answers every request for a transaction until they exist (see InitProducerId and FindCoordinator).
var errTransactions = refuse(kerr.TransactionalIDAuthorizationFailed, "transactions are not served yet: unset transactional.id")

// refuseInitProducerID says what is wrong with a request.
func refuseInitProducerID(m *kmsg.InitProducerIDRequest) error {
	switch {
	case m.TransactionalID != nil && *m.TransactionalID == "":
		return refuse(kerr.InvalidRequest, "the transactional id is empty")
	case (m.ProducerID < 0) != (m.ProducerEpoch < 0):
		return refuse(kerr.InvalidRequest, "producer id is %d and epoch %d: either both are known or none", m.ProducerID, m.ProducerEpoch)
	case m.TransactionalID != nil:
		return errTransactions
	}
	return nil
}
