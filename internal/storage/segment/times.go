package segment

import (
	"errors"
	"math"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Largest is the largest timestamp of the segment and the last offset of the first batch that has it; At is NoTimestamp
// if no batch has one. A sealed segment's is its last time index entry.
func (s *Segment) Largest() (Timestamp, error) {
	s.largest.Lock()
	defer s.largest.Unlock()
	if s.largest.known {
		return s.largest.Timestamp, nil
	}
	v, err := s.view(&s.times)
	if err != nil {
		return Timestamp{}, err
	}
	largest := Timestamp{NoTimestamp, s.base}
	if n := v.len(); n > 0 {
		e, err := v.entry(n - 1)
		if err != nil {
			return Timestamp{}, err
		}
		largest = s.timestamp(e)
	}
	if !s.sealed.Load() {
		if largest, err = s.largestFrom(largest, math.MaxInt64); err != nil {
			return Timestamp{}, err
		}
	}
	s.largest.known, s.largest.Timestamp = true, largest
	return largest, nil
}

// Newest is the first record with the largest timestamp of the segment; At is NoTimestamp if no record has one. Largest, by the
// batches' headers, may name more: a batch that compaction has emptied keeps its timestamp.
type Newest struct {
	At     int64
	Offset batch.Offset
	Epoch  batch.Epoch
}

// newest is a Newest that was found in a log of size bytes.
type newest struct {
	Newest
	size int64
}

// KeepNewest notes what was found in the first size bytes, for a sealed segment.
func (s *Segment) KeepNewest(n Newest, size int64) {
	if s.sealed.Load() {
		s.newest.Store(&newest{n, size})
	}
}

// Newest returns what was noted for the log as it is now, if it was.
func (s *Segment) Newest() (n Newest, ok bool) {
	kept := s.newest.Load()
	if kept == nil || kept.size != s.Size() {
		return Newest{}, false
	}
	return kept.Newest, true
}

// LargestIn is Largest of the batches that end at or after start and begin below limit.
func (s *Segment) LargestIn(start, limit batch.Offset) (Timestamp, error) {
	all, err := s.largestBefore(limit)
	if err != nil || all.At < 0 || all.Offset >= start {
		return all, err
	}
	return s.largestFrom(Timestamp{NoTimestamp, start}, limit) // it was deleted: look at what was not
}

func (s *Segment) largestBefore(limit batch.Offset) (Timestamp, error) {
	all, err := s.Largest()
	if err != nil || all.Offset < limit {
		return all, err
	}
	largest, _, err := s.entry(s.relative(int64(limit)-1), timeOffset)
	if err != nil {
		return Timestamp{}, err
	}
	return s.largestFrom(largest, limit)
}

// entry is the last time index entry whose key is at most target, if the log agrees with it; else, as if there were no
// entry, the time before all. A bad entry has the index built anew on its next use.
func (s *Segment) entry(target int64, key func([]byte) int64) (Timestamp, bool, error) {
	none := Timestamp{NoTimestamp, s.base}
	v, err := s.view(&s.times)
	if err != nil {
		return none, false, err
	}
	e, ok, err := v.search(target, key)
	if err != nil || !ok {
		return none, false, err
	}
	found, ok, err := s.Locate(s.timestamp(e).Offset, s.Size())
	if err != nil {
		return none, false, err
	}
	if !ok || found.MaxTimestamp != timeTimestamp(e[:]) {
		s.distrust(&s.times)
		return none, false, nil
	}
	return s.timestamp(e), true, nil
}

func (s *Segment) timestamp(e [entryMax]byte) Timestamp {
	return Timestamp{timeTimestamp(e[:]), s.base + batch.Offset(timeOffset(e[:]))}
}

// largestFrom raises largest, a time index entry, by the batches from its own on that begin below limit.
func (s *Segment) largestFrom(largest Timestamp, limit batch.Offset) (Timestamp, error) {
	end := s.Size()
	found, ok, err := s.Locate(largest.Offset, end)
	if err != nil || !ok {
		return largest, err
	}
	err = s.Scan(found.Pos, end, func(h batch.Batch, pos int64, _ int) error {
		if h.BaseOffset() >= limit {
			return errStop
		}
		if h.MaxTimestamp() > largest.At && !s.DamageAt(pos) {
			largest = Timestamp{h.MaxTimestamp(), h.LastOffset()}
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return largest, err
}

// TimeStart is a position at or before the first batch that has a record with a timestamp of at least ts and an offset
// of at least from (Kafka's LogSegment.findOffsetByTimestamp).
func (s *Segment) TimeStart(ts int64, from batch.Offset) (int64, error) {
	entry, ok, err := s.entry(ts, timeTimestamp)
	if err != nil {
		return 0, err
	}
	if ok {
		from = max(from, entry.Offset)
	}
	found, ok, err := s.Locate(from, s.Size())
	if err != nil {
		return 0, err
	}
	if !ok {
		return s.Size(), nil
	}
	return found.Pos, nil
}
