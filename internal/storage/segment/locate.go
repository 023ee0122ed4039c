package segment

import (
	"errors"
	"io"
	"math"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Found is where a batch stands in its segment, and what its header says.
type Found struct {
	Pos          int64
	Size         int
	Base, Next   batch.Offset
	MaxTimestamp int64
	Epoch        batch.Epoch
}

// Scan calls fn with the header of each batch that begins in [pos, end), its position and its size. The header is valid
// during the call. pos must be a batch's.
func (s *Segment) Scan(pos, end int64, fn func(header batch.Batch, pos int64, size int) error) error {
	c, err := s.cursor(pos, end)
	if err != nil {
		return err
	}
	defer c.close()
	for {
		header, at, size, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(header, at, size); err != nil {
			return err
		}
	}
}

// scanTo calls fn with each header of [pos, end).
func (s *Segment) scanTo(pos, end int64, fn func(header batch.Batch) error) error {
	return s.Scan(pos, end, func(h batch.Batch, _ int64, _ int) error { return fn(h) })
}

// Locate finds the first batch below position end whose last offset is at least target; ok is false if there is none. It
// costs an index lookup and, nearly always, one read.
func (s *Segment) Locate(target batch.Offset, end int64) (found Found, ok bool, err error) {
	start := s.lookup(target)
	found, ok, err = s.locateFrom(start, target, end)
	if start > 0 && (errors.Is(err, batch.ErrCorrupt) || errors.Is(err, errSide)) {
		// The index names no batch, or the log is damaged: the walk from the front tells.
		s.distrust(&s.index)
		found, ok, err = s.locateFrom(0, target, end)
	}
	return found, ok, err
}

// lookup is a position at or before the batch that holds target; 0 if the index has nothing or cannot be read.
func (s *Segment) lookup(target batch.Offset) int64 {
	if target <= s.base {
		return 0
	}
	v, err := s.view(&s.index)
	if err != nil {
		return 0
	}
	e, ok, err := v.search(min(int64(target-s.base), math.MaxInt32), indexOffset)
	if err != nil || !ok {
		return 0
	}
	return max(indexPosition(e[:]), 0)
}

func (s *Segment) locateFrom(pos int64, target batch.Offset, end int64) (found Found, ok bool, err error) {
	if pos > end {
		return found, false, errSide
	}
	c, err := s.cursor(pos, end)
	if err != nil {
		return found, false, err
	}
	defer c.close()
	for first := true; ; first = false {
		header, at, size, err := c.next()
		if errors.Is(err, io.EOF) {
			return found, false, nil
		}
		if err != nil {
			return found, false, err
		}
		if first && pos > 0 && header.BaseOffset() > target {
			return found, false, errSide
		}
		if header.LastOffset() >= target {
			return foundOf(header, at, size), true, nil
		}
	}
}

// LastBelow finds the last batch that ends at or below position end; ok is false if there is none. It costs an index lookup and one
// read, or two of each where the index names the batch that end cuts.
func (s *Segment) LastBelow(end int64) (found Found, ok bool, err error) {
	for start := end; start > 0 && !ok && err == nil; {
		start = s.lookupPosition(start)
		found, ok, err = s.lastIn(start, end)
	}
	return found, ok, err
}

// lastIn is LastBelow from the batch at start on.
func (s *Segment) lastIn(start, end int64) (found Found, ok bool, err error) {
	c, err := s.cursor(start, s.Size())
	if err != nil {
		return found, false, err
	}
	defer c.close()
	for {
		header, at, size, err := c.next()
		if errors.Is(err, io.EOF) || err == nil && at+int64(size) > end {
			return found, ok, nil
		}
		if err != nil {
			return found, false, err
		}
		found, ok = foundOf(header, at, size), true
	}
}

// lookupPosition is the position of a batch below pos that the index names; 0 if it names none or cannot be read.
func (s *Segment) lookupPosition(pos int64) int64 {
	v, err := s.view(&s.index)
	if err != nil {
		return 0
	}
	e, ok, err := v.search(pos-1, indexPosition)
	if err != nil || !ok {
		return 0
	}
	return max(indexPosition(e[:]), 0)
}

func foundOf(header batch.Batch, pos int64, size int) Found {
	return Found{
		Pos: pos, Size: size, Base: header.BaseOffset(), Next: header.NextOffset(),
		MaxTimestamp: header.MaxTimestamp(), Epoch: header.LeaderEpoch(),
	}
}

// At reads the header of the batch at pos, which must be one below end.
func (s *Segment) At(pos, end int64) (Found, error) {
	c, err := s.cursor(pos, end)
	if err != nil {
		return Found{}, err
	}
	defer c.close()
	header, at, size, err := c.next()
	if errors.Is(err, io.EOF) {
		err = &CorruptError{s.Name(Log), pos, "a record batch", "the log's end"}
	}
	if err != nil {
		return Found{}, err
	}
	return foundOf(header, at, size), nil
}

// distrust has a sealed segment's side file rebuilt on its next use. An active one is the appender's: it is rebuilt when
// it is sealed.
func (s *Segment) distrust(f *sideFile) {
	f.untrusted.Store(true)
	if s.sealed.Load() {
		f.loading.Lock()
		defer f.loading.Unlock()
		f.tail.Store(nil)
	}
}
