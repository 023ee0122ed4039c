package log

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// Range is bytes of one segment, held by reference until Release: whole batches from the one that holds the
// offset asked for, the last one perhaps cut by the byte limit (as in Kafka).
type Range struct {
	seg *segment.Segment
	pos int64
	n   int
	// more: the range ends with its segment and the next one holds what was asked for too, or it ends before a damaged batch.
	more bool
}

// Len is the number of bytes.
func (r *Range) Len() int { return r.n }

// Next is the offset after the range's last whole batch; ok is false if it has none, or that cannot be told.
func (r *Range) Next() (next batch.Offset, ok bool) {
	if r.seg == nil {
		return 0, false
	}
	found, ok, err := r.seg.LastBelow(r.pos + int64(r.n))
	return found.Next, err == nil && ok && found.Pos >= r.pos
}

// More reports whether the range ends only because its segment does, or a damaged batch follows: a read from there on has its answer at
// once.
func (r *Range) More() bool { return r.more }

// ReadAt fills dst from byte off of the range on; like io.ReaderAt, it gives io.EOF at the range's end.
func (r *Range) ReadAt(dst []byte, off int64) (int, error) {
	if off < 0 || off >= int64(r.n) {
		return 0, io.EOF
	}
	room := int64(r.n) - off
	short := int64(len(dst)) > room
	if short {
		dst = dst[:room]
	}
	file, err := r.seg.File()
	if err != nil {
		return 0, err
	}
	n, err := file.ReadAt(dst, r.pos+off)
	switch {
	case n < len(dst) && (err == nil || errors.Is(err, io.EOF)):
		err = io.ErrUnexpectedEOF // truncated meanwhile
	case n == len(dst):
		err = nil
	}
	if err != nil {
		return n, fmt.Errorf("read %s at position %d: %w", r.seg.Name(segment.Log), r.pos+off, err)
	}
	if short {
		err = io.EOF
	}
	return n, err
}

// WithFd runs fn with the segment's descriptor and the range's position in it, for sendfile; vfs.ErrNoFd if there is none.
func (r *Range) WithFd(fn func(fd uintptr, pos int64) error) error {
	file, err := r.seg.File()
	if err != nil {
		return err
	}
	return file.WithFd(func(fd uintptr) error { return fn(fd, r.pos) })
}

// Release gives the segment back. The zero Range may be released, and a Range twice.
func (r *Range) Release() {
	if r.seg != nil {
		_ = r.seg.Release() // files that cannot be removed now are removed when the log is opened
	}
	*r = Range{}
}

// window is what one read may see: the segments, and where the log ended at that moment.
type window struct {
	segs   []*segment.Segment
	active *segment.Segment
	end    batch.Offset
	size   int64
}

// window returns a consistent view; a roll or truncation under way makes it look again.
func (l *Log) window() window {
	for {
		segs := *l.segs.Load()
		active, end, size := l.head.load()
		if segs[len(segs)-1] == active {
			return window{segs, active, end, size}
		}
	}
}

// find is the index of the segment that would hold offset.
func (w window) find(offset batch.Offset) int {
	i := sort.Search(len(w.segs), func(i int) bool { return w.segs[i].Base() > offset })
	return max(i-1, 0)
}

// bound is where segment i ends as far as readers below limit are concerned: a position, and whether it is exact. If it
// is not, the batch that holds limit must be looked up.
func (w window) bound(i int, limit batch.Offset) (pos int64, exact bool) {
	seg := w.segs[i]
	if seg == w.active {
		return w.size, limit >= w.end
	}
	return seg.Size(), limit >= w.segs[i+1].Base()
}

// Read finds the batch that holds from and returns at most most bytes from its start, below limit (exclusive; at
// most End). With whole, a first batch larger than most is returned whole (KIP-74). from == limit gives an
// empty range. Offsets outside [Start, End] give ErrOffsetOutOfRange. An offset that compaction removed finds the next batch. The range
// ends before a batch that is known to be damaged; if it would begin with one, the error is batch.ErrCorrupt.
func (l *Log) Read(from, limit batch.Offset, most int, whole bool) (Range, error) {
	for {
		w := l.window()
		if start := l.Start(); from < start || from > w.end {
			return Range{}, fmt.Errorf("%w: %d, the log has [%d, %d)", ErrOffsetOutOfRange, from, start, w.end)
		}
		limit = min(limit, w.end)
		if from >= limit {
			return Range{}, nil
		}
		r, retry, err := l.readIn(w, from, limit, most, whole)
		if !retry {
			return r, err
		}
	}
}

