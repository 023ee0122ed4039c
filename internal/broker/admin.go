package broker

import (
	"context"
	"sync"

	"github.com/ottla-io/ottla/internal/cluster/controller"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// CreateTopics creates topics. The results are in the order of the request; each Err is nil or a *meta.RefusalError. Topics without an id get
// a random one. The error is about the request as a whole.
func (b *Broker) CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error) {
	named := make([]meta.NewTopic, len(topics))
	for i, t := range topics {
		if t.ID == (topic.ID{}) {
			t.ID = randomID()
		}
		named[i] = t
	}
	return controller.Execute(ctx, b.control, meta.CreateTopics{
		Topics: named, ValidateOnly: validateOnly, Schema: b.opts.Schema, PartitionsMax: b.opts.PartitionsMax,
		DefaultPartitions: b.opts.DefaultPartitions, DefaultReplicationFactor: b.defaultReplicationFactor(),
	})
}

// defaultReplicationFactor is default.replication.factor, or as many brokers as there are if they are fewer: a setting meant for a cluster
// must not keep one broker from having topics. A factor that a client asks for is never lowered.
func (b *Broker) defaultReplicationFactor() int16 {
	return int16(min(int(b.opts.DefaultReplicationFactor), len(b.Image().Brokers)))
}

// DeleteTopics deletes topics by name or id; see CreateTopics for results.
func (b *Broker) DeleteTopics(ctx context.Context, topics []meta.TopicRef) ([]meta.TopicResult, error) {
	return controller.Execute(ctx, b.control, meta.DeleteTopics{Topics: topics})
}

// CreatePartitions grows topics; see CreateTopics for results.
func (b *Broker) CreatePartitions(ctx context.Context, topics []meta.MorePartitions, validateOnly bool) ([]meta.TopicResult, error) {
	return controller.Execute(ctx, b.control, meta.CreatePartitions{
		Topics: topics, ValidateOnly: validateOnly, PartitionsMax: b.opts.PartitionsMax,
	})
}

// AlterConfigs changes single configs (IncrementalAlterConfigs); each Err is nil or a *meta.RefusalError.
func (b *Broker) AlterConfigs(ctx context.Context, changes []meta.ResourceChanges, validateOnly bool) ([]meta.ResourceResult, error) {
	return controller.Execute(ctx, b.control, meta.AlterConfigs{Resources: changes, ValidateOnly: validateOnly, Schema: b.opts.Schema})
}

// ReplaceConfigs replaces all configs of resources (the old AlterConfigs); each Err is nil or a *meta.RefusalError.
func (b *Broker) ReplaceConfigs(ctx context.Context, configs []meta.ResourceConfigs, validateOnly bool) ([]meta.ResourceResult, error) {
	return controller.Execute(ctx, b.control, meta.ReplaceConfigs{Resources: configs, ValidateOnly: validateOnly, Schema: b.opts.Schema})
}

// producerIDs is the block of producer ids that this broker hands out of.
type producerIDs struct {
	mu struct {
		sync.Mutex
		next, end int64
	}
}

// AllocateProducerID returns a producer id that nobody had before. What is left of a block when the broker stops is never used.
func (b *Broker) AllocateProducerID(ctx context.Context) (int64, error) {
	b.ids.mu.Lock()
	defer b.ids.mu.Unlock()
	if b.ids.mu.next == b.ids.mu.end {
		block, err := controller.Execute(ctx, b.control, meta.AllocateProducerIDs{Broker: b.opts.NodeID, Epoch: b.epoch})
		if err != nil {
			return -1, err
		}
		b.ids.mu.next, b.ids.mu.end = block.First, block.First+int64(block.Count)
	}
	id := b.ids.mu.next
	b.ids.mu.next++
	return id, nil
}

// topicSchema is the schema where none is given: topics are checked, the rest is taken as it is.
type topicSchema struct{ topics TopicDefaults }

// Validate checks the configs of topics.
func (s topicSchema) Validate(r meta.Resource, configs map[string]string, changed []string) error {
	if r.Type != meta.ResourceTopic {
		return nil
	}
	return s.topics.Validate(configs, changed)
}

// List knows the list configs of topics, with Kafka's defaults.
func (s topicSchema) List(r meta.Resource, key string) (def string, isList bool) {
	if r.Type != meta.ResourceTopic {
		return "", false
	}
	switch key {
	case "cleanup.policy":
		return "delete", true
	case "leader.replication.throttled.replicas", "follower.replication.throttled.replicas":
		return "", true
	}
	return "", false
}
