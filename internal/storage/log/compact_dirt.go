package log

import (
	"math"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Dirt says how much of a log compaction has not seen.
type Dirt struct {
	From         batch.Offset  // first dirty offset
	Bound        batch.Offset  // first offset that may not be compacted yet; at least From
	Clean, Dirty int64         // bytes of the segments below From, and of those up to Bound
	Overdue      time.Duration // by which max.compaction.lag.ms is exceeded
}

// Ratio is the dirty part of what may be compacted, from 0 to 1.
func (d Dirt) Ratio() float64 {
	if d.Dirty == 0 {
		return 0
	}
	return float64(d.Dirty) / float64(d.Clean+d.Dirty)
}

// Due reports whether the log should be compacted (Kafka's LogCleanerManager.grabFilthiestCompactedLog).
func (d Dirt) Due(minRatio float64) bool {
	return d.Dirty > 0 && (d.Overdue > 0 || d.Ratio() > minRatio)
}

// Dirt looks at the log's segments (Kafka's LogCleanerManager.cleanableOffsets). What may be compacted ends before the
// active segment, before the one that holds limit, and before the first one with a timestamp within MinLag. Their indexes and
// first batches are read only if the settings have a lag.
func (l *Log) Dirt(now time.Time, limit batch.Offset, settings Compaction) (Dirt, error) {
	w := l.window()
	d := Dirt{From: max(l.Cleaned(), l.Start())}
	if d.From > w.end {
		d.From = l.Start()
	}
	d.Bound = d.From
	for i, s := range w.segs[:len(w.segs)-1] {
		next := w.segs[i+1].Base()
		if next <= d.From {
			d.Clean += s.Size()
			continue
		}
		if next > limit {
			break
		}
		if !s.Acquire() {
			return Dirt{}, ErrChanged
		}
		err := d.add(held{s, next, s.Size()}, now.UnixMilli(), settings)
		_ = s.Release() // see Range.Release
		if err != nil || d.Bound < next {
			return d, err
		}
	}
	return d, nil
}

// add counts a dirty segment, if it is old enough.
func (d *Dirt) add(s held, now int64, settings Compaction) error {
	if settings.MinLag > 0 {
		largest, err := s.Largest()
		if err != nil {
			return err
		}
		if largest.At > now-settings.MinLag.Milliseconds() {
			return nil
		}
	}
	if settings.MaxLag > 0 && settings.MaxLag.Milliseconds() < math.MaxInt64/int64(time.Millisecond) && s.size > 0 {
		first, err := s.At(0, s.size)
		if err != nil {
			return err
		}
		if late := now - settings.MaxLag.Milliseconds() - first.MaxTimestamp; first.MaxTimestamp > 0 && late > 0 {
			d.Overdue = max(d.Overdue, time.Duration(late)*time.Millisecond)
		}
	}
	d.Dirty += s.size
	d.Bound = s.next
	return nil
}
