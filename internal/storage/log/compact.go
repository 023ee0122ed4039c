package log

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/compact"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// Compaction is a topic's settings for it.
type Compaction struct {
	MinDirtyRatio   float64       // min.cleanable.dirty.ratio
	MinLag          time.Duration // min.compaction.lag.ms
	MaxLag          time.Duration // max.compaction.lag.ms
	DeleteRetention time.Duration // delete.retention.ms
	Codec           batch.Codec   // compression.type
	Level           int           // of Codec
}

// Cleaner is what one Compact may use.
type Cleaner struct {
	// Memory for keys, in bytes (log.cleaner.dedupe.buffer.size), and how full it may get.
	Memory     int64
	LoadFactor float64
	// Buffer is the bytes of one read and of one write (log.cleaner.io.buffer.size).
	Buffer int
	// Newest reports whether a batch is the newest of a producer that is known; see compact.Rules.
	Newest func(header batch.Batch) bool
	// Pace is told of every read and write before it is made, and may take its time. An error ends the pass.
	Pace func(bytes int) error
}

// Compacted is what one Compact did.
type Compacted struct {
	From, To           batch.Offset // the part that was dirty and is not any more
	Read, Written      int64        // bytes
	Before, After      int64        // bytes of the segments that were looked at
	Replaced, Segments int          // segments that went, and that came
	Keys               int
	KeyMemory          int64 // bytes
	compact.Counts
}

// ErrChanged says that the log was truncated or its segments deleted during a Compact, which gave up. What it had already
// replaced is as good as before.
var ErrChanged = errors.New("log changed while it was compacted")

// Cleaned is where the part that was compacted ends, for the cleaner-offset-checkpoint.
func (l *Log) Cleaned() batch.Offset { return batch.Offset(l.cleaned.Load()) }

// Compact removes from the log's sealed segments below limit the records that newer ones of the same key replace, as
// Kafka's LogCleaner does. Everything but the moment of a segment's replacement runs beside appends and reads; readers
// finish in the segments they hold. Whatever happens, also a crash at any moment, each key has the same last record as before.
// limit must be at most the high watermark. Errors: ErrChanged, ErrNoSpace, ErrClosed and those of Pace leave all as it
// was; batch.ErrCorrupt and others say that the log cannot be read; ErrFailed is final for the log.
func (l *Log) Compact(now time.Time, limit batch.Offset, settings Compaction, cleaner Cleaner) (Compacted, error) {
	l.compacting.Lock()
	defer l.compacting.Unlock()
	if err := l.usable(); err != nil {
		return Compacted{}, err
	}
	p := pass{log: l, now: now, settings: settings, cleaner: cleaner, limit: min(limit, l.End())}
	defer p.release()
	err := p.run()
	if err != nil && p.moved() {
		err = fmt.Errorf("%w: %w", ErrChanged, err) // so reads may have failed
	}
	if failed := l.usable(); failed != nil {
		err = failed
	}
	return p.done, err
}

// pass is one Compact.
type pass struct {
	log      *Log
	now      time.Time
	settings Compaction
	cleaner  Cleaner
	limit    batch.Offset

	segs   []held // the sealed segments of the log when it began
	from   batch.Offset
	bound  batch.Offset // nothing at or above is touched
	txns   *compact.Transactions
	keys   *compact.KeyMap
	filter *compact.Filter
	done   Compacted
}

// held is a segment, by reference, as it was when the pass began.
type held struct {
	*segment.Segment
	next batch.Offset // the next segment's base
	size int64
}

func (p *pass) release() {
	for _, s := range p.segs {
		_ = s.Release() // what cannot be removed now is removed when the log is opened
	}
}

