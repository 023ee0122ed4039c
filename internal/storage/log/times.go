package log

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// TimestampOffset is an offset found by time.
type TimestampOffset struct {
	Offset    batch.Offset
	Timestamp int64 // ms
	Epoch     batch.Epoch
}

// errFound ends a search.
var errFound = errors.New("found")

// FindTimestamp returns the first record below limit whose timestamp is at least ts; ok is false if there is none.
func (l *Log) FindTimestamp(ts int64, limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	w, start := l.window(), l.Start()
	limit = min(limit, w.end)
	for i := w.find(start); i < len(w.segs) && w.segs[i].Base() < limit; i++ {
		if !w.segs[i].Acquire() { // deleted or compacted meanwhile: look again
			if err := l.gone(w.segs[i]); err != nil {
				return TimestampOffset{}, false, err
			}
			w, start = l.window(), l.Start()
			i = w.find(start) - 1
			continue
		}
		found, ok, err = w.findIn(i, ts, start, limit)
		if err := errors.Join(err, w.segs[i].Release()); ok || err != nil {
			return found, ok, err
		}
	}
	return TimestampOffset{}, false, nil
}

func (w window) findIn(i int, ts int64, start, limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	seg := w.segs[i]
	largest, err := seg.Largest()
	if err != nil || largest.At < ts {
		return found, false, err
	}
	pos, err := seg.TimeStart(ts, start)
	if err != nil {
		return found, false, err
	}
	end, _ := w.bound(i, w.end)
	if pos >= end {
		return found, false, nil
	}
	want := func(r batch.Record) bool { return r.Timestamp >= ts && r.Offset >= start && r.Offset < limit }
	err = seg.Scan(pos, end, func(h batch.Batch, pos int64, size int) error {
		if h.BaseOffset() >= limit {
			return errFound
		}
		if h.MaxTimestamp() < ts || h.LastOffset() < start {
			return nil
		}
		found, ok, err = search(seg, pos, size, want)
		if err == nil && ok {
			return errFound
		}
		return err
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return found, ok, err
}

// search reads the batch at pos and returns the first record that want accepts.
func search(seg *segment.Segment, pos int64, size int, want func(batch.Record) bool) (found TimestampOffset, ok bool, err error) {
	b, err := readBatch(seg, pos, size)
	if err != nil {
		return found, false, err
	}
	var c batch.Cursor
	if err := c.Reset(b, batch.Limit{}); err != nil {
		return found, false, fmt.Errorf("%s at position %d: %w", seg.Name(segment.Log), pos, err)
	}
	for c.Next() {
		if r := c.Record(); want(r) {
			return TimestampOffset{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: b.LeaderEpoch()}, true, nil
		}
	}
	if err := c.Err(); err != nil {
		return found, false, fmt.Errorf("%s at position %d: %w", seg.Name(segment.Log), pos, err)
	}
	return found, false, nil
}

// readBatch reads the batch of size bytes at pos, whose header was read there before.
func readBatch(seg *segment.Segment, pos int64, size int) (batch.Batch, error) {
	file, err := seg.File()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, size)
	if n, err := file.ReadAt(buf, pos); n < size {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read %s at position %d: %w", seg.Name(segment.Log), pos, err)
	}
	b, _, err := batch.Next(buf)
	if err != nil {
		return nil, fmt.Errorf("%s at position %d: %w", seg.Name(segment.Log), pos, err)
	}
	return b, nil
}

// MaxTimestamp returns the first record below limit with the largest timestamp (KIP-734); ok is false if no record has one.
func (l *Log) MaxTimestamp(limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	for {
		w := l.window()
		found, ok, err = w.maxTimestamp(l, min(limit, w.end))
		if !errors.Is(err, errGone) {
			return found, ok, err
		}
	}
}

// errGone says that a segment of a window was deleted or compacted meanwhile.
var errGone = errors.New("segment gone")

func (w window) maxTimestamp(l *Log, limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	start := l.Start()
	best, at := segment.Timestamp{At: segment.NoTimestamp}, -1
	for i := w.find(start); i < len(w.segs) && w.segs[i].Base() < limit; i++ {
		if !w.segs[i].Acquire() {
			return found, false, cmp.Or(l.gone(w.segs[i]), errGone)
		}
		largest, err := w.segs[i].LargestIn(start, limit)
		if err := errors.Join(err, w.segs[i].Release()); err != nil {
			return found, false, err
		}
		if largest.At > best.At {
			best, at = largest, i
		}
	}
	if at < 0 {
		return found, false, nil
	}
	seg := w.segs[at]
	if !seg.Acquire() {
		return found, false, cmp.Or(l.gone(seg), errGone)
	}
	end, _ := w.bound(at, w.end)
	b, ok, err := seg.Locate(best.Offset, end)
	if err == nil && ok {
		found, ok, err = search(seg, b.Pos, b.Size, func(r batch.Record) bool {
			return r.Timestamp == best.At && r.Offset >= start && r.Offset < limit
		})
	}
	return found, ok, errors.Join(err, seg.Release())
}
