package api

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// CreatePartitions: v0 to v3.
//
// **Behaviour**
//
// Gives topics more partitions; count is how many there shall be in all. Assignments, if any, are the replicas of each new one. Each
// topic succeeds or fails by itself; new partitions can be written to when the reply leaves. With validate_only everything is checked and
// nothing done.
//
// Per topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS (not more than there are), INVALID_REPLICA_ASSIGNMENT,
// INVALID_REPLICATION_FACTOR, INVALID_REQUEST (named twice), INVALID_TOPIC_EXCEPTION (internal), POLICY_VIOLATION (more than one request may create,
// or than memory is for), REQUEST_TIMED_OUT.
//
// **Differences from Apache Kafka**
//
// A timeout of 0 or less is no limit; Kafka times out at once. Kafka grows internal topics, and then looks for groups' offsets where they are not.
//
// **Versions**
//
//	v0 KIP-195, v2 flexible, v3 THROTTLING_QUOTA_EXCEEDED (KIP-599)

func (a *API) createPartitions(ctx context.Context, req *Request, m *kmsg.CreatePartitionsRequest) kmsg.Response {
	ctx, cancel := within(ctx, m.TimeoutMillis)
	defer cancel()
	resp := kmsg.NewPtrCreatePartitionsResponse()
	topics := make([]meta.MorePartitions, len(m.Topics))
	for i := range m.Topics {
		topics[i] = morePartitions(&m.Topics[i])
	}
	before := a.node.Image()
	audit := a.Audit(req)
	defer audit.Done()
	results, err := a.topics.CreatePartitions(ctx, topics, m.ValidateOnly)
	answered := make(map[string]bool, len(topics))
	for i := range topics {
		name := topics[i].Topic
		if answered[name] {
			continue
		}
		answered[name] = true
		result := resultOf(results, i, name, err)
		if was := before.Topic(name); result.Err == nil && !m.ValidateOnly && was != nil {
			audit.Line("partitions created", slog.String("topic", name), slog.Int("old", len(was.Partitions)), slog.Any("new", topics[i].Count))
		}
		rt := kmsg.NewCreatePartitionsResponseTopic()
		rt.Topic = name
		rt.ErrorCode, rt.ErrorMessage = a.fault(req, result.Err), explain(result.Err)
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// morePartitions is a topic of the request as the metadata machine takes it.
func morePartitions(t *kmsg.CreatePartitionsRequestTopic) meta.MorePartitions {
	more := meta.MorePartitions{Topic: t.Topic, Count: t.Count}
	if t.Assignment == nil {
		return more
	}
	more.Assignments = make([][]int32, len(t.Assignment))
	for i, r := range t.Assignment {
		more.Assignments[i] = r.Replicas
	}
	return more
}
