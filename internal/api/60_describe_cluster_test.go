package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeClusterVersions(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	for _, v := range versionsOf(t, kmsg.DescribeCluster) {
		for _, asks := range []bool{false, true} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType, req.IncludeClusterAuthorizedOperations, req.IncludeFencedBrokers = 1, asks, asks
			got := ask[*kmsg.DescribeClusterResponse](n, v, req)
			wantCode(t, "brokers", got.ErrorCode, "")
			if got.ClusterID != n.broker.Image().ClusterID || got.ControllerID != 1 || got.EndpointType != 1 {
				t.Errorf("v%d: %+v", v, got)
			}
			operations := int32(-1 << 31)
			if asks {
				operations = 8096 // as Kafka's
			}
			if got.ClusterAuthorizedOperations != operations {
				t.Errorf("v%d: operations are %d, expected %d", v, got.ClusterAuthorizedOperations, operations)
			}
			if len(got.Brokers) != 1 || got.Brokers[0].NodeID != 1 || got.Brokers[0].Host != "127.0.0.1" || got.Brokers[0].Port != 9092 || got.Brokers[0].IsFenced {
				t.Errorf("v%d: brokers are %+v", v, got.Brokers)
			}
		}
		if v < 1 {
			continue // it has no endpoint type
		}
		for typ, want := range map[int8]string{0: "UNSUPPORTED_ENDPOINT_TYPE", 2: "MISMATCHED_ENDPOINT_TYPE", 3: "UNSUPPORTED_ENDPOINT_TYPE"} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = typ
			got := ask[*kmsg.DescribeClusterResponse](n, v, req)
			wantCode(t, "endpoint", got.ErrorCode, want)
			if got.ErrorMessage == nil || len(got.Brokers) > 0 || got.ControllerID != -1 {
				t.Errorf("v%d: type %d: %+v", v, typ, got)
			}
		}
	}
}
