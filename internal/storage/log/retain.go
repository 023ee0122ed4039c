package log

import (
	"fmt"
	"slices"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// AdvanceStart raises the log's start to at most End (DeleteRecords) and deletes whole segments below it. The start may be
// within a batch (KAFKA-6975); the caller checkpoints it.
func (l *Log) AdvanceStart(to batch.Offset) error {
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	to = min(to, l.End())
	if to <= l.Start() {
		return nil
	}
	l.start.Store(int64(to))
	segs := *l.segs.Load()
	n := 0
	for n+1 < len(segs) && segs[n+1].Base() <= to {
		n++
	}
	if err := l.dropOldest(n); err != nil {
		return err
	}
	l.epochs.truncateStart(to)
	return nil
}

// Oversize reports, cheaply, whether Retain would delete a segment for retention.bytes, so that appends may ask.
func (l *Log) Oversize() bool {
	most := l.opts.Load().RetentionBytes
	segs := *l.segs.Load()
	return most >= 0 && len(segs) > 1 && l.Size()-most >= segs[0].Size()
}

// Retain deletes old segments by time and size, never beyond limit, and returns how many. The segment being written is
// rolled first if its time has come too (Kafka's UnifiedLog.deleteOldSegments).
func (l *Log) Retain(now time.Time, limit batch.Offset) (int, error) {
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return 0, err
	}
	n, err := l.expired(now, limit)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, nil
	}
	if n == l.Segments() {
		if err := l.roll(now, l.End()); err != nil {
			return 0, err
		}
	}
	if err := l.dropOldest(n); err != nil {
		return 0, err
	}
	if first := (*l.segs.Load())[0].Base(); first > l.Start() {
		l.start.Store(int64(first))
		l.epochs.truncateStart(first)
	}
	return n, nil
}

// expired is how many of the oldest segments are too old, or too much. Size never takes the one being written.
func (l *Log) expired(now time.Time, limit batch.Offset) (n int, err error) {
	opts, segs := l.opts.Load(), *l.segs.Load()
	excess := l.Size() - opts.RetentionBytes
	for i, s := range segs {
		last := i == len(segs)-1
		end := l.End()
		if !last {
			end = segs[i+1].Base()
		}
		if end > limit || last && s.Size() == 0 {
			return n, nil
		}
		gone := opts.RetentionBytes >= 0 && !last && excess >= s.Size()
		if !gone && opts.RetentionAge >= 0 {
			if gone, err = old(s, now, opts.RetentionAge); err != nil {
				return 0, err
			}
		}
		if !gone {
			return n, nil
		}
		excess -= s.Size()
		n++
	}
	return n, nil
}

// old reports whether a segment's largest timestamp is past age. A segment without timestamps, or with one from the future,
// goes by its file's modification time: Kafka keeps the latter for ever (KIP-937 only refuses new ones).
func old(s *segment.Segment, now time.Time, age time.Duration) (bool, error) {
	largest, err := s.Largest()
	if err != nil {
		return false, err
	}
	at := largest.At
	if at < 0 || at > now.UnixMilli() {
		if at, err = s.Modified(); err != nil {
			return false, err
		}
	}
	return now.UnixMilli()-at > age.Milliseconds(), nil
}

// dropOldest removes the first n segments, the oldest first, so that a crash leaves no hole.
func (l *Log) dropOldest(n int) error {
	if n == 0 {
		return nil
	}
	l.listing.Lock()
	segs := *l.segs.Load()
	kept := slices.Clone(segs[n:])
	l.segs.Store(&kept)
	l.listing.Unlock()
	l.hints.clear()
	for _, s := range segs[:n] {
		l.bytes.Add(-s.Size())
		if err := l.drop(s); err != nil {
			return l.fail(fmt.Errorf("delete segment %d: %w", s.Base(), err))
		}
	}
	return nil
}
