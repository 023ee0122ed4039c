package coordinator

import (
	"context"
	"log/slog"
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
)

// Topic is where groups are kept.
const Topic = "__consumer_offsets"

// Options say what a coordinator stands on.
type Options struct {
	Node  Node
	Group group.Options
	Log   *slog.Logger
	Now   func() time.Time
	// Topic settings, for when it is made: offsets.topic.num.partitions, offsets.topic.replication.factor, and its configs.
	Partitions        int32
	ReplicationFactor int16
	Configs           map[string]string
}

// Node is what a coordinator needs of the broker.
type Node interface {
	Image() *meta.Image
	Partition(topic string, index int32) (*partition.Partition, error)
	CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error)
}

// Coordinator is the group coordinator of this node.
type Coordinator struct{ opts Options }

// New returns a coordinator, which serves from Run on.
func New(opts Options) *Coordinator { return &Coordinator{opts: opts} }

// Run loads, and keeps time, until ctx ends.
func (c *Coordinator) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Locate makes sure that there is a __consumer_offsets (FindCoordinator): the error is nil if this node coordinates the group, or
// becomes it soon.
func (c *Coordinator) Locate(ctx context.Context, groupID string) error { return nil }

// Caller begins a request of a client; remote is its address as Kafka shows it ("/127.0.0.1"). It is for one input.
func (c *Coordinator) Caller(clientID, remote string) group.Caller { return group.Caller{} }

// Ask steps the machine of the group's shard with in. It never waits: the call does. What goes wrong is in the call's result (group.Failed).
func (c *Coordinator) Ask(groupID string, in group.Input) *Call { return nil }

// AskAll asks every shard that is loaded here; input makes the input for each (List).
func (c *Coordinator) AskAll(input func() group.Input) []*Call { return nil }
