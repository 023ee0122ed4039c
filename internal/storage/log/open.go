package log

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
	Damaged  int                   // batches that cannot be read; see Damage
	Missing  int64                 // offsets from the log's end to the recovery point: a stale checkpoint, or a lost tail
}

// loaded is what Open learns on its way.
type loaded struct {
	epochFile bool        // the directory has one, and it can be believed
	lastEpoch batch.Epoch // of the last batch, or NoEpoch if it was not read
}

// Recovery says what Open found and did.
func (l *Log) Recovery() Recovery { return l.report }

// Open opens the log in dir, creating it when it is not there, and recovers it as opts say. If the batches that may have been
// acknowledged cannot be followed to their end, the error is batch.ErrCorrupt, and nothing is changed. A batch that is damaged while
// those behind it can be reached stays where it is; reads of it are batch.ErrCorrupt.
func Open(fsys vfs.FS, dir string, now time.Time, opts OpenOptions) (*Log, error) {
	l := &Log{fs: fsys, dir: dir, onRoll: opts.OnRoll, onRewrite: opts.OnRewrite, opened: now}
	l.loaded.lastEpoch = batch.NoEpoch
	l.opts.Store(&opts.Options)
	l.dirty.dir, l.dirty.parent = !opts.Clean, !opts.Clean // who made them may not have synced them
	if err := l.open(now, opts); err != nil {
		if segs := l.segs.Load(); segs != nil {
			for _, s := range append(l.dirty.sealed, *segs...) {
				err = errors.Join(err, s.Release())
			}
		}
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	return l, nil
}

func (l *Log) open(now time.Time, opts OpenOptions) error {
	if opts.Absent {
		l.absent.Store(true)
		l.dirty.dir, l.dirty.parent = false, false
		segs := []*segment.Segment{segment.New(l.fs, l.dir, opts.StartOffset, opts.IndexInterval, now.UnixMilli())}
		l.segs.Store(&segs)
		l.finish(segs, opts.StartOffset, opts)
		return nil
	}
	files, err := l.sweep()
	if errors.Is(err, fs.ErrNotExist) {
		err = l.fs.MkdirAll(l.dir)
		l.dirty.dir, l.dirty.parent = true, true
	}
	if err != nil {
		return err
	}
	first := l.adopt(files, opts)
	l.loaded.epochFile = l.loaded.epochFile && l.loadEpochs()
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
	l.report.Missing = max(int64(opts.RecoveryPoint-end), 0)
	l.finish(segs, end, opts)
	return l.repairEpochs(end)
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
		if _, found := slices.BinarySearchFunc(logs, f.base, byBase); !found {
			_ = l.fs.Remove(f.name) // an index without its log; if it stays it is harmless
		}
	}
	first := len(logs) - 1
	if !opts.Clean {
		first = sort.Search(len(logs), func(i int) bool { return logs[i].base > opts.RecoveryPoint }) - 1
		first = max(first, 0)
	}
	below := 0 // segments that DeleteRecords removed, and a power cut brought back
	for below+1 < len(logs) && logs[below+1].base <= opts.StartOffset {
		below++
	}
	for _, f := range logs[:below] {
		_ = l.fs.Remove(f.name)
	}
	logs, first = logs[below:], max(first-below, 0)
	segs := make([]*segment.Segment, len(logs))
	for i, f := range logs {
		// The segment before the recovery point's may have been sealed after the last sync of its side files.
		trusted := opts.Clean || i < first && (i < first-1 || logs[first].base < opts.RecoveryPoint)
		segs[i] = segment.Open(l.fs, l.dir, f.base, opts.IndexInterval, f.size, trusted)
	}
	l.segs.Store(&segs)
	return first
}

func byBase(f listed, base batch.Offset) int { return cmp.Compare(f.base, base) }

// load readies the segments from first on and returns the log's end. After a clean stop only the last one's tail is read.
func (l *Log) load(now time.Time, first int, opts OpenOptions) (batch.Offset, error) {
	if opts.Clean {
		if err := l.dropStray(); err != nil {
			return 0, err
		}
		last, ok, err := l.active().Activate(now.UnixMilli())
		if err == nil && !ok {
			return l.active().Base(), nil
		}
		if !errors.Is(err, batch.ErrCorrupt) {
			l.loaded.lastEpoch = last.Epoch
			return last.Next, err
		}
		l.dirty.dir = true // the marker was wrong: believe the recovery point alone
	}
	segs := *l.segs.Load()
	if first > 0 && segs[first].Base() == opts.RecoveryPoint {
		// The segment before was sealed at the recovery point, perhaps after that sync.
		before := segs[first-1]
		switch err := before.CheckTail(); {
		case errors.Is(err, batch.ErrCorrupt):
			first--
		case err != nil:
			return 0, err
		case before.Acquire():
			l.dirty.sealed = append(l.dirty.sealed, before)
		}
	}
	return l.recover(now, first, opts)
}

// dropStray removes an empty last segment that begins before the end of the one before it: a roll that failed left it.
func (l *Log) dropStray() error {
	segs := *l.segs.Load()
	n := len(segs)
	if n < 2 || segs[n-1].Size() > 0 {
		return nil
	}
	last, ok, err := segs[n-2].Last()
	if err != nil || !ok || last.Next <= segs[n-1].Base() {
		return err
	}
	return l.dropOne(n - 1)
}

// keep removes all segments but the first n, durably, or one of them might come back behind what is appended next.
func (l *Log) keep(n int) error {
	segs := *l.segs.Load()
	kept := segs[:n:n]
	l.segs.Store(&kept)
	return l.dropNewest(segs[n:])
}

// restart replaces all segments by an empty one at start.
func (l *Log) restart(now time.Time, start batch.Offset) ([]*segment.Segment, error) {
	old := *l.segs.Load()
	l.segs.Store(new([]*segment.Segment))
	for _, s := range slices.Backward(old) {
		if err := l.drop(s); err != nil {
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

// finish publishes what was loaded.
func (l *Log) finish(segs []*segment.Segment, end batch.Offset, opts OpenOptions) {
	active := segs[len(segs)-1]
	for _, s := range segs {
		l.bytes.Add(s.Size())
	}
	l.dirty.active = active
	l.start.Store(int64(max(opts.StartOffset, segs[0].Base())))
	if opts.Cleaned <= end { // else the log was cut below it, and what is appended there is not compacted
		l.cleaned.Store(int64(opts.Cleaned))
	}
	l.head.store(active, end, active.Size())
	l.covered.segment = active
	point := l.start.Load()
	if l.written.Load() == 0 { // nothing was walked
		l.covered.pos, point = active.Size(), int64(end)
	}
	l.point.Store(point)
}
