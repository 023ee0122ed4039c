package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// handlerSlots is above the largest key that is served.
const handlerSlots = 96

// Handler is how one key is answered; one of the two is set.
type Handler struct {
	// begin is stage one of an early key.
	begin func(a *API, s *stage, req *Request) (Reply, error)
	// ordered begins the request only when all earlier replies have left, although it has a stage one.
	ordered bool
	// answer is the handler of any other key. It may block, until ctx ends at most.
	answer func(ctx context.Context, a *API, req *Request, m kmsg.Request) kmsg.Response
}

// early makes a handler of a stage one that wants its request decoded.
func early[M kmsg.Request](fn func(*API, *stage, *Request, M) (Reply, error)) Handler {
	return Handler{begin: func(a *API, s *stage, req *Request) (Reply, error) {
		m, err := wire.Decode(req.Header, req.Body)
		if err != nil {
			return nil, err
		}
		return fn(a, s, req, as[M](m))
	}}
}

// parked makes a handler of a stage one that begins when all earlier replies have left, and whose reply may wait.
func parked[M kmsg.Request](fn func(*API, *stage, *Request, M) (Reply, error)) Handler {
	h := early(fn)
	h.ordered = true
	return h
}

// as is m, which is an M: its key is that of the handler.
func as[M kmsg.Request](m kmsg.Request) M {
	return m.(M) //nolint:errcheck // another type is a bug in the table of handlers, which each request of that key would show
}

// late makes a handler of a method that answers at once. The response's version need not be set.
func late[M kmsg.Request](fn func(*API, context.Context, *Request, M) kmsg.Response) Handler {
	return Handler{answer: func(ctx context.Context, a *API, req *Request, m kmsg.Request) kmsg.Response {
		resp := fn(a, ctx, req, as[M](m))
		if req.Key != kmsg.ApiVersions { // its fallback has a version of its own
			resp.SetVersion(req.Version)
		}
		return resp
	}}
}

// handlers is the table of keys, but for those of Options.Handlers. The version table in wire must have the same keys; a test compares them.
func handlers() (table [handlerSlots]Handler) {
	table[kmsg.Produce] = Handler{begin: (*API).produce}
	table[kmsg.Fetch] = early((*API).fetch)
	table[kmsg.ListOffsets] = parked((*API).listOffsets)
	table[kmsg.Metadata] = late((*API).metadata)
	table[kmsg.ApiVersions] = late((*API).apiVersions)
	table[kmsg.CreateTopics] = late((*API).createTopics)
	table[kmsg.DeleteTopics] = late((*API).deleteTopics)
	table[kmsg.DeleteRecords] = parked((*API).deleteRecords)
	table[kmsg.InitProducerID] = late((*API).initProducerID)
	table[kmsg.OffsetForLeaderEpoch] = late((*API).offsetForLeaderEpoch)
	table[kmsg.DescribeLogDirs] = late((*API).describeLogDirs)
	table[kmsg.CreatePartitions] = late((*API).createPartitions)
	table[kmsg.DescribeCluster] = late((*API).describeCluster)
	table[kmsg.DescribeTopicPartitions] = late((*API).describeTopicPartitions)
	return table
}
