package log

import (
	"errors"
	"fmt"
	"path"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// passWriter writes batches to a cleaned segment in large writes.
type passWriter struct {
	pass     *pass
	seg      *segment.Segment
	buf      []byte
	group    []batch.Batch
	interval int
}

// create makes the cleaned segment at base.
func (p *pass) create(base batch.Offset) (*passWriter, error) {
	l := p.log
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	interval := l.opts.Load().IndexInterval
	s, err := segment.CreateCleaned(l.fs, l.dir, base, interval, p.now.UnixMilli())
	if err != nil {
		l.leftovers = append(l.leftovers, base)
		return nil, p.refused(fmt.Errorf("compact: %w", err))
	}
	return &passWriter{pass: p, seg: s, interval: interval}, nil
}

// refused is err as the pass's end: want of room is no reason to give the log up, any other failed write is.
func (p *pass) refused(err error) error {
	return p.log.refuse(err)
}

// add takes b, copying it.
func (w *passWriter) add(b batch.Batch) error {
	if len(w.buf) > 0 && len(w.buf)+len(b) > w.pass.cleaner.Buffer {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, b...)
	return nil
}

func (w *passWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if err := w.pass.pace(len(w.buf)); err != nil {
		return err
	}
	pos, n := w.seg.Size(), int64(len(w.buf))
	if err := w.seg.Write([][]byte{w.buf}); err != nil {
		return w.pass.refused(fmt.Errorf("compact: %w", err))
	}
	w.group = w.group[:0]
	for rest := w.buf; len(rest) > 0; {
		b, after, err := batch.Next(rest)
		if err != nil {
			return fmt.Errorf("compact %s: a batch just made: %w", w.seg.Name(segment.Log), err)
		}
		w.group, rest = append(w.group, b), after
	}
	w.seg.Publish(n)
	w.seg.Index(w.group, pos, w.interval)
	w.pass.done.Written += n
	w.buf = w.buf[:0]
	return nil
}

// finish completes the segment and makes it durable, but not its names.
func (w *passWriter) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.pass.pace(0); err != nil {
		return err
	}
	if err := errors.Join(w.seg.Seal(), w.seg.Sync(true)); err != nil {
		return w.pass.refused(fmt.Errorf("compact: %w", err))
	}
	return nil
}

// discard gives the cleaned segment up. Once the log is closed its directory may be another's, whose opening removes such files.
func (w *passWriter) discard() {
	l := w.pass.log
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if l.usable() == nil && w.seg.Retire() != nil {
		l.leftovers = append(l.leftovers, w.seg.Base())
	}
	_ = w.seg.Release()
}

// clearLeftovers removes the cleaned files that failed passes have left, but for those of base, which are in use. None may stand beside
// the swap of a later segment: after a crash that would count as half a split, and go, though what it replaces is gone (see sweep).
// The caller syncs the directory.
func (l *Log) clearLeftovers(base batch.Offset) error {
	for _, left := range l.leftovers {
		for _, kind := range segment.Kinds() {
			if left == base {
				break
			}
			if err := l.remove(path.Join(l.dir, segment.Name(left, kind, segment.Cleaned))); err != nil {
				return err
			}
		}
	}
	l.leftovers = nil
	return nil
}
