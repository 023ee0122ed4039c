package log

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// Truncate cuts the log to end at offset to, or at the start of the batch that holds to if that begins below: End tells.
// Positions are never used twice, since a socket may still hold pages of what was cut: the segment that is
// cut is sealed and the log goes on in a new file. The cut is durable when it returns (what is kept is not more than it was), or
// batches that were cut could come back behind others; so it syncs under the partition's lock, which only followers do.
// The caller checkpoints a recovery point of at most End before it appends again: else a torn tail below the old one
// is taken for damage.
func (l *Log) Truncate(to batch.Offset) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if to >= l.End() {
		return nil
	}
	if err := l.barrierLocked(); err != nil {
		return err
	}
	segs := *l.segs.Load()
	i := l.window().find(to)
	if to <= segs[0].Base() {
		return l.fail(l.replaceAll(to))
	}
	found, ok, err := segs[i].Locate(to, segs[i].Size())
	if err != nil {
		return l.fail(err)
	}
	end, pos := to, segs[i].Size()
	if ok {
		end, pos = min(to, found.Base), found.Pos
	}
	keep := i + 1
	if pos == 0 {
		keep = i
	}
	if keep == 0 {
		return l.fail(l.replaceAll(end))
	}
	return l.fail(l.cutTo(keep, end, pos))
}

// cutTo keeps the first segments, cuts the last of them at pos if it is the one that holds end, and starts a new one there.
func (l *Log) cutTo(keep int, end batch.Offset, pos int64) error {
	segs := *l.segs.Load()
	last := segs[keep-1]
	if pos == 0 {
		pos = last.Size()
	}
	cut := last.Size() - pos
	l.point.Store(min(l.point.Load(), int64(end)))
	kept := slices.Clone(segs[:keep])
	l.segs.Store(&kept)
	l.head.store(last, end, pos)
	l.hints.clear()
	l.bytes.Add(-sizeOf(segs[keep:]))
	if err := l.dropNewest(segs[keep:]); err != nil {
		return err
	}
	if cut > 0 || keep == len(segs) {
		if err := last.Cut(pos); err != nil {
			return err
		}
		l.bytes.Add(-cut)
	}
	l.start.Store(min(l.start.Load(), int64(end)))
	l.cleaned.Store(min(l.cleaned.Load(), int64(end))) // or what is appended now would count as compacted (KAFKA-3330)
	l.epochs.truncateEnd(end)
	return l.startAfter(kept, end)
}

// replaceAll empties the log and starts it at at.
func (l *Log) replaceAll(at batch.Offset) error {
	segs := *l.segs.Load()
	l.point.Store(min(l.point.Load(), int64(at)))
	l.hints.clear()
	l.bytes.Add(-sizeOf(segs))
	if err := l.dropNewest(segs); err != nil {
		return err
	}
	l.epochs.set(nil)
	l.start.Store(int64(at))
	l.cleaned.Store(min(l.cleaned.Load(), int64(at)))
	return l.startAfter(nil, at)
}

// dropNewest removes segments, the newest first and each durably, so that a crash leaves no hole.
func (l *Log) dropNewest(segs []*segment.Segment) error {
	for _, s := range slices.Backward(segs) {
		if err := l.drop(s); err != nil {
			return err
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", l.dir, err)
		}
	}
	return nil
}

// startAfter makes a new active segment at end behind kept, and makes the epochs durable.
func (l *Log) startAfter(kept []*segment.Segment, end batch.Offset) error {
	fresh, err := l.create(l.opened, end)
	if err != nil {
		return err
	}
	l.dirty.Lock()
	l.dirty.active = fresh
	l.dirty.dir = true
	l.dirty.Unlock()
	segs := append(slices.Clip(kept), fresh)
	l.segs.Store(&segs)
	l.head.store(fresh, end, 0)
	if _, err := l.epochs.flush(l.fs, l.dir); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", l.dir, err)
	}
	return nil
}

func sizeOf(segs []*segment.Segment) (bytes int64) {
	for _, s := range segs {
		bytes += s.Size()
	}
	return bytes
}

// drop takes a segment, already out of the list, from the directory. Its files are freed when the last reader is done.
func (l *Log) drop(s *segment.Segment) error {
	var err error
	if l.forget(s) {
		err = s.Release()
	}
	return errors.Join(err, s.Retire(), s.Release())
}

// forget takes a segment that goes out of what is dirty, and says whether it was there and must be released for that.
func (l *Log) forget(s *segment.Segment) bool {
	l.dirty.Lock()
	defer l.dirty.Unlock()
	l.dirty.dir = true
	i := slices.Index(l.dirty.sealed, s)
	if i >= 0 {
		l.dirty.sealed = slices.Delete(l.dirty.sealed, i, i+1)
	}
	return i >= 0
}

// TruncateAll empties the log and starts it at offset at.
func (l *Log) TruncateAll(at batch.Offset) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.Create(); err != nil {
		return err
	}
	if err := l.barrierLocked(); err != nil {
		return err
	}
	return l.fail(l.replaceAll(at))
}
