package api

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// CreateTopics: v0 to v7.
//
// **Behaviour**
//
// Creates topics; each succeeds or fails by itself, and one that was created can be written to when the reply leaves. Partitions and
// replication factor of -1 stand for the broker's defaults. An assignment by hand takes the place of both, which then must be -1.
// With validate_only everything is checked and nothing done. From v5 on the response says what the topic became, all settings included.
//
// Per topic: INVALID_REQUEST (named twice, or a contradiction), INVALID_TOPIC_EXCEPTION (a bad name, or one that metrics could not tell
// from another's), TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT,
// INVALID_CONFIG, POLICY_VIOLATION (more partitions than one request may create, or than
// memory is for), REQUEST_TIMED_OUT.
//
// **Differences from Apache Kafka**
//
// Kafka answers before the brokers know the topic. default.replication.factor is lowered to the number of brokers. The settings of
// more than 1000 topics are not in one response (their error is POLICY_VIOLATION); DescribeConfigs has them. A timeout of 0 or less is no
// limit; Kafka times out at once. Topic settings that Kafka 4 dropped (message.format.version and the like) are taken, and have no effect.
//
// **Versions**
//
//	v1 validate_only and error messages
//	v4 -1 for defaults (KIP-464), which is taken in all versions
//	v5 flexible; partitions, replication factor and configs in the response (KIP-525)
//	v6 THROTTLING_QUOTA_EXCEEDED (KIP-599), v7 topic ids (KIP-516)

func (a *API) createTopics(ctx context.Context, req *Request, m *kmsg.CreateTopicsRequest) kmsg.Response {
	ctx, cancel := within(ctx, m.TimeoutMillis)
	defer cancel()
	resp := kmsg.NewPtrCreateTopicsResponse()
	resp.Topics = make([]kmsg.CreateTopicsResponseTopic, 0, len(m.Topics))
	topics := make([]meta.NewTopic, len(m.Topics))
	for i := range m.Topics {
		topics[i] = newTopic(&m.Topics[i])
	}
	results, err := a.topics.CreateTopics(ctx, topics, m.ValidateOnly)
	image := a.node.Image()
	answered := make(map[string]bool, len(topics))
	audit := a.Audit(req)
	defer audit.Done()
	for i := range topics {
		name := topics[i].Name
		if answered[name] { // what is named twice is refused once
			continue
		}
		answered[name] = true
		result := resultOf(results, i, name, err)
		if name == topic.ClusterMetadata {
			result.Err = refuse(kerr.InvalidRequest, "creation of %s is prohibited: it is the metadata log's own name", name)
		}
		if result.Err == nil && !m.ValidateOnly {
			audit.created(&result, false)
		}
		rt := a.createdTopic(req, result)
		if req.Version >= 5 && result.Err == nil {
			a.addConfigs(&rt, image, result.Configs, len(resp.Topics))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// newTopic is a topic of the request as the metadata machine takes it.
func newTopic(t *kmsg.CreateTopicsRequestTopic) meta.NewTopic {
	n := meta.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: t.ReplicationFactor}
	for _, r := range t.ReplicaAssignment {
		n.Assignments = append(n.Assignments, meta.Assignment{Partition: r.Partition, Replicas: r.Replicas})
	}
	for _, c := range t.Configs {
		n.Configs = append(n.Configs, meta.NewConfig{Name: c.Name, Value: c.Value})
	}
	return n
}

// createdTopic says what became of a topic.
func (a *API) createdTopic(req *Request, result meta.TopicResult) kmsg.CreateTopicsResponseTopic {
	rt := kmsg.NewCreateTopicsResponseTopic()
	rt.Topic = result.Name
	rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	if result.Err != nil {
		rt.ErrorCode, rt.ErrorMessage = a.fault(req, result.Err), explain(result.Err)
		return rt
	}
	rt.TopicID, rt.NumPartitions, rt.ReplicationFactor = result.ID, result.Partitions, result.ReplicationFactor
	return rt
}

// created writes that a topic was created; auto says that a client only asked for it.
func (t *Audit) created(r *meta.TopicResult, auto bool) {
	var configs []string
	for _, key := range slices.Sorted(maps.Keys(r.Configs)) {
		configs = append(configs, key+"="+r.Configs[key])
	}
	t.Line("topic created", slog.String("topic", r.Name), slog.Any("id", topic.ID(r.ID)), slog.Any("partitions", r.Partitions),
		slog.Any("replication_factor", r.ReplicationFactor), slog.String("configs", AuditText(strings.Join(configs, " "))), slog.Bool("auto", auto))
}

// createdConfigsMax is for how many topics a response has the settings. They are a hundred times larger than a topic in the request.
const createdConfigsMax = 1000

// addConfigs adds the settings of the place'th topic to its answer.
func (a *API) addConfigs(rt *kmsg.CreateTopicsResponseTopic, image *meta.Image, overrides map[string]string, place int) {
	if place >= createdConfigsMax {
		rt.Configs, rt.ConfigErrorCode = nil, code(kerr.PolicyViolation)
		return
	}
	for _, e := range a.topicEntries(image, overrides) {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = e.Name, e.Value, int8(e.Source)
		c.ReadOnly, c.IsSensitive = e.ReadOnly, e.Sensitive
		rt.Configs = append(rt.Configs, c)
	}
}
