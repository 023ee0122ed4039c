package log

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Recovery says what Open found and did.
type Recovery struct {
	Segments int                   // walked
	Cut      int64                 // bytes removed from the end, none of them below the recovery point
	Bad      *segment.CorruptError // what stood where the log was cut
	Missing  int64                 // offsets from the log's end to the recovery point: a stale checkpoint, or a lost tail
}

// Recovery says what Open found and did.
func (l *Log) Recovery() Recovery { return l.report }

// Open opens the log in dir, creating it when it is not there, and recovers it as opts say. Damage below the recovery point
// is batch.ErrCorrupt, and nothing is changed then.
func Open(fsys vfs.FS, dir string, now time.Time, opts OpenOptions) (*Log, error) {
	l := &Log{fs: fsys, dir: dir, onRoll: opts.OnRoll, opened: now}
	l.opts.Store(&opts.Options)
	l.dirty.dir = !opts.Clean
	if err := l.open(now, opts); err != nil {
		if segs := l.segs.Load(); segs != nil {
			for _, s := range *segs {
				err = errors.Join(err, s.Release())
			}
		}
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	return l, nil
}

func (l *Log) open(now time.Time, opts OpenOptions) error {
	files, err := l.sweep()
	if errors.Is(err, fs.ErrNotExist) {
		err = l.fs.MkdirAll(l.dir)
		l.dirty.dir, l.dirty.parent = true, true
	}
	if err != nil {
		return err
	}
	first := l.adopt(files, opts)
	known := l.loadEpochs()
	segs := *l.segs.Load()
	end := opts.StartOffset
	if len(segs) > 0 {
		if end, err = l.load(now, first, opts); err != nil {
			return err
		}
	}
	segs = *l.segs.Load()
	if len(segs) == 0 || opts.StartOffset > end {
		if segs, err = l.restart(now, opts.StartOffset); err != nil {
			return err
		}
		end = opts.StartOffset
	}
	l.finish(segs, end, first, opts)
	return l.repairEpochs(end, known)
}

// adopt makes the segments of the directory listing and returns the index of the first one to recover.
func (l *Log) adopt(files []listed, opts OpenOptions) int {
	var logs []listed // rising, as the listing is
	for _, f := range files {
		if f.kind == segment.Log {
			logs = append(logs, f)
		}
	}
	for _, f := range files {
		if !slices.ContainsFunc(logs, func(log listed) bool { return log.base == f.base }) {
			_ = l.fs.Remove(f.name) // an index without its log; if it stays it is harmless
		}
	}
	first := len(logs) - 1
	if !opts.Clean {
		first = sort.Search(len(logs), func(i int) bool { return logs[i].base > opts.RecoveryPoint }) - 1
		first = max(first, 0)
	}
	segs := make([]*segment.Segment, len(logs))
	for i, f := range logs {
		// The segment before the recovery point's may have been sealed after the last sync of its side files.
		trusted := opts.Clean || i < first && (i < first-1 || logs[first].base < opts.RecoveryPoint)
		segs[i] = segment.Open(l.fs, l.dir, f.base, opts.IndexInterval, f.size, trusted)
	}
	l.segs.Store(&segs)
	return first
}

// load readies the segments from first on and returns the log's end. After a clean stop only the last one's tail is read.
func (l *Log) load(now time.Time, first int, opts OpenOptions) (batch.Offset, error) {
	if opts.Clean {
		segs := *l.segs.Load()
		last := segs[len(segs)-1]
		end, err := last.Activate(now.UnixMilli())
		if !errors.Is(err, batch.ErrCorrupt) {
			return end, err
		}
		l.dirty.dir = true // the marker was wrong: believe the recovery point alone
	}
	return l.recover(now, first, opts)
}

// recover walks the segments from first on, checking every batch, and cuts the log at the first byte that is not a whole
// batch's, if that is not below the recovery point.
func (l *Log) recover(now time.Time, first int, opts OpenOptions) (batch.Offset, error) {
	segs := *l.segs.Load()
	end := segs[first].Base()
	for i := first; i < len(segs); i++ {
		seg, limit := segs[i], batch.Offset(math.MaxInt64)
		if i+1 < len(segs) {
			limit = segs[i+1].Base()
		}
		if hole := seg.Base() > end; hole && i > first && !opts.Compacted {
			if err := l.cut(i, end, opts, holeAt(seg, end)); err != nil {
				return 0, err
			}
			break
		}
		r, err := seg.Recover(limit, l.epochs.correct)
		if err != nil {
			return 0, err
		}
		l.report.Segments++
		end = r.Next
		if r.Bad != nil {
			if err := l.cut(i+1, end, opts, r.Bad); err != nil {
				return 0, err
			}
			l.report.Cut += r.Size - r.Valid
		}
		if err := seg.Adopt(r, now.UnixMilli()); err != nil {
			return 0, err
		}
		l.written.Add(r.Valid)
		if r.Bad != nil {
			break
		}
	}
	l.report.Missing = max(int64(opts.RecoveryPoint-end), 0)
	l.active().Resume()
	return end, nil
}

func holeAt(seg *segment.Segment, end batch.Offset) *segment.CorruptError {
	return &segment.CorruptError{
		File: seg.Name(segment.Log), Position: 0,
		Expected: fmt.Sprintf("offset %d, where the segment before ends", end), Found: fmt.Sprint(seg.Base()),
	}
}

// cut removes the segments from i on, all past the recovery point, because of what was found bad at offset end.
func (l *Log) cut(i int, end batch.Offset, opts OpenOptions, bad *segment.CorruptError) error {
	if end < opts.RecoveryPoint {
		return fmt.Errorf("offset %d is below the recovery point %d: %w", end, opts.RecoveryPoint, bad)
	}
	l.report.Bad = bad
	segs := *l.segs.Load()
	kept := segs[:i]
	l.segs.Store(&kept)
	for j := len(segs) - 1; j >= i; j-- {
		l.report.Cut += segs[j].Size()
		if err := errors.Join(segs[j].Retire(), segs[j].Release()); err != nil {
			return err
		}
	}
	if i < len(segs) {
		return l.fs.SyncDir(l.dir) // or one of them might come back behind what is appended next
	}
	return nil
}

// restart replaces all segments by an empty one at start.
func (l *Log) restart(now time.Time, start batch.Offset) ([]*segment.Segment, error) {
	old := *l.segs.Load()
	l.segs.Store(new([]*segment.Segment))
	for i := len(old) - 1; i >= 0; i-- {
		if err := errors.Join(old[i].Retire(), old[i].Release()); err != nil {
			return nil, err
		}
	}
	fresh, err := l.create(now, start)
	if err != nil {
		return nil, err
	}
	l.dirty.dir = true
	l.written.Store(0)
	segs := []*segment.Segment{fresh}
	l.segs.Store(&segs)
	return segs, nil
}

// finish publishes what was loaded. What was walked is dirty: the walk saw the page cache, not the disk.
func (l *Log) finish(segs []*segment.Segment, end batch.Offset, first int, opts OpenOptions) {
	active := segs[len(segs)-1]
	for i, s := range segs {
		l.bytes.Add(s.Size())
		if !opts.Clean && i >= first && s != active && s.Acquire() {
			l.dirty.sealed = append(l.dirty.sealed, s)
		}
	}
	l.dirty.active = active
	l.start.Store(int64(max(opts.StartOffset, segs[0].Base())))
	l.head.store(active, end, active.Size())
}
