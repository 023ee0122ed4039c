package broker

import (
	"context"
	"errors"
	"log/slog"
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
	Log       *slog.Logger  // nil: nothing is logged
	Topic     TopicDefaults // what topic configs fall back to
	Advertise []meta.Endpoint
	Rack      *string

	// ClusterID is the cluster the directory must belong to; empty takes what meta.properties says, or a new id.
	ClusterID string

	DefaultPartitions        int32 // num.partitions; 0: 1
	DefaultReplicationFactor int16 // default.replication.factor; 0: 1

	// Schema checks configs of resources that are no topics and knows which keys are lists; nil: Topic.Validate for topics,
	// everything is taken for the others, and the list configs of topics are known.
	Schema meta.ConfigSchema

	SyncWorkers      int           // 0: 4
	RecoveryWorkers  int           // num.recovery.threads.per.data.dir; 0: 2
	MaintainInterval time.Duration // log.retention.check.interval.ms; 0: 5 min
	CheckpointEvery  time.Duration // log.flush.offset.checkpoint.interval.ms; 0: 1 min
	ReserveBytes     int64         // produces are refused when less is free; 0: a default
	OnSync           func(Sync)    // called after each fsync of a partition; nil: nobody
}

// Sync tells of one fsync of a partition.
type Sync struct {
	Took time.Duration
	// Asked is how many appends it covered.
	Asked int
	Err   error
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

// Now is the broker's clock.
func (b *Broker) Now() time.Time { return time.Time{} }

// Writable is nil, or KAFKA_STORAGE_ERROR (wrapped) while produces are refused because the disk is full.
func (b *Broker) Writable() error { return errUnbuilt }

// Healthy is nil, or says why this node cannot serve.
func (b *Broker) Healthy() error { return errUnbuilt }

// TopicOptions are a topic's effective settings.
func (b *Broker) TopicOptions(name string) partition.Options { return partition.Options{} }

// CreateTopics creates topics. The results are in the order of the request; each Err is nil or a *meta.Refusal. The ids are drawn here. The error
// is about the request as a whole.
func (b *Broker) CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error) {
	return nil, errUnbuilt
}

// DeleteTopics deletes topics by name or id; see CreateTopics for results.
func (b *Broker) DeleteTopics(ctx context.Context, topics []meta.TopicRef) ([]meta.TopicResult, error) {
	return nil, errUnbuilt
}

// CreatePartitions grows topics; see CreateTopics for results.
func (b *Broker) CreatePartitions(ctx context.Context, topics []meta.MorePartitions, validateOnly bool) ([]meta.TopicResult, error) {
	return nil, errUnbuilt
}

// AlterConfigs changes single configs (IncrementalAlterConfigs).
func (b *Broker) AlterConfigs(ctx context.Context, changes []meta.ResourceChanges, validateOnly bool) ([]meta.ResourceResult, error) {
	return nil, errUnbuilt
}

// ReplaceConfigs replaces all configs of resources (the old AlterConfigs).
func (b *Broker) ReplaceConfigs(ctx context.Context, configs []meta.ResourceConfigs, validateOnly bool) ([]meta.ResourceResult, error) {
	return nil, errUnbuilt
}

// AllocateProducerID returns a producer id that nobody had before.
func (b *Broker) AllocateProducerID(ctx context.Context) (int64, error) { return -1, errUnbuilt }

// LogDir describes a log directory, for DescribeLogDirs.
type LogDir struct {
	Path       string
	ID         [16]byte
	Err        error // why it is offline (KAFKA_STORAGE_ERROR), or nil
	Free       int64
	Total      int64
	Partitions []LogDirPartition // by topic and index
}

// LogDirPartition is one partition of a log directory.
type LogDirPartition struct {
	Topic string
	Index int32
	Size  int64
}

// LogDirs describes the log directories; only topics that want says yes to are listed (nil: all).
func (b *Broker) LogDirs(want func(topic string, index int32) bool) []LogDir { return nil }

// Stats are figures for metrics.
type Stats struct {
	Hosted, Opened, Offline int
	Syncs, SyncedAppends    int64
	Recovering              int
	DiskFull                bool
}

// Stats counts.
func (b *Broker) Stats() Stats { return Stats{} }
