package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster: v0 to v2.
//
// **Behaviour**
//
// Names the cluster, its controller and its brokers, at the addresses that Metadata gives too. Fenced brokers are left out unless the
// request wants them (v2). The controller is -1 if it is not among the brokers named. An endpoint type other than brokers (v1+) gets
// MISMATCHED_ENDPOINT_TYPE if it is that of controllers, else UNSUPPORTED_ENDPOINT_TYPE.
//
// **Differences from Apache Kafka**
//
// The controller is the one that decides; Kafka's brokers name any of them.
//
// **Versions**
//
//	v0 KIP-700, v1 endpoint types (KIP-919), v2 fenced brokers (KIP-1073)

// The endpoint types.
const (
	brokerEndpoint     = 1
	controllerEndpoint = 2
)

func (a *API) describeCluster(_ context.Context, req *Request, m *kmsg.DescribeClusterRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeClusterResponse()
	if err := refuseEndpoint(m); err != nil {
		resp.ErrorCode, resp.ErrorMessage = a.fault(req, err), explain(err)
		return resp
	}
	image := a.node.Image()
	resp.ClusterID = image.ClusterID
	resp.ControllerID = -1
	if m.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	for i := range image.Brokers {
		b := &image.Brokers[i]
		if b.Fenced && !m.IncludeFencedBrokers {
			continue
		}
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID, rb.Rack, rb.IsFenced = b.ID, b.Rack, b.Fenced
		rb.Host, rb.Port = address(b, req.Conn)
		resp.Brokers = append(resp.Brokers, rb)
		if b.ID == image.Controller {
			resp.ControllerID = b.ID
		}
	}
	return resp
}

// refuseEndpoint refuses to speak for endpoints that are none of brokers.
func refuseEndpoint(m *kmsg.DescribeClusterRequest) error {
	switch m.EndpointType {
	case brokerEndpoint:
		return nil
	case controllerEndpoint:
		return refuse(kerr.MismatchedEndpointType, "endpoint type is %d (controllers), this is a broker's endpoint (%d)", m.EndpointType, brokerEndpoint)
	}
	return refuse(kerr.UnsupportedEndpointType, "endpoint type is %d, expected brokers (%d)", m.EndpointType, brokerEndpoint)
}
