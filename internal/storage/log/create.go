package log

import "fmt"

// Absent reports whether the log has no directory yet, or only part of what Create makes. Such a log is empty: it is read without
// the disk, and has nothing to sync.
func (l *Log) Absent() bool { return l.absent.Load() }

// CreateDir makes the directory of an absent log, for files of the caller's that must be there before the first segment is.
func (l *Log) CreateDir() error {
	if err := l.usable(); err != nil {
		return err
	}
	l.dirty.Lock()
	l.dirty.dir, l.dirty.parent = true, true
	l.dirty.Unlock()
	if err := l.fs.MkdirAll(l.dir); err != nil {
		return l.refuse(fmt.Errorf("create log %s: %w", l.dir, err))
	}
	return nil
}

// Create makes the directory and first segment of a log that was opened as absent; the next Sync makes their names durable. It may run
// beside all methods but Append, TruncateAll, Close and itself. With ErrNoSpace it may be tried again: what was made stays, and is used then.
func (l *Log) Create() error {
	if !l.absent.Load() {
		return nil
	}
	if err := l.CreateDir(); err != nil {
		return err
	}
	active, opts := l.active(), l.opts.Load()
	if err := active.Make(); err != nil {
		return l.refuse(err)
	}
	if opts.Preallocate {
		active.Preallocate(opts.SegmentBytes)
	}
	l.absent.Store(false)
	return nil
}

// begun reports whether Create has failed on its way: some names may be there, and are not durable.
func (l *Log) begun() bool {
	l.dirty.Lock()
	defer l.dirty.Unlock()
	return l.absent.Load() && l.dirty.dir
}
