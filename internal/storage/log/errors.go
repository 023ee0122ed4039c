package log

import (
	"errors"
	"fmt"

	"github.com/ottla-io/ottla/internal/storage/segment"
)

// The marks of a log's errors.
var (
	// ErrOffsetOutOfRange says that an offset is below the log's start or above its end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrNoSpace: an append found no room (ENOSPC, EDQUOT, EFBIG) and was cut back. The log may be used as before.
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

// usable is nil, or why the log may not be changed any more.
func (l *Log) usable() error {
	if f := l.failure.Load(); f != nil {
		return f.err
	}
	return nil
}
