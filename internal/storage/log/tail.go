package log

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// Tail is the published bytes of the active segment that are not durable yet, for a journal to make them so. It is held from
// TakeTail to Done; no Sync, no truncation and no closing runs meanwhile. Appends, rolls and retention go on.
type Tail struct {
	Base batch.Offset // of the segment
	Pos  int64        // where the bytes begin in its log
	Len  int64
	End  batch.Offset // everything below is durable once the bytes are

	log     *Log
	segment *segment.Segment
}

// place is how far a segment's bytes are durable: in its file, or in the file and a journal. Those before it in the log are
// so in their files.
type place struct {
	segment *segment.Segment
	pos     int64
}

// TakeTail takes what a journal may make durable. It is false if that would not do or must wait, and Sync is to be called
// instead: when another sync is under way, when more than bytes of the active segment is not durable (a sealed segment, the name of a new
// file), or when the log has failed.
func (l *Log) TakeTail() (t Tail, ok bool) {
	if !l.syncing.TryLock() {
		return t, false
	}
	defer func() {
		if !ok {
			l.syncing.Unlock()
		}
	}()
	if l.usable() != nil || l.epochs.behind() {
		return t, false
	}
	l.dirty.Lock()
	plain := len(l.dirty.sealed) == 0 && !l.dirty.dir && !l.dirty.parent
	active := l.dirty.active
	l.dirty.Unlock()
	head, end, size := l.head.load()
	if !plain || head != active || l.covered.segment != active || !active.Acquire() {
		return t, false
	}
	pos := l.covered.pos
	return Tail{Base: active.Base(), Pos: pos, Len: size - pos, End: end, log: l, segment: active}, true
}

// Read fills dst, of Len bytes, with the tail.
func (t Tail) Read(dst []byte) error {
	file, err := t.segment.File()
	if err != nil {
		return err
	}
	n, err := file.ReadAt(dst, t.Pos)
	if n == len(dst) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read the tail of %s: %w", t.segment.Name(segment.Log), err)
}

// Done gives the tail back; durable says that a journal holds it now.
func (t Tail) Done(durable bool) {
	if durable {
		t.log.covered.pos = t.Pos + t.Len
		t.log.durable.Add(t.Len)
	}
	t.log.syncing.Unlock()
	_ = t.segment.Release() // of a file that was only read
}

// Pending is the number of published bytes that are durable nowhere; it may be behind by what is being made so.
func (l *Log) Pending() int64 { return max(l.written.Load()-l.durable.Load(), 0) }

// barrierLocked comes before published bytes are cut or replaced: it makes everything durable in the log's own files, and then has
// whatever else holds those bytes (a journal) forget them, lest they come back after a crash. l.syncing is held.
func (l *Log) barrierLocked() error {
	if l.onRewrite == nil {
		return nil
	}
	if _, err := l.syncLocked(); err != nil {
		return err
	}
	if err := l.onRewrite(); err != nil {
		return fmt.Errorf("before bytes of %s are replaced: %w", l.dir, err)
	}
	return nil
}
