package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// errStop ends a scan early.
var errStop = errors.New("stop")

// castagnoli is the polynomial of a batch's CRC.
var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a table that never changes

const (
	crcStart     = 21      // the CRC covers a batch from its attributes on
	recoverChunk = 1 << 18 // bytes of one read in recovery
)

// Activate readies a reopened segment for appends, trusting that its log is whole, and returns its last batch; ok is false
// if it is empty. It reads the index's last entry and the headers behind it. An error that is batch.ErrCorrupt asks for
// Recover.
func (s *Segment) Activate(now int64) (last Found, ok bool, err error) {
	s.sealed.Store(false)
	s.writer.created = now
	return s.Last()
}

// Resume makes a recovered segment the one that is appended to.
func (s *Segment) Resume() { s.sealed.Store(false) }

// CheckTail reads a sealed segment's last batches by its offset index, which then counts as trusted. A power cut soon
// after the segment was sealed may have left preallocated zeros behind them: that is batch.ErrCorrupt.
func (s *Segment) CheckTail() error {
	s.index.untrusted.Store(false)
	_, _, err := s.Last()
	return err
}

// Last is the segment's last batch; ok is false if it is empty. A short log is walked without its index.
func (s *Segment) Last() (last Found, ok bool, err error) {
	start := int64(0)
	if s.Size() > windowSize {
		if start, err = s.lastIndexed(); err != nil {
			return last, false, err
		}
	}
	err = s.Scan(start, s.Size(), func(h batch.Batch, pos int64, size int) error {
		last, ok = foundOf(h, pos, size), true
		return nil
	})
	return last, ok, err
}

// lastIndexed is the position of the last index entry, 0 if there is none.
func (s *Segment) lastIndexed() (int64, error) {
	v, err := s.view(&s.index)
	if err != nil || v.len() == 0 {
		return 0, err
	}
	e, err := v.entry(v.len() - 1)
	return indexPosition(e[:]), err
}

// Recovered is what a recovery walk found.
type Recovered struct {
	Next  batch.Offset  // after the last batch
	Valid int64         // bytes of batches that may stay
	Size  int64         // bytes of the file
	Bad   *CorruptError // what stands at Valid, if anything does
	// Broken says that Bad is not the torn end of the log: batches that may have been acknowledged stand there or behind.
	Broken bool
	// Surplus says that Bad stands behind the whole log of the segment: its batches reach the next segment's base.
	Surplus bool
	// Damage lists the batches below Valid that cannot be read.
	Damage []Damage
	// Proven is Next, but for a last batch that leaves a gap before it: no CRC covers its offset, and the next one not following on it
	// may be the sign that it is wrong.
	Proven batch.Offset
}

// Recover walks the whole log, checking every batch's CRC and that offsets rise from base on and stay below the limit, and
// calls fn with each header; damaged says that it is of a batch that cannot be read. It changes nothing. The walk goes on behind a
// damaged batch whose header leads to the next one, and ends at the first byte that is no batch's.
func (s *Segment) Recover(l Limits, fn func(header batch.Batch, damaged bool)) (r Recovered, err error) {
	file, err := s.File()
	if err != nil {
		return r, err
	}
	if r.Size, err = file.Size(); err != nil {
		return r, fmt.Errorf("size of %s: %w", s.Name(Log), err)
	}
	r.Next, r.Proven = s.base, s.base
	w := walk{file: file, end: r.Size, buf: make([]byte, min(recoverChunk, r.Size))}
	b := newBuilder(s)
	for w.pos < w.end {
		header, size, wrong := w.batch(r.Next, l.limit(s))
		if w.failed != nil {
			return r, fmt.Errorf("recover %s at position %d: %w", s.Name(Log), w.pos, w.failed)
		}
		if wrong == nil && !l.Gaps && r.Next < l.Durable && header.BaseOffset() >= l.Durable {
			header, wrong = nil, fmt.Errorf("base offset %d, though batches up to %d were synced", header.BaseOffset(), l.Durable)
		}
		if wrong != nil {
			found, err := s.judge(&w, header, size, r.Proven, l, wrong)
			if err != nil {
				return r, err
			}
			if found == damaged && len(r.Damage) == damageMax {
				found, wrong = broken, fmt.Errorf("the %dth damaged batch: %w", damageMax+1, wrong)
			}
			if found != damaged {
				r.Bad, r.Broken = &CorruptError{s.Name(Log), w.pos, "a whole record batch", wrong.Error()}, found == broken
				r.Surplus = found == surplus
				break
			}
			r.Damage = append(r.Damage, damageOf(header, w.pos, int(size), wrong))
		}
		b.add(header, w.pos, wrong != nil)
		fn(header, wrong != nil)
		if r.Proven = r.Next; header.BaseOffset() == r.Next {
			r.Proven = header.NextOffset()
		}
		r.Next = header.NextOffset()
		w.pos += size
	}
	r.Valid = w.pos
	s.recovered = b
	return r, nil
}