// gone is nil if seg was deleted or compacted meanwhile, so that a new window shows what stands there now. It is in the list still
// when the log was closed, or failed while it was cut: looking again would find the same for ever.
func (l *Log) gone(seg *segment.Segment) error {
	if err := l.usable(); err != nil && contains(*l.segs.Load(), seg) {
		return err
	}
	return nil
}

// readIn reads in a window; retry says that a segment was deleted meanwhile.
func (l *Log) readIn(w window, from, limit batch.Offset, most int, whole bool) (r Range, retry bool, err error) {
	for i := w.find(from); i < len(w.segs) && w.segs[i].Base() < limit; i++ {
		seg := w.segs[i]
		if !seg.Acquire() {
			err := l.gone(seg)
			return Range{}, err == nil, err
		}
		r = Range{seg: seg}
		ok, err := l.readSegment(w, i, &r, from, limit, most, whole)
		if err == nil && ok {
			return r, false, nil
		}
		r.Release()
		if err != nil {
			return Range{}, false, err
		}
	}
	return Range{}, false, nil
}

// readSegment makes r the range of segment i; ok is false if no batch there is both at or above from and below limit.
func (l *Log) readSegment(w window, i int, r *Range, from, limit batch.Offset, most int, whole bool) (ok bool, err error) {
	seg := w.segs[i]
	end, exact := w.bound(i, limit)
	first := 0                               // the first batch's size, when it is known
	pos, hit := int64(0), from <= seg.Base() // the first batch, or the first that compaction left
	if !hit {
		pos, hit = l.hints.get(seg, from)
	}
	if !hit {
		found, ok, err := seg.Locate(from, end)
		if err != nil || !ok {
			return false, err
		}
		pos, first = found.Pos, found.Size
	}
	if !exact {
		if end, err = l.limitIn(seg, limit, end); err != nil {
			return false, err
		}
	}
	if pos >= end {
		return false, nil
	}
	bad, capped := seg.DamageIn(pos, end)
	if capped {
		if bad.Pos <= pos {
			return false, seg.DamageError(bad)
		}
		end = bad.Pos
	}
	r.pos, r.n = pos, int(min(int64(most), end-pos))
	if int64(r.n) == end-pos {
		r.more = capped || i+1 < len(w.segs) && w.segs[i+1].Base() < limit
		if exact && !capped && seg == w.active {
			l.hints.put(seg, limit, end) // the reader goes on here
		}
		return true, nil
	}
	if whole && first == 0 {
		found, err := seg.At(pos, end)
		if err != nil {
			return false, err
		}
		first = found.Size
	}
	if whole && r.n < first {
		r.n = first
	}
	return true, nil
}

// limitIn is the position of the batch that holds limit: what is below it may be read.
func (l *Log) limitIn(seg *segment.Segment, limit batch.Offset, end int64) (int64, error) {
	if pos, hit := l.hints.get(seg, limit); hit {
		return pos, nil
	}
	found, ok, err := seg.Locate(limit, end)
	if err != nil || !ok {
		return end, err
	}
	l.hints.put(seg, limit, found.Pos)
	return found.Pos, nil
}

// Scan calls fn with the header (61 bytes; the records are not read) of each batch from the one that holds from on, until
// fn fails or the log that was there when Scan began has been walked. A header is valid during its call.
func (l *Log) Scan(from batch.Offset, fn func(header batch.Batch) error) error {
	w := l.window()
	for i := w.find(from); i < len(w.segs); i++ {
		seg := w.segs[i]
		if !seg.Acquire() { // deleted or compacted meanwhile: go on where its offsets are now
			if err := l.gone(seg); err != nil {
				return err
			}
			end := w.end
			w = l.window()
			w.end = min(end, w.end)
			i = w.find(max(from, seg.Base())) - 1
			continue
		}
		err := w.scan(i, from, func(h batch.Batch, _ int64, _ int) error {
			if h.BaseOffset() >= w.end {
				return errFound
			}
			from = h.NextOffset()
			return fn(h)
		})
		if err = errors.Join(err, seg.Release()); err != nil {
			return ignore(err, errFound)
		}
	}
	return nil
}

func ignore(err, mark error) error {
	if errors.Is(err, mark) {
		return nil
	}
	return err
}

// scan walks segment i from the batch that holds from on.
func (w window) scan(i int, from batch.Offset, fn func(header batch.Batch, pos int64, size int) error) error {
	end, _ := w.bound(i, w.end)
	found, ok, err := w.segs[i].Locate(from, end)
	if err != nil || !ok {
		return err
	}
	return w.segs[i].Scan(found.Pos, end, fn)
}