func (p *pass) run() error {
	dirt, err := p.log.Dirt(p.now, p.limit, p.settings)
	if err != nil {
		return err
	}
	p.from, p.bound = dirt.From, dirt.Bound
	p.done.From, p.done.To = p.from, p.from
	if p.bound <= p.from {
		return nil
	}
	if err := p.hold(); err != nil {
		return err
	}
	records, err := p.survey()
	if err != nil || p.bound <= p.from {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	p.keys = compact.NewKeyMap(p.cleaner.Memory, p.cleaner.LoadFactor, records)
	end, err := p.learn()
	p.done.Keys, p.done.KeyMemory = p.keys.Len(), p.keys.Bytes()
	if err != nil || end <= p.from {
		return err
	}
	p.filter = compact.NewFilter(compact.Rules{
		Now: p.now.UnixMilli(), DeleteRetention: p.settings.DeleteRetention.Milliseconds(), End: end,
		Codec: p.settings.Codec, Level: p.settings.Level, Newest: p.cleaner.Newest,
	}, p.keys, p.txns)
	err = p.clean(end)
	p.done.Counts = p.filter.Counts()
	return err
}

// hold takes references to the sealed segments, so that they can be read whatever becomes of them.
func (p *pass) hold() error {
	w := p.log.window()
	for i, s := range w.segs[:len(w.segs)-1] {
		if !s.Acquire() {
			return ErrChanged
		}
		p.segs = append(p.segs, held{s, w.segs[i+1].Base(), s.Size()})
	}
	return nil
}

// moved reports whether a segment was taken away or cut since the pass began. Those that the pass replaced are not in segs any more.
func (p *pass) moved() bool {
	segs := *p.log.segs.Load()
	for _, s := range p.segs {
		if s.Size() != s.size || !contains(segs, s.Segment) {
			return true
		}
	}
	return false
}

func contains(segs []*segment.Segment, s *segment.Segment) bool {
	i := window{segs: segs}.find(s.Base())
	return segs[i] == s
}

// settle syncs what lies below the bound and is not known to be on disk. A replacement is synced; if the newest record of
// a key were not, and was lost, nothing would be left of the key. A journal forgets the bytes that will be replaced: no
// later one has them, since they are in sealed segments.
func (p *pass) settle() error {
	l := p.log
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.onRewrite != nil {
		return l.barrierLocked()
	}
	l.dirty.Lock()
	unsynced := l.dirty.dir
	for _, s := range l.dirty.sealed {
		unsynced = unsynced || s.Base() < p.bound
	}
	l.dirty.Unlock()
	if !unsynced {
		return nil
	}
	_, err := l.syncLocked()
	return err
}

// survey learns how the transactions of the dirty part end, lowers the bound to the segment of the first one that has not,
// and returns how many records the dirty part has at most (KAFKA-13194).
func (p *pass) survey() (records int64, err error) {
	p.txns = compact.NewTransactions()
	err = p.log.Scan(p.from, func(h batch.Batch) error {
		if h.BaseOffset() >= p.limit {
			return errFound
		}
		if !h.IsControl() {
			if h.BaseOffset() < p.bound {
				records += int64(h.Count())
			}
			p.txns.Data(h)
			return nil
		}
		return p.readControl(h.BaseOffset())
	})
	if err != nil && !errors.Is(err, errFound) {
		return 0, err
	}
	if first, ok := p.txns.FirstOpen(); ok {
		for i := len(p.segs) - 1; i >= 0 && p.bound > first; i-- {
			p.bound = min(p.bound, p.segs[i].Base())
		}
	}
	return records, nil
}

// controlMax is far above the size of any control batch.
const controlMax = 1 << 16

func (p *pass) readControl(at batch.Offset) error {
	r, err := p.log.Read(at, math.MaxInt64, controlMax, false)
	if err != nil {
		return err
	}
	defer r.Release()
	buf := make([]byte, r.Len())
	if _, err := r.ReadAt(buf, 0); err != nil {
		return err
	}
	b, _, err := batch.Next(buf)
	if err != nil {
		return fmt.Errorf("control batch at offset %d: %w", at, err)
	}
	return p.txns.Control(b)
}

// learn fills the key map from the dirty part and returns where its knowledge ends.
func (p *pass) learn() (batch.Offset, error) {
	r := p.reader()
	var cursor batch.Cursor
	defer cursor.Close()
	for _, s := range p.segs {
		if s.next <= p.from || s.Base() >= p.bound {
			continue
		}
		for b, err := range r.batches(s, p.from) {
			if err != nil {
				return 0, err
			}
			if b.IsControl() || p.txns.Aborted(b) {
				continue
			}
			full, err := p.put(&cursor, b)
			if err != nil {
				return 0, fmt.Errorf("%s: compact batch at offset %d: %w", s.Name(segment.Log), b.BaseOffset(), err)
			}
			if full {
				return cursor.Record().Offset, nil
			}
		}
	}
	return p.bound, nil
}

// put enters the keys of b; full says that the cursor's record has no place.
func (p *pass) put(cursor *batch.Cursor, b batch.Batch) (full bool, err error) {
	if err := cursor.Reset(b, compact.Limit()); err != nil {
		return false, err
	}
	for cursor.Next() {
		r := cursor.Record()
		if r.Key != nil && r.Offset >= p.from && !p.keys.Put(r.Key, r.Offset) {
			return true, nil
		}
	}
	return false, cursor.Err()
}
