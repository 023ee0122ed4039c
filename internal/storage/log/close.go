package log

import (
	"errors"
	"fmt"
)

// untouched reports whether nothing was changed since a clean opening, or there is nothing, so that a clean close has nothing to do.
func (l *Log) untouched() bool {
	l.dirty.Lock()
	defer l.dirty.Unlock()
	return l.absent.Load() || l.written.Load() == 0 && !l.dirty.dir && !l.dirty.parent && len(l.dirty.sealed) == 0 && !l.epochs.behind()
}

// Close closes all files; with clean it first trims indexes, adds the last time-index entry and syncs. Ranges that are
// still held keep their segments' files open.
func (l *Log) Close(clean bool) error {
	var err error
	switch {
	case clean && l.begun():
		err = fmt.Errorf("%s was not made whole, for want of room: the next opening must not trust its names", l.dir)
	case clean && l.usable() == nil && !l.untouched():
		l.dirty.Lock()
		active := l.active()
		if err = active.Seal(); err == nil && active.Acquire() {
			l.dirty.sealed = append(l.dirty.sealed, active)
		}
		l.dirty.dir = true
		l.dirty.Unlock()
		if err == nil {
			_, err = l.Sync()
		}
	}
	l.syncing.Lock() // a Sync under way ends first
	defer l.syncing.Unlock()
	l.replacing.Lock() // so does a swap; a compaction touches no name of the directory after this
	defer l.replacing.Unlock()
	if !l.failure.CompareAndSwap(nil, &failure{ErrClosed}) && errors.Is(l.failure.Load().err, ErrClosed) {
		return err
	}
	l.dirty.Lock()
	held := l.dirty.sealed
	l.dirty.sealed = nil
	l.dirty.Unlock()
	for _, s := range append(held, *l.segs.Load()...) {
		err = errors.Join(err, s.Release())
	}
	return err
}
