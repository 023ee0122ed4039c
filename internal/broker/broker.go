package broker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla-io/ottla/internal/cluster/controller"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Options say what broker to open. All settings are resolved: the broker knows no config file.
type Options struct {
	FS      vfs.FS // the data directory
	DataDir string // its path, for the lock, messages and DescribeLogDirs
	// NoLock leaves out the lock file: for file systems that are not the operating system's.
	NoLock bool
	NodeID int32
	Clock  func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: nothing is logged
	Faults *slog.Logger     // for lines that clients can cause again and again, whose rate should be bounded; nil: Log
	Topic  TopicDefaults    // what topic configs fall back to

	Advertise []meta.Endpoint
	Rack      *string

	// ClusterID is the cluster the directory must belong to; empty takes what meta.properties says, or a new id.
	ClusterID string

	DefaultPartitions        int32 // num.partitions; 0: 1
	PartitionsMax            int   // how many partitions there is memory for; 0: any number. It bounds what is created
	DefaultReplicationFactor int16 // default.replication.factor; 0: 1

	// Schema checks configs of resources that are no topics and knows which keys are lists; nil: Topic.Validate for topics,
	// everything is taken for the others, and the list configs of topics are known.
	Schema meta.ConfigSchema

	// OnSettings is told of a new image when settings of brokers were changed in it, before the partitions ask Topic again; nil: nobody.
	OnSettings func(*meta.Image)
	// OnChange is told of every change of the metadata, once the broker has followed it; it must not block. nil: nobody.
	OnChange func()

	SyncWorkers      int            // 0: 4
	RecoveryWorkers  int            // num.recovery.threads.per.data.dir; 0: 2
	MaintainInterval time.Duration  // log.retention.check.interval.ms; 0: 5 min
	CheckpointEvery  time.Duration  // log.flush.offset.checkpoint.interval.ms; 0: 1 min
	ReserveBytes     int64          // produces are refused when less is free; 0: 64 MiB, or 2 % of a small disk
	Cleaner          func() Cleaner // how compaction works now; nil: by the defaults
	JournalBytes     int64          // log.journal.bytes; 0: 64 MiB, negative: no journal
	OnSync           func(Sync)     // called after each fsync of partitions' bytes; nil: nobody
}

// Sync tells of one fsync of a partition, or of the journal for several.
type Sync struct {
	Took time.Duration
	// Asked is how many times it was asked for: about the appends it covered. It is 0 when a file is synced behind the journal.
	Asked int
	Err   error
}

// TopicDefaults resolves a topic's settings from its own overrides and the broker's.
type TopicDefaults interface {
	// Resolve turns a topic's overrides into options; a directory of Kafka may hold keys that are unknown here.
	Resolve(overrides map[string]string) partition.Options
	// Validate checks one topic's overrides after a change of the keys changed, and judges only these; the error names the key, the value and
	// the limit (INVALID_CONFIG).
	Validate(overrides map[string]string, changed []string) error
}