// Adopt takes over what Recover found: the log is cut to its whole batches and the side files are those of the walk. The
// caller syncs.
func (s *Segment) Adopt(r Recovered, now int64) error {
	if r.Valid < r.Size {
		file, err := s.File()
		if err != nil {
			return err
		}
		if err := file.Truncate(r.Valid); err != nil {
			return fmt.Errorf("cut %s to %d bytes: %w", s.Name(Log), r.Valid, err)
		}
	}
	b := s.recovered
	s.recovered = nil
	s.size.Store(r.Valid)
	s.damage.Store(&r.Damage)
	for _, f := range []*sideFile{&s.index, &s.times} {
		f.loading.Lock()
		f.tail.Store(s.install(f, b.finish(f.kind)))
		f.untrusted.Store(false)
		f.loading.Unlock()
	}
	s.largest.Lock()
	s.largest.known, s.largest.Timestamp = true, b.max
	s.largest.Unlock()
	s.writer.since, s.writer.lastTime, s.writer.ready = r.Valid-b.indexed, b.lastTime, true
	s.writer.created = now
	return nil
}

// walk reads batches whole, in large reads, and checks them.
type walk struct {
	file   vfs.File
	pos    int64 // of the next batch
	end    int64
	buf    []byte
	from   int64 // position of buf[0]
	have   int
	header [batch.HeaderSize]byte
	failed error // of a read
	led    int64 // up to here the headers are known to lead on
}

// batch judges the batch at pos. With a *crcError the header and the size are those of a batch that is wrong in nothing else.
func (w *walk) batch(next, limit batch.Offset) (batch.Batch, int64, error) {
	if w.end-w.pos < batch.HeaderSize {
		return nil, 0, fmt.Errorf("%d bytes, too few for a header", w.end-w.pos)
	}
	if !w.copy(w.header[:], w.pos) {
		return nil, 0, w.failed
	}
	header, size, err := parseHeader(w.header[:], w.end-w.pos)
	if err != nil {
		return nil, 0, err
	}
	if header.BaseOffset() < next {
		return nil, 0, fmt.Errorf("base offset %d below %d", header.BaseOffset(), next)
	}
	if header.LastOffset() >= limit {
		return nil, 0, fmt.Errorf("last offset %d, not below %d", header.LastOffset(), limit)
	}
	crc := crc32.Update(0, castagnoli, w.header[crcStart:])
	for at, end := w.pos+batch.HeaderSize, w.pos+int64(size); at < end; {
		chunk := w.bytes(at)
		if chunk == nil {
			return nil, 0, w.failed
		}
		chunk = chunk[:min(int64(len(chunk)), end-at)]
		crc = crc32.Update(crc, castagnoli, chunk)
		at += int64(len(chunk))
	}
	if crc != header.CRC() {
		return header, int64(size), &crcError{crc, header.CRC()}
	}
	return header, int64(size), nil
}

// copy fills dst from position at.
func (w *walk) copy(dst []byte, at int64) bool {
	for len(dst) > 0 {
		chunk := w.bytes(at)
		if chunk == nil {
			return false
		}
		n := copy(dst, chunk)
		dst, at = dst[n:], at+int64(n)
	}
	return true
}

// bytes is what the buffer holds from position at on, one byte at least, or nil with failed set.
func (w *walk) bytes(at int64) []byte {
	if off := at - w.from; off < 0 || off >= int64(w.have) {
		fill := int(min(int64(len(w.buf)), w.end-at))
		n, err := w.file.ReadAt(w.buf[:fill], at)
		if n < fill {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			w.failed = err
			return nil
		}
		w.from, w.have = at, fill
	}
	return w.buf[at-w.from : w.have]
}

// Cut truncates a sealed or active segment to size bytes, durably, and seals it. The bytes stay unused afterwards: the log
// goes on in a new segment. The side files are built anew, so that other tools find them.
func (s *Segment) Cut(size int64) error {
	file, err := s.File()
	if err != nil {
		return err
	}
	s.size.Store(size)
	s.forgetDamage(size)
	if err := file.Truncate(size); err != nil {
		return fmt.Errorf("cut %s to %d bytes: %w", s.Name(Log), size, err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.Name(Log), err)
	}
	s.sealed.Store(true)
	s.largest.Lock()
	s.largest.known = false
	s.largest.Unlock()
	for _, f := range []*sideFile{&s.index, &s.times} {
		s.discardSide(f)
		_, _ = s.view(f) // builds it; if that fails, its next use tries again
	}
	return nil
}
