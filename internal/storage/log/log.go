package log

import (
	"errors"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

var errUnbuilt = errors.New("unbuilt")

// ErrOffsetOutOfRange says that an offset is below the log's start or above its end.
var ErrOffsetOutOfRange = errors.New("offset out of range")

// Options are a log's settings; each is Kafka's topic configuration of that name.
type Options struct {
	SegmentBytes   int64         // segment.bytes
	SegmentAge     time.Duration // segment.ms
	SegmentJitter  time.Duration // segment.jitter.ms
	IndexInterval  int           // index.interval.bytes
	IndexBytesMax  int           // segment.index.bytes
	RetentionBytes int64         // retention.bytes, negative: no limit
	RetentionAge   time.Duration // retention.ms, negative: no limit
	Preallocate    bool          // preallocate
}

// OpenOptions say in what state a log's directory is.
type OpenOptions struct {
	Options
	// Clean: a clean-shutdown marker stood, so nothing is recovered.
	Clean bool
	// RecoveryPoint: everything below was synced; recovery reads from the segment that holds it.
	RecoveryPoint batch.Offset
	// StartOffset is the log start of the log-start-offset-checkpoint (0 if it has none).
	StartOffset batch.Offset
	// OnRoll is called with the new segment's base offset, under the appender's exclusion, before a group
	// that starts that segment is written: the partition writes its producer snapshot here.
	OnRoll func(base batch.Offset) error
}

// Log is the segments of one partition.
type Log struct{}

// Open opens the log in dir, creating it when it is not there, and recovers it as opts say.
func Open(fs vfs.FS, dir string, now time.Time, opts OpenOptions) (*Log, error) {
	return nil, errUnbuilt
}

// SetOptions changes the settings from the next append on.
func (l *Log) SetOptions(opts Options) {}

// Fit says how many leading batches of group one Append may take (at least one): a group never spans segments.
func (l *Log) Fit(group []batch.Batch) int { return 1 }

// Append writes group, whose offsets and epochs are set and follow the log's end, with one write. It rolls
// first if the group does not fit. On error the file is cut back and nothing of the group is published.
func (l *Log) Append(now time.Time, group []batch.Batch) error { return errUnbuilt }

// Start is the first offset that may be read.
func (l *Log) Start() batch.Offset { return 0 }

// End is the offset of the next record: everything below is published.
func (l *Log) End() batch.Offset { return 0 }

// Sync makes everything published before the call durable, the directory too, and returns that end.
// Any error but a closed log is final for the log directory.
func (l *Log) Sync() (batch.Offset, error) { return 0, errUnbuilt }

// Unsynced is the number of published bytes that no Sync has covered.
func (l *Log) Unsynced() int64 { return 0 }

// Range is bytes of one segment, held by reference until Release: whole batches from the one that holds the
// offset asked for, the last one perhaps cut by the byte limit (as in Kafka).
type Range struct {
	n int
}

// Len is the number of bytes.
func (r *Range) Len() int { return r.n }

// ReadAt fills dst from byte off of the range on.
func (r *Range) ReadAt(dst []byte, off int64) (int, error) { return 0, errUnbuilt }

// WithFd runs fn with the segment's descriptor and the range's position in it, for sendfile; vfs.ErrNoFd if there is none.
func (r *Range) WithFd(fn func(fd uintptr, pos int64) error) error { return errUnbuilt }

// Release gives the segment back. The zero Range may be released.
func (r *Range) Release() {}

// Read finds the batch that holds from and returns at most max bytes from its start, below limit (exclusive; at
// most End). With whole, a first batch larger than max is returned whole (KIP-74). from == limit gives an
// empty range. Offsets outside [Start, End] give ErrOffsetOutOfRange.
func (l *Log) Read(from, limit batch.Offset, max int, whole bool) (Range, error) {
	return Range{}, errUnbuilt
}

// Size is the bytes of all segments' logs.
func (l *Log) Size() int64 { return 0 }

// Segments is the number of segments.
func (l *Log) Segments() int { return 0 }

// TimestampOffset is an offset found by time.
type TimestampOffset struct {
	Offset    batch.Offset
	Timestamp int64 // ms
	Epoch     batch.Epoch
}

// FindTimestamp returns the first record below limit whose timestamp is at least ts; ok is false if there is none.
func (l *Log) FindTimestamp(ts int64, limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	return found, false, errUnbuilt
}

// MaxTimestamp returns the record below limit with the largest timestamp (KIP-734); ok is false if the log is empty.
func (l *Log) MaxTimestamp(limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	return found, false, errUnbuilt
}

// LatestEpoch is the newest leader epoch with a record, or batch.NoEpoch.
func (l *Log) LatestEpoch() batch.Epoch { return batch.NoEpoch }

// EpochEnd answers OffsetForLeaderEpoch (KIP-101, KIP-279): the largest epoch at most the asked one and the offset
// where it ends.
func (l *Log) EpochEnd(epoch batch.Epoch) (batch.Epoch, batch.Offset) { return batch.NoEpoch, -1 }

// EpochOf is the leader epoch of the record at offset, or batch.NoEpoch.
func (l *Log) EpochOf(offset batch.Offset) batch.Epoch { return batch.NoEpoch }

// Scan calls fn with the header (61 bytes; the records are not read) of each batch from the one that holds from on, until fn fails.
func (l *Log) Scan(from batch.Offset, fn func(header batch.Batch) error) error { return errUnbuilt }

// AdvanceStart raises the log's start to at most End (DeleteRecords) and deletes whole segments below it.
func (l *Log) AdvanceStart(to batch.Offset) error { return errUnbuilt }

// Retain deletes old segments by time and size, never beyond limit, and returns how many.
func (l *Log) Retain(now time.Time, limit batch.Offset) (int, error) { return 0, errUnbuilt }

// RollIfOld rolls a segment that is older than segment.ms.
func (l *Log) RollIfOld(now time.Time) error { return errUnbuilt }

// Truncate cuts the log to end at offset to; it starts a new file rather than writing over old bytes.
func (l *Log) Truncate(to batch.Offset) error { return errUnbuilt }

// TruncateAll empties the log and starts it at offset at.
func (l *Log) TruncateAll(at batch.Offset) error { return errUnbuilt }

// Close closes all files; with clean it first trims indexes, adds the last time-index entry and syncs.
func (l *Log) Close(clean bool) error { return errUnbuilt }
