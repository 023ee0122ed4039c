package coordinator

import (
	"context"
	"errors"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// Locate makes sure that there is a __consumer_offsets (FindCoordinator): the error is nil if this node coordinates the group, or
// becomes it soon. It may block until ctx ends. The empty id is a group too: consumers that only commit may use it, as in Kafka.
func (c *Coordinator) Locate(ctx context.Context, groupID string) error {
	if err := c.make(ctx); err != nil {
		return err
	}
	c.follow()
	if c.shardOf(groupID) == nil {
		return kerr.CoordinatorNotAvailable
	}
	return nil
}

// make makes the topic if it is not there. Only its metadata: a partition has no directory until a group in it writes.
func (c *Coordinator) make(ctx context.Context) error {
	if c.opts.Node.Image().Topic(Topic) != nil {
		return nil
	}
	c.making.Lock()
	defer c.making.Unlock()
	if c.opts.Node.Image().Topic(Topic) != nil {
		return nil
	}
	results, err := c.opts.Node.CreateTopics(ctx, []meta.NewTopic{{
		Name: Topic, Partitions: c.opts.Partitions, ReplicationFactor: min(c.opts.ReplicationFactor, int16(len(c.opts.Node.Image().Brokers))),
		Configs: c.opts.Configs,
	}}, false)
	if err == nil {
		if err = results[0].Err; err == nil {
			c.opts.Log.Info("topic created", slog.Bool("audit", true), slog.String("topic", Topic), slog.Any("partitions", results[0].Partitions),
				slog.String("why", "the first group is asked for"))
		}
	}
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		c.faults.Warn("cannot create the topic of consumer groups", slog.String("topic", Topic), slog.Any("err", err))
		return kerr.CoordinatorNotAvailable
	}
	return nil
}

// follow brings the table up to date with the metadata.
func (c *Coordinator) follow() {
	if same(c.table.Load(), c.opts.Node.Image().Topic(Topic)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.opts.Node.Image().Topic(Topic) // under the lock, or one that was read before another's would come after it
	t := c.table.Load()
	if same(t, at) || c.mu.closed {
		return
	}
	var next *table
	if at != nil {
		next = &table{id: at.ID, shards: make([]*shard, len(at.Partitions))}
	}
	if t != nil { // another number of partitions, or another topic of that name: groups are elsewhere
		for _, s := range t.shards {
			s.close()
		}
	}
	if next != nil {
		for i := range next.shards {
			next.shards[i] = newShard(c, int32(i))
			next.shards[i].begin() // before anybody asks: a shard that has no log yet serves at once
		}
	}
	c.table.Store(next)
}

// same says whether t is of the topic that the metadata has.
func same(t *table, at *meta.Topic) bool {
	if t == nil || at == nil {
		return t == nil && at == nil
	}
	return t.id == at.ID && len(t.shards) == len(at.Partitions)
}
