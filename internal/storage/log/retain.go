package log

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
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
	_, err := l.dropOldest(n)
	l.epochs.truncateStart(to)
	return err
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
	// The start moves first: a reader below it must not be given what comes behind the gap.
	if first := (*l.segs.Load())[n].Base(); first > l.Start() {
		l.start.Store(int64(first))
		defer l.epochs.truncateStart(first)
	}
	return l.dropOldest(n)
}

// expired is how many of the oldest segments are too old, too much, or below the log's start. Size never takes the one being written.
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
		gone := !last && (end <= l.Start() || opts.RetentionBytes >= 0 && excess >= s.Size()) // below the start: a deletion stopped there
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

// removals counts the segments removed from the front of the log: those whose files lost their names, and those of which a
// power cut leaves nothing.
type removals struct{ done, durable atomic.Int64 }

// synced notes that the first n removals are durable.
func (r *removals) synced(n int64) {
	for {
		old := r.durable.Load()
		if old >= n || r.durable.CompareAndSwap(old, n) {
			return
		}
	}
}

// dropOldest removes the first n segments and returns how many went. The oldest goes first, and none before the one that went
// before it is durably gone: file systems do not keep the order of removals, and after a power cut a segment that came back with a
// hole behind it would have recovery cut the log there.
func (l *Log) dropOldest(n int) (int, error) {
	segs := *l.segs.Load()
	var err error
	gone := 0
	for gone < n && err == nil {
		// What stays may be the active segment alone, whose name is new: without it the log would begin anew.
		if err = l.orderRemovals(gone == 0 && n == len(segs)-1); err != nil {
			break
		}
		if err = segs[gone].Retire(); err != nil {
			err = l.refuse(fmt.Errorf("delete segment %d: %w", segs[gone].Base(), err))
			break
		}
		gone++
		l.removals.done.Add(1)
		l.dirty.Lock()
		l.dirty.dir = true
		l.dirty.Unlock()
	}
	return gone, errors.Join(err, l.unlist(gone))
}

// orderRemovals makes the removals so far durable; with always it syncs the directory though there are none.
func (l *Log) orderRemovals(always bool) error {
	done := l.removals.done.Load()
	if !always && l.removals.durable.Load() == done {
		return nil
	}
	if err := l.syncDir(); err != nil {
		return l.refuseSync(err)
	}
	l.removals.synced(done)
	return nil
}

// unlist takes the first n segments, whose files have lost their names, out of the log.
func (l *Log) unlist(n int) error {
	if n == 0 {
		return nil
	}
	l.listing.Lock()
	segs := *l.segs.Load()
	kept := slices.Clone(segs[n:])
	l.segs.Store(&kept)
	l.listing.Unlock()
	l.hints.clear()
	var err error
	for _, s := range segs[:n] {
		l.bytes.Add(-s.Size())
		if l.forget(s) {
			err = errors.Join(err, s.Release())
		}
		err = errors.Join(err, s.Release())
	}
	if err != nil {
		return l.refuse(fmt.Errorf("delete segments below %d: %w", kept[0].Base(), err))
	}
	return nil
}
