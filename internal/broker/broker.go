package broker

import (
	"context"
	"errors"
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

var errUnbuilt = errors.New("unbuilt")

// Options say what broker to open. Config is the node's resolved settings by Kafka's names (config defaults filled in by the root).
type Options struct {
	FS        vfs.FS
	DataDir   string // for messages and DescribeLogDirs
	NodeID    int32
	Clock     func() time.Time
	Topic     TopicDefaults // what topic configs fall back to
	Advertise []meta.Endpoint
}

// TopicDefaults resolves a topic's settings from its own overrides and the broker's.
type TopicDefaults interface {
	// Resolve turns a topic's overrides into options; overrides were validated before.
	Resolve(overrides map[string]string) partition.Options
	// Validate checks one topic's overrides; the error names the key, the value and the limit (INVALID_CONFIG).
	Validate(overrides map[string]string) error
}

// Broker is this node.
type Broker struct{}

// Open locks the data directory, loads the metadata log and makes the partitions ready to be opened.
func Open(ctx context.Context, opts Options) (*Broker, error) { return nil, errUnbuilt }

// Run syncs, retains, compacts and checkpoints until ctx ends.
func (b *Broker) Run(ctx context.Context) error { return errUnbuilt }

// Close stops cleanly: drains, checkpoints, writes the marker.
func (b *Broker) Close() error { return errUnbuilt }

// Image is the newest metadata.
func (b *Broker) Image() *meta.Image { return nil }

// NodeID is this broker's id.
func (b *Broker) NodeID() int32 { return 0 }

// Partition finds a partition that this broker hosts and opens it on first touch. Errors are *kerr.Error, perhaps wrapped:
// UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR.
func (b *Broker) Partition(topic string, index int32) (*partition.Partition, error) {
	return nil, errUnbuilt
}

// PartitionByID is Partition for a topic id; UNKNOWN_TOPIC_ID if there is none.
func (b *Broker) PartitionByID(id topic.ID, index int32) (*partition.Partition, error) {
	return nil, errUnbuilt
}
