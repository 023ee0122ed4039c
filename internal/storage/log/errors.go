package log

import (
	"errors"
	"fmt"

	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// The marks of a log's errors.
var (
	// ErrOffsetOutOfRange says that an offset is below the log's start or above its end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrNoSpace: a change found no room (ENOSPC, EDQUOT, EFBIG), no descriptor (EMFILE, ENFILE) or no memory (ENOMEM) and left
	// nothing behind. The log may be used as before.
	ErrNoSpace = segment.ErrNoSpace
	// ErrFailed: an I/O error that is final for the log and its directory. Every later append, sync and change gives the
	// same error; reads of what was published go on.
	ErrFailed = errors.New("log failed")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("log closed")
)

type failure struct{ err error }

// fail makes err final.
func (l *Log) fail(err error) error {
	if err == nil {
		return nil
	}
	l.failure.CompareAndSwap(nil, &failure{fmt.Errorf("%w: %w", ErrFailed, err)})
	return l.failure.Load().err
}

// refuse is err as the end of a change that left the log as it was: a shortage is no reason to give the log up, all else is.
func (l *Log) refuse(err error) error {
	if vfs.IsShortage(err) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return l.fail(err)
}

// refuseSync is refuse for a sync, which is final unless it did not begin.
func (l *Log) refuseSync(err error) error {
	if vfs.IsUnopened(err) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return l.fail(err)
}

// usable is nil, or why the log may not be changed any more.
func (l *Log) usable() error {
	if f := l.failure.Load(); f != nil {
		return f.err
	}
	return nil
}
