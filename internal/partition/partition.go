package partition

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla-io/ottla/internal/partition/producers"
	"github.com/ottla-io/ottla/internal/partition/replica"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// ID names one partition.
type ID struct {
	Topic   string
	TopicID topic.ID
	Index   int32
}

// String is the partition's name as Kafka writes it, also that of its directory.
func (id ID) String() string { return topic.Dir(id.Topic, id.Index) }

// Durability says what acks=all and the high watermark wait for.
type Durability int8

// The two durabilities.
const (
	// DurabilityDisk: an fsync on every replica that counts.
	DurabilityDisk Durability = iota
	// DurabilityMemory: the page cache of every replica that counts, as in Kafka.
	DurabilityMemory
)

// Options are a partition's settings, from its topic's configuration; they may change while it is open.
type Options struct {
	Log              log.Options
	MaxMessageBytes  int           // max.message.bytes, checked against the whole batch
	Inflating        *Inflating    // shared by the partitions of a node; nil: any number of batches are decompressed at a time
	LogAppendTime    bool          // message.timestamp.type=LogAppendTime
	TimestampBefore  time.Duration // message.timestamp.before.max.ms; the largest Duration: no limit
	TimestampAfter   time.Duration // message.timestamp.after.max.ms; the largest Duration: no limit
	Compression      batch.Codec   // compression.type; batch.CodecProducer keeps what came
	CompressionLevel int
	Compact          bool           // cleanup.policy has compact: every record needs a key
	Compaction       log.Compaction // without its Codec and Level, which are those above
	Delete           bool           // cleanup.policy has delete
	Durability       Durability
	FlushMessages    int64         // flush.messages
	FlushAge         time.Duration // flush.ms
	MinISR           int           // min.insync.replicas
	ProducerExpiry   time.Duration // producer.id.expiration.ms; 0: never
}

// replica is the part of the options that the replica machine needs.
func (o *Options) replica() replica.Options {
	return replica.Options{
		Disk: o.Durability == DurabilityDisk, FlushMessages: o.FlushMessages, FlushAge: o.FlushAge,
	}
}

// Syncer makes dirty partitions durable; the broker has one for each log directory.
type Syncer interface {
	// Dirty is told, outside the partition's lock, that p has published bytes that want a sync. It must not block.
	// The syncer later calls p.Sync.
	Dirty(p *Partition)
}

// Partition is one partition on this node, from Open to Close.
type Partition struct {
	id     ID
	fs     vfs.FS
	dir    string
	log    *log.Log
	syncer Syncer
	mended error // see Mended

	opts atomic.Pointer[Options]
	// The marks that questions read without the lock; stored under mu.
	highWatermark atomic.Int64
	epoch         atomic.Int32
	// failure is set once, by Fail or Close; nothing is appended, synced or acknowledged after.
	failure atomic.Pointer[failure]

	watchers watchers

	creating sync.Mutex   // held while the directory is made and while the partition is closed; before mu
	onCreate func() error // see OpenOptions

	mu struct {
		sync.Mutex
		replica   *replica.Replica
		producers *producers.Table
		now       time.Time      // of the newest append, for steps that bring no time of their own
		snapshots []batch.Offset // the producer snapshots in dir, ascending
		group     []batch.Batch  // scratch of Append: the accepted batches of one write
	}
}

// Recovery says what Open found and did to the log.
func (p *Partition) Recovery() log.Recovery { return p.log.Recovery() }

// Mended says what was wrong with partition.metadata, which Open has written anew; nil: nothing.
func (p *Partition) Mended() error { return p.mended }

// Damage lists the batches that are known to be unreadable, at most that many, and counts them all; see log.Damage.
func (p *Partition) Damage(most int) ([]log.Damage, int) { return p.log.Damage(most) }

// Failure is nil, or why the partition is offline. One that was closed is not.
func (p *Partition) Failure() error {
	if f := p.failure.Load(); f != nil {
		return f.cause()
	}
	return nil
}

// ID is the partition's name.
func (p *Partition) ID() ID { return p.id }

// Dir is the partition's directory in its FS.
func (p *Partition) Dir() string { return p.dir }

// Segments is the number of the log's segments.
func (p *Partition) Segments() int { return p.log.Segments() }

// SetOptions changes the settings, for what is appended from now on.
func (p *Partition) SetOptions(opts Options) {
	p.mu.Lock()
	p.opts.Store(&opts)
	p.log.SetOptions(opts.Log)
	effects := p.stepLocked(p.mu.now, replica.Configure{Options: opts.replica()})
	p.mu.Unlock()
	p.carryOut(effects)
}

// Lead makes this node the leader at epoch. The error is FENCED_LEADER_EPOCH if it led at a newer one.
func (p *Partition) Lead(now time.Time, epoch batch.Epoch) error {
	p.mu.Lock()
	effects := p.stepLocked(now, replica.Lead{Epoch: epoch})
	if effects.Refused == nil {
		p.log.AssignEpoch(epoch)
	}
	p.mu.Unlock()
	p.watchers.wake()
	p.carryOut(effects)
	return effects.Refused
}

// LeaderEpoch is the epoch this node leads at, or batch.NoEpoch.
func (p *Partition) LeaderEpoch() batch.Epoch { return batch.Epoch(p.epoch.Load()) }

// stepLocked steps the replica and publishes its marks.
func (p *Partition) stepLocked(now time.Time, in replica.Input) replica.Effects {
	p.mu.now = now
	effects := p.mu.replica.Step(now, in)
	p.epoch.Store(int32(p.mu.replica.Epoch()))
	p.highWatermark.Store(int64(p.mu.replica.HighWatermark()))
	return effects
}

// PromisesMemory reports whether nobody was promised more of the partition's records than the page cache: no acknowledgement and no
// reader waits for a sync.
func (p *Partition) PromisesMemory() bool {
	opts := p.opts.Load()
	return opts.Durability == DurabilityMemory && opts.FlushMessages != 1
}

// SyncsAppends reports whether an append is not over, whatever the acks, before it is durable (flush.messages=1): Kafka's
// UnifiedLog.append syncs before it returns. The high watermark waits for the sync then, so Await tells when it is.
func (p *Partition) SyncsAppends() bool { return p.opts.Load().FlushMessages == 1 }

// carryOut does what a step asked for. The lock is not held: both ends may come back to the partition.
func (p *Partition) carryOut(effects replica.Effects) {
	if effects.Advanced {
		p.watchers.wake()
	}
	if effects.Sync && p.syncer != nil {
		p.syncer.Dirty(p)
	}
}

// RecoveryPoint is the end of the last sync of the log's own files, for the recovery-point-offset-checkpoint.
func (p *Partition) RecoveryPoint() batch.Offset { return p.log.RecoveryPoint() }

// Size is the bytes of the partition's segments.
func (p *Partition) Size() int64 { return p.log.Size() }
