package segment

import (
	"errors"
	"fmt"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// ErrNoSpace marks a write that failed for want of room, descriptors or memory and was cut back: the segment is as it was before.
var ErrNoSpace = errors.New("no room for the append")

// unread is a first timestamp that was not read yet.
const unread = -2

// writer is what only the appender uses.
type writer struct {
	since        int64 // bytes of log from the last index entry on
	first        int64 // the first batch's timestamp, NoTimestamp, or unread
	created      int64 // ms: creation, or opening
	lastTime     int64 // timestamp of the last time index entry
	ready        bool  // since, lastTime and largest are known
	preallocated bool
}

// Preallocate reserves disk for size bytes; a failure costs nothing.
func (s *Segment) Preallocate(size int64) {
	if file, err := s.File(); err == nil && size > s.Size() {
		s.writer.preallocated = file.Preallocate(size) == nil
	}
}

// Write puts bufs behind the published bytes with one write and does not publish them. On an error the file is cut back;
// with ErrNoSpace that succeeded and nothing else was wrong, so that the segment may be written again. Any other
// error is final.
func (s *Segment) Write(bufs [][]byte) error {
	file, err := s.File()
	if err != nil {
		return unwritten(err)
	}
	size := s.Size()
	if _, err = file.WriteVec(bufs, size); err == nil {
		return nil
	}
	if vfs.IsUnopened(err) {
		return unwritten(fmt.Errorf("write %s at position %d: %w", s.Name(Log), size, err))
	}
	s.writer.preallocated = false
	if cut := file.Truncate(size); cut != nil {
		return fmt.Errorf("write %s at position %d: %w; cutting back: %w", s.Name(Log), size, err, cut)
	}
	return unwritten(fmt.Errorf("write %s at position %d: %w", s.Name(Log), size, err))
}

// unwritten marks err, of a write that left nothing behind, when the write may be tried again.
func unwritten(err error) error {
	if vfs.IsShortage(err) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// Publish shows n more written bytes to readers.
func (s *Segment) Publish(n int64) { s.size.Add(n) }

// Index enters group, published from position pos on, into the indexes. It never fails: see appendSide.
func (s *Segment) Index(group []batch.Batch, pos int64, interval int) {
	w := &s.writer
	if pos == 0 {
		w.first = group[0].MaxTimestamp()
	}
	if !s.prepare(pos) {
		return
	}
	for _, b := range group {
		if b.MaxTimestamp() > s.largest.At {
			s.setLargest(Timestamp{b.MaxTimestamp(), b.LastOffset()})
		}
		if w.since > int64(interval) {
			var e [indexWidth]byte
			putIndex(e[:], s.relative(int64(b.LastOffset())), pos)
			s.appendSide(&s.index, e[:])
			s.appendTime()
			w.since = 0
		}
		pos += int64(len(b))
		w.since += int64(len(b))
	}
}

// prepare learns, after a reopening, where the indexes stand for a log of size bytes; false if it cannot be told, and then
// nothing is entered until the files are built anew.
func (s *Segment) prepare(size int64) bool {
	w := &s.writer
	if w.ready {
		return true
	}
	indexed, lastTime, err := s.lastEntries()
	if err == nil {
		_, err = s.Largest()
	}
	if err != nil {
		s.index.stale, s.times.stale = true, true
		return false
	}
	w.since, w.lastTime, w.ready = size-indexed, lastTime, true
	return true
}

// lastEntries are the position of the last index entry and the timestamp of the last time index entry.
func (s *Segment) lastEntries() (pos, timestamp int64, err error) {
	pos, timestamp = 0, NoTimestamp
	index, err := s.view(&s.index)
	if err != nil {
		return 0, 0, err
	}
	if n := index.len(); n > 0 {
		e, err := index.entry(n - 1)
		if err != nil {
			return 0, 0, err
		}
		pos = indexPosition(e[:])
	}
	times, err := s.view(&s.times)
	if err != nil {
		return 0, 0, err
	}
	if n := times.len(); n > 0 {
		e, err := times.entry(n - 1)
		if err != nil {
			return 0, 0, err
		}
		timestamp = timeTimestamp(e[:])
	}
	return pos, timestamp, nil
}

func (s *Segment) setLargest(t Timestamp) {
	s.largest.Lock()
	s.largest.Timestamp = t
	s.largest.Unlock()
}

// appendTime enters the largest timestamp, if it is larger than the last entry's (Kafka's TimeIndex.maybeAppend).
func (s *Segment) appendTime() {
	if s.largest.At <= s.writer.lastTime {
		return
	}
	var e [timeWidth]byte
	putTime(e[:], s.largest.At, s.relative(int64(s.largest.Offset)))
	s.appendSide(&s.times, e[:])
	s.writer.lastTime = s.largest.At
}

// Room is how many more entries the smaller index may take when it is bounded to limit bytes (segment.index.bytes). As in
// Kafka, one place of the time index is kept for the last entry.
func (s *Segment) Room(limit int) int {
	room := limit/indexWidth - s.entries(&s.index)
	return min(room, limit/timeWidth-1-s.entries(&s.times))
}

// Places is Room of an empty segment.
func Places(limit int) int { return min(limit/indexWidth, limit/timeWidth-1) }

func (s *Segment) entries(f *sideFile) int {
	t := f.tail.Load()
	if t == nil {
		return 0 // not loaded since it was opened; the next append loads it
	}
	return t.first + int(t.n.Load())
}

// Waited is how long, in ms, the segment has waited to be rolled when a batch of timestamp ts comes (Kafka's
// LogSegment.timeWaitedForRoll): by the batches' timestamps if the first one has one, else by the clock.
func (s *Segment) Waited(now, ts int64) (int64, error) {
	w := &s.writer
	if w.first == unread {
		if s.Size() == 0 {
			w.first = NoTimestamp
		} else {
			found, err := s.At(0, s.Size())
			switch {
			case errors.Is(err, batch.ErrCorrupt) || s.DamageAt(0):
				w.first = NoTimestamp // the clock tells
			case err != nil:
				return 0, err
			default:
				w.first = found.MaxTimestamp
			}
		}
	}
	if w.first >= 0 {
		return ts - w.first, nil
	}
	return now - w.created, nil
}

// Age is how long ago, in ms, the segment was created or opened.
func (s *Segment) Age(now int64) int64 { return now - s.writer.created }

// Seal ends the segment's appends: the last time index entry is added, the indexes are written and everything is cut to
// its size. Nothing is synced. A side file that cannot be completed is removed, to be built again when it is needed. After an error
// nothing has changed, and the segment may be appended to.
func (s *Segment) Seal() error {
	if s.sealed.Load() {
		return nil
	}
	if s.writer.preallocated {
		file, err := s.File()
		if err != nil {
			return err
		}
		if err := file.Truncate(s.Size()); err != nil {
			return fmt.Errorf("trim %s: %w", s.Name(Log), err)
		}
		s.writer.preallocated = false
	}
	if s.prepare(s.Size()) {
		s.appendTime()
	}
	for _, f := range []*sideFile{&s.index, &s.times} {
		s.sealSide(f)
	}
	s.sealed.Store(true)
	return nil
}

func (s *Segment) sealSide(f *sideFile) {
	t := f.tail.Load()
	if t == nil {
		return
	}
	err := s.flushSide(f)
	if err == nil {
		err = s.trimSide(f)
	}
	if err == nil && !f.stale && !f.untrusted.Load() {
		f.tail.Store(&tail{first: f.tail.Load().first})
		return
	}
	s.discardSide(f)
}

// discardSide forgets a side file and what it says; it is built anew on its next use. The old file stays open for readers
// until the segment is closed.
func (s *Segment) discardSide(f *sideFile) {
	f.loading.Lock()
	defer f.loading.Unlock()
	_ = s.fs.Remove(s.Name(f.kind)) // if it stays, it is overwritten
	if o := f.file.Swap(nil); o != nil {
		s.mu.Lock()
		s.mu.old = append(s.mu.old, o.File)
		s.mu.Unlock()
	}
	f.untrusted.Store(true)
	f.tail.Store(nil)
}

// trimSide cuts f to its entries; the file is made if there are none, since Kafka's tools expect it.
func (s *Segment) trimSide(f *sideFile) error {
	file, err := s.sideForWrite(f)
	if err != nil {
		return err
	}
	return file.Truncate(int64(f.tail.Load().first) * int64(f.width))
}

// Sync makes the published bytes durable, and with sides what the side files have on file.
func (s *Segment) Sync(sides bool) error {
	file, err := s.File()
	if err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.Name(Log), err)
	}
	if !sides {
		return nil
	}
	for _, f := range []*sideFile{&s.index, &s.times} {
		if o := f.file.Load(); o != nil {
			if err := o.Sync(); err != nil {
				return fmt.Errorf("sync %s: %w", s.Name(f.kind), err)
			}
		}
	}
	return nil
}
