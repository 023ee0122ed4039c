package log

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

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
	// Inflate is called before a compressed batch is read by a search, and may wait; what it returns is called after. Searches that
	// decompress at the same time are so bounded. Nil: they are not.
	Inflate func(batch.Batch) (done func())
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
	// Compacted: the topic is or was compacted, so offsets may be missing between segments too, below Cleaned or the recovery point. Any
	// other hole between two segments past the recovery point is a torn tail, and what follows it is cut.
	Compacted bool
	// Absent: there is no directory yet. Nothing is looked at or made on the disk until Create.
	Absent bool
	// OnRewrite is called, with nothing unsynced, before published bytes are cut or replaced: whoever keeps copies of them (a
	// journal) forgets them, durably. After an error the log is as it was. It must not call the log. Nil: nobody does.
	OnRewrite func() error
	// Cleaned is the log's entry in the cleaner-offset-checkpoint: what lies below was compacted.
	Cleaned batch.Offset
	// OnRoll is called with the new segment's base offset, under the appender's exclusion, before a group
	// that starts that segment is written: the partition writes its producer snapshot here.
	OnRoll func(base batch.Offset) error
}

// Log is the segments of one partition. Doc.go says which methods need the partition's lock.
type Log struct {
	fs     vfs.FS
	dir    string
	onRoll func(base batch.Offset) error
	opened time.Time
	opts   atomic.Pointer[Options]

	onRewrite func() error

	segs    atomic.Pointer[[]*segment.Segment] // ascending by base, never empty; the last one is active
	head    head
	start   atomic.Int64
	cleaned atomic.Int64 // what lies below was compacted; stored under replacing
	bytes   atomic.Int64 // of all segments
	written atomic.Int64 // bytes appended since opening, and recovered then
	synced  atomic.Int64 // of written, in the segments' files
	durable atomic.Int64 // of written: synced, or in a journal
	point   atomic.Int64 // the offset below which everything is synced in the segments' files
	epochs  epochs
	hints   hints
	failure atomic.Pointer[failure]
	absent  atomic.Bool // there is no directory, or Create has not made all of it
	// removals are those from the front, in their order.
	removals removals
	report   Recovery
	loaded   loaded

	// The appender's.
	vec    [][]byte
	jitter int64 // ms by which this segment rolls earlier

	syncing    sync.Mutex     // one Sync or Tail at a time, and none beside Truncate
	covered    place          // under syncing
	compacting sync.Mutex     // one Compact at a time
	leftovers  []batch.Offset // under compacting: the bases of cleaned files that may not have been removed
	replacing  sync.Mutex     // after syncing: what takes segments out of the list or makes their names
	listing    sync.Mutex     // after replacing: each change of the list, since a roll holds no other lock of these
	dirty      struct {
		sync.Mutex
		active *segment.Segment
		sealed []*segment.Segment // held; oldest first
		dir    bool               // a file was created, renamed or removed in dir
		parent bool               // dir itself was created
	}
}

// SetOptions changes the settings from the next append on.
func (l *Log) SetOptions(opts Options) { l.opts.Store(&opts) }

// Start is the first offset that may be read.
func (l *Log) Start() batch.Offset { return batch.Offset(l.start.Load()) }

// End is the offset of the next record: everything below is published.
func (l *Log) End() batch.Offset { return batch.Offset(l.head.end.Load()) }

// Size is the bytes of all segments' logs.
func (l *Log) Size() int64 { return l.bytes.Load() }

// Segments is the number of segments.
func (l *Log) Segments() int { return len(*l.segs.Load()) }

// active is the appender's segment.
func (l *Log) active() *segment.Segment {
	segs := *l.segs.Load()
	return segs[len(segs)-1]
}

// head is where the published log ends: the active segment, the offset and the position of its end, which readers must see
// together. One appender writes; a reader that met a change tries again.
type head struct {
	version atomic.Uint64 // odd while the rest changes
	active  atomic.Pointer[segment.Segment]
	end     atomic.Int64
	size    atomic.Int64
}

func (h *head) store(active *segment.Segment, end batch.Offset, size int64) {
	h.version.Add(1)
	h.end.Store(int64(end))
	h.active.Store(active)
	h.size.Store(size)
	h.version.Add(1)
}

func (h *head) load() (active *segment.Segment, end batch.Offset, size int64) {
	for {
		version := h.version.Load()
		active, end, size = h.active.Load(), batch.Offset(h.end.Load()), h.size.Load()
		if version%2 == 0 && version == h.version.Load() {
			return active, end, size
		}
	}
}
