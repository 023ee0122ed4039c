package partition

import (
	"errors"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

var errUnbuilt = errors.New("unbuilt")

// ID names one partition.
type ID struct {
	Topic   string
	TopicID topic.ID
	Index   int32
}

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
	LogAppendTime    bool          // message.timestamp.type=LogAppendTime
	TimestampBefore  time.Duration // message.timestamp.before.max.ms
	TimestampAfter   time.Duration // message.timestamp.after.max.ms
	Compression      batch.Codec   // compression.type; batch.CodecProducer keeps what came
	CompressionLevel int
	Compact          bool // cleanup.policy has compact: every record needs a key
	Delete           bool // cleanup.policy has delete
	Durability       Durability
	FlushMessages    int64         // flush.messages
	FlushAge         time.Duration // flush.ms
	MinISR           int           // min.insync.replicas
	ProducerExpiry   time.Duration // producer.id.expiration.ms
}

// Syncer makes dirty partitions durable; the broker has one for each log directory.
type Syncer interface {
	// Dirty is told, outside the partition's lock, that p has published bytes that want a sync. It must not block.
	// The syncer later calls p.Sync.
	Dirty(p *Partition)
}

// OpenOptions say in what state a partition's directory is.
type OpenOptions struct {
	Options
	Clean         bool         // see log.OpenOptions
	RecoveryPoint batch.Offset // see log.OpenOptions
	StartOffset   batch.Offset // see log.OpenOptions
	Syncer        Syncer
}

// Partition is one partition on this node.
type Partition struct{}

// Open opens or creates the partition's directory dir; it also checks or writes partition.metadata.
func Open(fs vfs.FS, dir string, id ID, now time.Time, opts OpenOptions) (*Partition, error) {
	return nil, errUnbuilt
}

// ID is the partition's name.
func (p *Partition) ID() ID { return ID{} }

// Dir is the partition's directory in its FS.
func (p *Partition) Dir() string { return "" }

// SetOptions changes the settings.
func (p *Partition) SetOptions(opts Options) {}

// Lead makes this node the leader at epoch.
func (p *Partition) Lead(now time.Time, epoch batch.Epoch) error { return errUnbuilt }

// LeaderEpoch is the epoch this node leads at.
func (p *Partition) LeaderEpoch() batch.Epoch { return batch.NoEpoch }

// Produce is one batch offered for append, and what became of it.
type Produce struct {
	// Records is the records field of a produce request for one partition: exactly one batch, not yet checked.
	// Append changes its offsets in place; it keeps no reference.
	Records []byte
	// Internal is set by coordinators, which may write to internal topics.
	Internal bool

	// Err is nil, or a *kerr.Error (perhaps wrapped; RecordErrors may say more).
	Err error
	// RecordErrors names the offending records of an INVALID_RECORD (KIP-467).
	RecordErrors []RecordError
	// Base is the first offset the batch got; of a duplicate, the original's.
	Base batch.Offset
	// End is the offset an acks=all answer waits for: see Await.
	End batch.Offset
	// AppendTime is the LogAppendTime in ms, or -1.
	AppendTime int64
	// Count and Bytes are what was appended (0 for a duplicate).
	Count int32
	Bytes int
	// Duplicate: the batch was there already.
	Duplicate bool
}

// RecordError names one bad record by its index in the batch.
type RecordError struct {
	Index   int32
	Message string
}

// Append judges and appends a group of batches, in order, with as few writes as it can, and fills in their results.
// CRC and structure are checked before the lock is taken.
func (p *Partition) Append(now time.Time, group []*Produce) {}

// Await reports whether everything below end is committed: durable here if the topic says so, and below the high
// watermark. An error (*kerr.Error) says that it never will be known here.
func (p *Partition) Await(end batch.Offset) (done bool, err error) { return false, errUnbuilt }

// Waiter is woken when something it watches may have changed. One connection has one; C has room for one token.
type Waiter struct{ C chan struct{} }

