package log

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// recover walks the segments from first on and checks every batch. It cuts the log at what a crash has left of its end, which is never
// below the recovery point, and steps over batches that are damaged (see segment.Recover). It returns the log's end.
func (l *Log) recover(now time.Time, first int, opts OpenOptions) (batch.Offset, error) {
	end := (*l.segs.Load())[first].Base()
	for i := first; i < l.Segments(); i++ {
		seg := (*l.segs.Load())[i]
		if i > first && seg.Base() < end { // empty, or the walk would have stopped there: see limit
			if err := l.dropOne(i); err != nil {
				return 0, err
			}
			i--
			continue
		}
		if i > first && seg.Base() > end && !opts.mayMiss(end) {
			if err := l.cut(i, end, opts, holeAt(seg, end)); err != nil {
				return 0, err
			}
			break
		}
		limits := segment.Limits{Limit: l.limit(i), Durable: opts.RecoveryPoint, Gaps: opts.Compacted}
		limits.Followed = limits.Limit < math.MaxInt64
		r, err := seg.Recover(limits, func(h batch.Batch, damaged bool) {
			if damaged {
				return
			}
			if i == first && first > 0 && l.loaded.lastEpoch < 0 && l.epochs.of(h.BaseOffset()) != h.LeaderEpoch() {
				l.loaded.epochFile = false // it may have missed what is not walked, too
			}
			l.loaded.lastEpoch = h.LeaderEpoch()
			l.epochs.correct(h)
		})
		if err != nil {
			return 0, err
		}
		end = r.Next
		if r.Bad != nil {
			if r.Broken {
				return 0, fmt.Errorf("what stands behind may have been acknowledged, and is not cut off: %w", r.Bad)
			}
			l.report.Bad = r.Bad
			if !r.Surplus {
				if err := l.cut(i+1, r.Proven, opts, r.Bad); err != nil {
					return 0, err
				}
			}
			l.report.Cut += r.Size - r.Valid
		}
		if err := seg.Adopt(r, now.UnixMilli()); err != nil {
			return 0, err
		}
		l.report.Damaged += len(r.Damage)
		l.report.Segments++
		l.written.Add(r.Valid)
		if seg.Acquire() {
			l.dirty.sealed = append(l.dirty.sealed, seg) // the walk saw the page cache, not the disk
		}
	}
	l.active().Resume()
	return end, nil
}

// mayMiss reports whether compaction may have left nothing at offset. It makes no holes here (see doc.go), but Kafka's does, in what it has cleaned,
// which was synced before; what is missing behind that was lost.
func (o *OpenOptions) mayMiss(offset batch.Offset) bool {
	return o.Compacted && offset < max(o.RecoveryPoint, o.Cleaned)
}

// dropOne removes segment i alone.
func (l *Log) dropOne(i int) error {
	segs := *l.segs.Load()
	kept := slices.Concat(segs[:i], segs[i+1:])
	l.segs.Store(&kept)
	return l.dropNewest(segs[i : i+1])
}

// limit is the offset that no batch of segment i reaches: where the next one begins that is not an empty leftover.
func (l *Log) limit(i int) batch.Offset {
	for _, s := range (*l.segs.Load())[i+1:] {
		if s.Size() > 0 {
			return s.Base()
		}
	}
	return math.MaxInt64
}

func holeAt(seg *segment.Segment, end batch.Offset) *segment.CorruptError {
	return &segment.CorruptError{
		File: seg.Name(segment.Log), Position: 0,
		Expected: fmt.Sprintf("offset %d, where the segment before ends", end), Found: fmt.Sprint(seg.Base()),
	}
}

// cut removes the segments from i on, all past the recovery point, because of what was found bad at offset end.
func (l *Log) cut(i int, end batch.Offset, opts OpenOptions, bad *segment.CorruptError) error {
	if end < opts.RecoveryPoint && opts.StartOffset < opts.RecoveryPoint { // what is below the start is not missed
		return fmt.Errorf("offset %d is below the recovery point %d: %w", end, opts.RecoveryPoint, bad)
	}
	l.report.Bad = bad
	l.report.Cut += sizeOf((*l.segs.Load())[i:])
	return l.keep(i)
}
