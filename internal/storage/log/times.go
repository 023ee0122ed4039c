package log

import (
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

// FindTimestamp returns the first record below limit whose timestamp is at least ts; ok is false if there is none. A batch that
// cannot be read, or is known to be damaged, is passed over: no reader gets a record of it. As in Kafka, a control record counts.
// Errors: batch.ErrCorrupt if the chain of batches cannot be followed; batch.ErrTooLarge for records above batch.DefaultLimitBytes.
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
		found, ok, err = w.findIn(l, i, ts, start, limit)
		if err := errors.Join(err, w.segs[i].Release()); ok || err != nil {
			return found, ok, err
		}
	}
	return TimestampOffset{}, false, nil
}

func (w window) findIn(l *Log, i int, ts int64, start, limit batch.Offset) (found TimestampOffset, ok bool, err error) {
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
	err = seg.Scan(pos, end, func(h batch.Batch, pos int64, size int) error {
		if h.BaseOffset() >= limit {
			return errFound
		}
		if h.MaxTimestamp() < ts || h.LastOffset() < start || seg.DamageAt(pos) {
			return nil
		}
		err = l.walkRecords(seg, pos, size, func(_ batch.Batch, at TimestampOffset) bool {
			if ok = at.Timestamp >= ts && at.Offset >= start && at.Offset < limit; ok {
				found = at
			}
			return !ok
		})
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

// walkRecords gives fn the offsets and timestamps of the records of the batch at pos, in order, until it returns false. Of a batch
// that cannot be read it gives none, or the first ones.
func (l *Log) walkRecords(seg *segment.Segment, pos int64, size int, fn func(batch.Batch, TimestampOffset) bool) error {
	b, err := readBatch(seg, pos, size)
	if err == nil {
		err = b.CheckCRC()
	}
	if err == nil {
		err = l.walkBatch(b, fn)
	}
	if errors.Is(err, batch.ErrCorrupt) || errors.Is(err, batch.ErrInvalid) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s at position %d: %w", seg.Name(segment.Log), pos, err)
	}
	return nil
}

func (l *Log) walkBatch(b batch.Batch, fn func(batch.Batch, TimestampOffset) bool) error {
	if inflate := l.opts.Load().Inflate; inflate != nil && b.Codec() != batch.CodecNone {
		defer inflate(b)()
	}
	var c batch.Cursor
	defer c.Close()
	for err := c.ResetBare(b, batch.Limit{}); err == nil && c.Next(); {
		if r := c.Record(); !fn(b, TimestampOffset{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: b.LeaderEpoch()}) {
			return nil
		}
	}
	return c.Err()
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
		return nil, fmt.Errorf("read: %w", err)
	}
	b, _, err := batch.Next(buf)
	return b, err
}