// NewWaiter returns a waiter.
func NewWaiter() *Waiter { return &Waiter{C: make(chan struct{}, 1)} }

// Wake wakes the waiter; it never blocks.
func (w *Waiter) Wake() {
	select {
	case w.C <- struct{}{}:
	default:
	}
}

// Watch arranges that w is woken once, the next time the high watermark (or the log start, role, or health) changes. Watch first,
// look second, sleep third.
func (p *Partition) Watch(w *Waiter) {}

// Unwatch forgets w.
func (p *Partition) Unwatch(w *Waiter) {}

// Isolation is a reader's isolation level.
type Isolation int8

// The isolation levels, by their wire values.
const (
	ReadUncommitted Isolation = 0
	ReadCommitted   Isolation = 1
)

// Offsets are the partition's marks at one moment.
type Offsets struct {
	Start         batch.Offset
	HighWatermark batch.Offset
	LastStable    batch.Offset
	End           batch.Offset
}

// Offsets returns the marks.
func (p *Partition) Offsets() Offsets { return Offsets{} }

// Fetch is a consumer's read of one partition.
type Fetch struct {
	Offset      batch.Offset
	LeaderEpoch batch.Epoch // the client's current leader epoch, or NoEpoch: fenced or unknown (KIP-320)
	MaxBytes    int
	Whole       bool // the first batch whole, even above MaxBytes (KIP-74)
	Isolation   Isolation
}

// Read answers a fetch with what is committed now; the caller releases the range. The error is a *kerr.Error, perhaps wrapped;
// the marks are valid with OFFSET_OUT_OF_RANGE too.
func (p *Partition) Read(f Fetch) (log.Range, Offsets, error) {
	return log.Range{}, Offsets{}, errUnbuilt
}

// CheckEpoch compares a client's leader epoch with this leader's: nil, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
func (p *Partition) CheckEpoch(epoch batch.Epoch) error { return errUnbuilt }

// FindTimestamp is log.FindTimestamp below what iso may see.
func (p *Partition) FindTimestamp(ts int64, iso Isolation) (log.TimestampOffset, bool, error) {
	return log.TimestampOffset{}, false, errUnbuilt
}

// MaxTimestamp is log.MaxTimestamp below what iso may see.
func (p *Partition) MaxTimestamp(iso Isolation) (log.TimestampOffset, bool, error) {
	return log.TimestampOffset{}, false, errUnbuilt
}

// EpochEnd answers OffsetForLeaderEpoch.
func (p *Partition) EpochEnd(epoch batch.Epoch) (batch.Epoch, batch.Offset) { return batch.NoEpoch, -1 }

// EpochOf is the leader epoch of the record at offset, or NoEpoch.
func (p *Partition) EpochOf(offset batch.Offset) batch.Epoch { return batch.NoEpoch }

// DeleteRecords raises the log start to before (-1: the high watermark) and returns the new low watermark.
func (p *Partition) DeleteRecords(before batch.Offset) (batch.Offset, error) { return 0, errUnbuilt }

// Maintain rolls an old segment, applies retention and expires producers; the broker calls it by timer.
func (p *Partition) Maintain(now time.Time) error { return errUnbuilt }

// Sync makes the log durable, advances the high watermark and wakes waiters. An error takes the partition offline.
func (p *Partition) Sync() error { return errUnbuilt }

// RecoveryPoint is the end of the last sync, for the recovery-point-offset-checkpoint.
func (p *Partition) RecoveryPoint() batch.Offset { return 0 }

// Size is the bytes of the partition's segments.
func (p *Partition) Size() int64 { return 0 }

// Fail takes the partition offline: everything waiting or asked gets KAFKA_STORAGE_ERROR.
func (p *Partition) Fail(err error) {}

// Close closes the partition; with clean it syncs and writes the producer snapshot at the log's end.
func (p *Partition) Close(clean bool) error { return errUnbuilt }
