package log

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Sync makes everything published before the call durable, the directory too, and returns that end. Appends go on
// meanwhile. Any error but a closed log, and ErrNoSpace (a file could not be opened), is final for the log directory.
func (l *Log) Sync() (batch.Offset, error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	return l.syncLocked()
}

// syncLocked is Sync for those who hold l.syncing.
func (l *Log) syncLocked() (batch.Offset, error) {
	if err := l.usable(); err != nil {
		return 0, err
	}
	if l.absent.Load() {
		return l.End(), nil
	}
	work := l.takeDirty()
	err := work.run(l)
	if vfs.IsUnopened(err) {
		l.giveBack(work)
		work.sealed = nil
	}
	for _, s := range work.sealed {
		err = errors.Join(err, s.Release())
	}
	if work.active != nil {
		err = errors.Join(err, work.active.Release())
	}
	if err != nil {
		return 0, l.refuseSync(err)
	}
	if work.dir {
		l.removals.synced(work.removals)
	}
	l.synced.Store(work.written)
	l.durable.Store(work.written)
	l.point.Store(int64(work.end))
	l.covered = work.covers
	return work.end, nil
}

// work is what one Sync covers.
type work struct {
	end     batch.Offset
	written int64
	covers  place
	active  *segment.Segment // held; nil if it has nothing unsynced
	sealed  []*segment.Segment
	dir     bool
	parent  bool
	// removals is how many segments were removed from the front before it began.
	removals int64
}

// giveBack undoes takeDirty for a sync that did not begin, or not everywhere: what it did sync is synced again.
func (l *Log) giveBack(w work) {
	l.dirty.Lock()
	defer l.dirty.Unlock()
	for _, s := range w.sealed {
		if slices.Contains(l.dirty.sealed, s) {
			_ = s.Release() // of one that has another reference
		} else {
			l.dirty.sealed = append(l.dirty.sealed, s)
		}
	}
	l.dirty.dir = l.dirty.dir || w.dir
	l.dirty.parent = l.dirty.parent || w.parent
}

// takeDirty takes over what is dirty. The end is read before the bytes written, and appends count bytes before they move
// the end, so that the bytes cover the end.
func (l *Log) takeDirty() (w work) {
	l.dirty.Lock()
	defer l.dirty.Unlock()
	head, end, size := l.head.load()
	w.end, w.covers = end, place{l.dirty.active, 0}
	if head == l.dirty.active { // or it was rolled to just now
		w.covers.pos = size
	}
	w.written = l.written.Load()
	w.sealed, l.dirty.sealed = l.dirty.sealed, nil
	w.dir, l.dirty.dir = l.dirty.dir, false
	w.parent, l.dirty.parent = l.dirty.parent, false
	w.removals = l.removals.done.Load()
	if w.written != l.synced.Load() && l.dirty.active.Acquire() {
		w.active = l.dirty.active
	}
	return w
}

// run syncs the segments, older ones first, then what names them.
func (w work) run(l *Log) error {
	for _, s := range w.sealed {
		if s == w.active {
			continue // recovered, and appended to again
		}
		if err := s.Sync(true); err != nil {
			return err
		}
	}
	if w.active != nil {
		if err := w.active.Sync(false); err != nil {
			return err
		}
	}
	renamed, err := l.epochs.flush(l.fs, l.dir)
	if err != nil && !vfs.IsShortage(err) {
		return err // without room the file stays behind, and is made good from the log when it is opened
	}
	if w.dir || renamed {
		if err := l.fs.SyncDir(l.dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", l.dir, err)
		}
	}
	if w.parent {
		if err := l.fs.SyncDir(path.Dir(l.dir)); err != nil {
			return fmt.Errorf("sync directory %s: %w", path.Dir(l.dir), err)
		}
	}
	return nil
}

// DirChanged has the next Sync sync the directory: a file was made in it by another than the log.
func (l *Log) DirChanged() {
	l.dirty.Lock()
	l.dirty.dir = true
	l.dirty.Unlock()
}

// RecoveryPoint is the offset below which everything is synced in the segments' own files, whatever a journal holds beyond it.
func (l *Log) RecoveryPoint() batch.Offset { return batch.Offset(l.point.Load()) }

// Unsynced is the number of published bytes that no Sync has covered.
func (l *Log) Unsynced() int64 { return max(l.written.Load()-l.synced.Load(), 0) }