// Broker is this node.
type Broker struct {
	opts       Options
	log        *slog.Logger
	faults     *slog.Logger // for what clients can make happen again and again
	lock       *vfs.DirLock
	properties metaProperties
	clean      bool  // the last run stopped cleanly
	epoch      int64 // this run's broker epoch

	control  *controller.Controller
	metadata *log.Log
	table    atomic.Pointer[table]
	deleter  *deleter
	syncer   *syncer
	cleaner  *cleaner
	journal  *journal.Journal
	space    *space
	ids      producerIDs

	dead    atomic.Pointer[failure] // why the directory is offline
	up      atomic.Bool             // Open is done
	closing atomic.Bool
	// checkpoints orders those who write them, and has the partitions that the files on disk may name.
	checkpoints checkpointed
	inflating   *partition.Inflating
	pinned      chan struct{} // unsynced files hold too many descriptors
	relieve     func()        // syncs and closes such files; see vfs.FileCache
	unbegun     chan struct{} // a sync found no descriptor
	recovering  atomic.Int64

	stopped context.Context // ends when Close begins
	stop    context.CancelFunc
	entry   sync.Mutex // orders the start of a Run and of Close
	runs    sync.WaitGroup
	closed  sync.Once
	result  error // of Close
	unclean error // see Unclean
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	orInt := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	orTime := func(v *time.Duration, def time.Duration) {
		if *v == 0 {
			*v = def
		}
	}
	orInt(&o.SyncWorkers, 4)
	if o.JournalBytes == 0 {
		o.JournalBytes = 64 << 20
	}
	orInt(&o.RecoveryWorkers, 2)
	orTime(&o.MaintainInterval, 5*time.Minute)
	orTime(&o.CheckpointEvery, time.Minute)
	o.DefaultPartitions = max(o.DefaultPartitions, 1)
	o.DefaultReplicationFactor = max(o.DefaultReplicationFactor, 1)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Schema == nil {
		o.Schema = topicSchema{o.Topic}
	}
	return o
}

// Image is the newest metadata.
func (b *Broker) Image() *meta.Image { return b.control.Image() }

// NodeID is this broker's id.
func (b *Broker) NodeID() int32 { return b.opts.NodeID }

// Epoch is this broker's epoch (KIP-903), new with each start.
func (b *Broker) Epoch() int64 { return b.epoch }

// ClusterID is the cluster's id, from meta.properties.
func (b *Broker) ClusterID() string { return b.properties.clusterID }

// DirectoryID is the log directory's id (KIP-858).
func (b *Broker) DirectoryID() topic.ID { return b.properties.directoryID }

// CleanStart says whether the run before stopped cleanly.
func (b *Broker) CleanStart() bool { return b.clean }

// Now is the broker's clock.
func (b *Broker) Now() time.Time { return b.opts.Clock() }

// offline is nil, or why the log directory is offline.
func (b *Broker) offline() error {
	if f := b.dead.Load(); f != nil {
		return f.err
	}
	return nil
}

// Healthy is nil, or says why this node cannot serve: the directory or the metadata log is offline, the process has had no descriptor
// left for its files for some seconds, or a sync does not end. It waits for no disk.
func (b *Broker) Healthy() error {
	for _, check := range []func() error{b.offline, b.control.Healthy, b.space.reachable, b.syncer.stalled} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// fail takes the log directory offline, for good: what it holds is known after a restart only. The first failed sync calls it from below
// (vfs.Final), whatever locks its caller holds, so it takes none but those of watchers and the syncer's queue.
func (b *Broker) fail(err error) {
	if !b.dead.CompareAndSwap(nil, &failure{err}) || !b.up.Load() {
		return // a start that fails returns the error
	}
	b.log.Error("log directory is offline; restart when the disk is sound", slog.String("dir", b.opts.DataDir), slog.Any("err", err))
	b.table.Load().all(func(s *slot) {
		if p := s.open.Load(); p != nil {
			p.Fail(err)
		}
	})
}

// finalUnlessPasses gives err back, having taken the log directory offline for one that is not for want of room.
func (b *Broker) finalUnlessPasses(err error) error {
	if err != nil && !passes(err) {
		b.fail(err)
	}
	return err
}

// syncFailed is told of a partition whose sync failed. Corruption is that partition's alone.
func (b *Broker) syncFailed(p *partition.Partition, err error) {
	switch {
	case errors.Is(err, batch.ErrCorrupt):
		b.log.Error("partition is offline", slog.Any("partition", p.ID()), slog.Any("err", err))
		return
	case passes(err): // it could not begin
		signal(b.unbegun)
		return
	}
	b.fail(err)
}

// passes says that err is about room on the disk, descriptors or memory, which may be there later. What failed for good says so.
func passes(err error) bool { return vfs.IsShortage(err) && !errors.Is(err, log.ErrFailed) }
