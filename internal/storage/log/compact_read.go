package log

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// passReader reads whole batches in large reads. Its buffer grows to the largest batch, whatever max.message.bytes is now
// (KAFKA-6834, KAFKA-13099), and shrinks for the next segment.
type passReader struct {
	pass *pass
	buf  []byte
}

func (p *pass) reader() *passReader { return &passReader{pass: p} }

// batches yields the batches of s from the one that holds from on, checked. A batch is valid until the next one.
func (r *passReader) batches(s held, from batch.Offset) iter.Seq2[batch.Batch, error] {
	return func(yield func(batch.Batch, error) bool) {
		if err := r.walk(s, from, func(b batch.Batch) bool { return yield(b, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (r *passReader) walk(s held, from batch.Offset, yield func(batch.Batch) bool) error {
	var pos int64
	if from > s.Base() {
		found, ok, err := s.Locate(from, s.size)
		if err != nil || !ok {
			return err
		}
		pos = found.Pos
	}
	file, err := s.File()
	if err != nil {
		return err
	}
	want := max(r.pass.cleaner.Buffer, batch.HeaderSize)
	for pos < s.size {
		chunk, err := r.fill(file, s, pos, min(int64(want), s.size-pos))
		if err != nil {
			return err
		}
		rest := chunk
		for {
			b, after, err := batch.Next(rest)
			if err == nil {
				err = b.CheckCRC()
			}
			if need, short := errors.AsType[*batch.TruncatedError](err); short && int64(need.Need) <= s.size-pos {
				want = max(need.Need, r.pass.cleaner.Buffer)
				break
			}
			if err != nil && len(b) > 0 {
				s.NoteDamage(segment.Damage{Pos: pos, Size: int64(len(b)), Base: b.BaseOffset(), Next: b.NextOffset(), Why: err.Error()})
			}
			if err != nil {
				return &segment.CorruptError{File: s.Name(segment.Log), Position: pos, Expected: "a whole record batch", Found: err.Error()}
			}
			pos += int64(len(b))
			if !yield(b) {
				return nil
			}
			if rest = after; len(rest) == 0 {
				break
			}
		}
	}
	return nil
}

// fill reads n bytes at pos.
func (r *passReader) fill(file vfs.File, s held, pos, n int64) ([]byte, error) {
	if err := r.pass.pace(int(min(n, math.MaxInt))); err != nil {
		return nil, err
	}
	if most := max(r.pass.cleaner.Buffer, int(n)); cap(r.buf) < int(n) || cap(r.buf) > 2*most {
		r.buf = make([]byte, most)
	}
	chunk := r.buf[:n]
	if got, err := file.ReadAt(chunk, pos); got < len(chunk) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read %s at position %d: %w", s.Name(segment.Log), pos, err)
	}
	r.pass.done.Read += n
	return chunk, nil
}

// pace announces a read or write, and ends a pass over a log that is closed.
func (p *pass) pace(bytes int) error {
	if err := p.log.usable(); err != nil {
		return err
	}
	if p.cleaner.Pace == nil {
		return nil
	}
	return p.cleaner.Pace(bytes)
}
