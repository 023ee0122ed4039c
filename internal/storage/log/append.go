package log

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// Fit says how many leading batches of group one Append may take (at least one): a group never spans segments.
func (l *Log) Fit(group []batch.Batch) int {
	if len(group) <= 1 {
		return len(group)
	}
	opts, active := l.opts.Load(), l.active()
	room, places, base := opts.SegmentBytes-active.Size(), active.Room(opts.IndexBytesMax), active.Base()
	if int64(len(group[0])) > room || places < 1 || !active.Holds(group[0].LastOffset()) {
		// The first one starts a new segment.
		room, places, base = opts.SegmentBytes, segment.Places(opts.IndexBytesMax), group[0].BaseOffset()
	}
	n := 0
	for _, b := range group {
		if room -= int64(len(b)); n > 0 && (room < 0 || n >= places || b.LastOffset()-base > math.MaxInt32) {
			break
		}
		n++
	}
	return n
}

// Append writes group, whose offsets and epochs are set and follow the log's end, with one write. It rolls
// first if the group does not fit. On error the file is cut back and nothing of the group is published; with ErrNoSpace
// the log may be used again, with ErrFailed it may not.
func (l *Log) Append(now time.Time, group []batch.Batch) error {
	if err := l.usable(); err != nil {
		return err
	}
	bytes, timestamp, err := l.judge(group)
	if err != nil || bytes == 0 {
		return err
	}
	if err := l.Create(); err != nil {
		return err
	}
	if err := l.makeRoom(now, group, bytes, timestamp); err != nil {
		return err
	}
	active := l.active()
	pos := active.Size()
	for _, b := range group {
		l.vec = append(l.vec, b)
	}
	err = active.Write(l.vec)
	clear(l.vec)
	l.vec = l.vec[:0]
	if errors.Is(err, ErrNoSpace) {
		return err
	}
	if err != nil {
		return l.fail(err)
	}
	active.Publish(bytes)
	l.written.Add(bytes)
	l.bytes.Add(bytes)
	l.head.store(active, group[len(group)-1].NextOffset(), pos+bytes)
	active.Index(group, pos, l.opts.Load().IndexInterval)
	l.epochs.observe(group)
	return nil
}

// judge checks that offsets rise from the log's end on, and returns the group's bytes and largest timestamp.
func (l *Log) judge(group []batch.Batch) (bytes, timestamp int64, err error) {
	next := l.End()
	timestamp = segment.NoTimestamp
	for _, b := range group {
		if b.BaseOffset() < next {
			return 0, 0, fmt.Errorf("append at offset %d to a log that ends at %d", b.BaseOffset(), next)
		}
		next = b.NextOffset()
		bytes += int64(len(b))
		timestamp = max(timestamp, b.MaxTimestamp())
	}
	return bytes, timestamp, nil
}

// makeRoom rolls if the active segment is full, old, or too far from the group's offsets (Kafka's LogSegment.shouldRoll).
func (l *Log) makeRoom(now time.Time, group []batch.Batch, bytes, timestamp int64) error {
	active, last := l.active(), group[len(group)-1].LastOffset()
	full, err := l.full(active, now, bytes, timestamp)
	if err != nil {
		return l.refuse(err)
	}
	if !full && active.Holds(last) {
		return nil
	}
	base := l.End()
	if last-base > math.MaxInt32 {
		base = group[0].BaseOffset() // a follower of a compacted log meets such gaps
	}
	if last-base > math.MaxInt32 {
		return fmt.Errorf("append of offsets %d to %d at once: a segment holds %d", base, last, math.MaxInt32)
	}
	return l.roll(now, base)
}

func (l *Log) full(active *segment.Segment, now time.Time, bytes, timestamp int64) (bool, error) {
	if active.Size() == 0 {
		return false, nil
	}
	opts := l.opts.Load()
	limit := min(opts.SegmentBytes, math.MaxInt32)
	if active.Size() > limit-bytes || active.Room(opts.IndexBytesMax) < 1 {
		return true, nil
	}
	waited, err := active.Waited(now.UnixMilli(), timestamp)
	return waited > opts.SegmentAge.Milliseconds()-l.jitter, err
}

// roll seals the active segment and starts one at base. It does not sync: the sealed segment stays dirty until Sync.
func (l *Log) roll(now time.Time, base batch.Offset) error {
	if l.onRoll != nil {
		if err := l.onRoll(base); err != nil {
			return fmt.Errorf("before rolling to offset %d: %w", base, err)
		}
	}
	old := l.active()
	fresh, err := l.create(now, base)
	if err != nil {
		return l.refuse(err)
	}
	if err := old.Seal(); err != nil {
		// A preallocated file must not stay: recovery would take it for a segment, and what is appended to the old one for too much.
		if stays := l.drop(fresh); stays != nil {
			return l.fail(errors.Join(err, stays))
		}
		return l.refuse(err)
	}
	l.dirty.Lock()
	l.dirty.active = fresh
	l.dirty.dir = true
	if old.Size() > 0 && !slices.Contains(l.dirty.sealed, old) && old.Acquire() {
		l.dirty.sealed = append(l.dirty.sealed, old)
	}
	l.dirty.Unlock()
	l.listing.Lock()
	segs := *l.segs.Load()
	if old.Size() == 0 {
		segs = segs[:len(segs)-1] // it is replaced: its base is too far below
	}
	segs = append(slices.Clip(segs), fresh)
	l.segs.Store(&segs)
	l.listing.Unlock()
	l.head.store(fresh, l.End(), 0)
	if old.Size() == 0 {
		return l.drop(old)
	}
	return nil
}

// create makes an empty segment with the log's settings.
func (l *Log) create(now time.Time, base batch.Offset) (*segment.Segment, error) {
	opts := l.opts.Load()
	s, err := segment.Create(l.fs, l.dir, base, opts.IndexInterval, now.UnixMilli())
	if err != nil {
		return nil, err
	}
	if opts.Preallocate {
		s.Preallocate(opts.SegmentBytes)
	}
	l.jitter = 0
	if most := min(opts.SegmentJitter, opts.SegmentAge).Milliseconds(); most > 0 {
		h := fnv.New64a()
		_, _ = io.WriteString(h, l.dir)
		_, _ = fmt.Fprint(h, base)
		l.jitter = int64(h.Sum64() % uint64(most))
	}
	return s, nil
}

// RollIfOld rolls a segment that is older than segment.ms by the clock, so that retention and compaction reach it though
// nothing is appended.
func (l *Log) RollIfOld(now time.Time) error {
	if err := l.usable(); err != nil {
		return err
	}
	active := l.active()
	if active.Size() == 0 || active.Age(now.UnixMilli()) <= l.opts.Load().SegmentAge.Milliseconds()-l.jitter {
		return nil
	}
	return l.roll(now, l.End())
}
