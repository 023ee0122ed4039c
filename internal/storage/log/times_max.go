package log

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// MaxTimestamp returns the first record with the largest timestamp of those that a consumer can fetch: below limit, not below the
// log's start, in a batch that can be read, and not a control record (KIP-734). ok is false if no such record has a timestamp.
// Kafka 4.4 answers none if the largest timestamp is that of a batch without records, as compaction keeps them for their producer.
// Errors are those of FindTimestamp.
func (l *Log) MaxTimestamp(limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	for {
		w := l.window()
		found, ok, err = w.maxTimestamp(l, min(limit, w.end))
		if !errors.Is(err, errGone) {
			return found, ok, err
		}
	}
}

// errGone says that a segment of a window was deleted or compacted meanwhile.
var errGone = errors.New("segment gone")

// claim is the largest timestamp that the headers in segment i name. No record there has a larger one, but perhaps none has it.
type claim struct {
	i       int
	largest segment.Timestamp
}

func (w window) maxTimestamp(l *Log, limit batch.Offset) (found TimestampOffset, ok bool, err error) {
	start := l.Start()
	claims, err := w.claims(l, start, limit)
	if err != nil {
		return found, false, err
	}
	best := maximum{}
	for _, c := range claims {
		if best.beats(c.largest.At, w.segs[c.i].Base()) {
			break
		}
		if !w.segs[c.i].Acquire() {
			return found, false, cmp.Or(l.gone(w.segs[c.i]), errGone)
		}
		err := w.maxIn(l, c, start, limit, &best)
		if err := errors.Join(err, w.segs[c.i].Release()); err != nil {
			return found, false, err
		}
	}
	return best.TimestampOffset, best.ok, nil
}

// claims are those of the segments with something in [start, limit), the largest first, and of equal ones the oldest.
func (w window) claims(l *Log, start, limit batch.Offset) (claims []claim, err error) {
	for i := w.find(start); i < len(w.segs) && w.segs[i].Base() < limit; i++ {
		if !w.segs[i].Acquire() {
			return nil, cmp.Or(l.gone(w.segs[i]), errGone)
		}
		largest, err := w.segs[i].LargestIn(start, limit)
		if err := errors.Join(err, w.segs[i].Release()); err != nil {
			return nil, err
		}
		if largest.At >= 0 {
			claims = append(claims, claim{i, largest})
		}
	}
	slices.SortStableFunc(claims, func(a, b claim) int { return cmp.Compare(b.largest.At, a.largest.At) })
	return claims, nil
}

// maximum is the first record with the largest timestamp of those that it was offered.
type maximum struct {
	TimestampOffset
	ok bool
}

func (m *maximum) offer(r TimestampOffset) {
	if r.Timestamp >= 0 && !m.beats(r.Timestamp, r.Offset) {
		m.TimestampOffset, m.ok = r, true
	}
}

// beats reports whether no record from offset on with a timestamp of at most ts can take its place.
func (m *maximum) beats(ts int64, offset batch.Offset) bool {
	return m.ok && (m.Timestamp > ts || m.Timestamp == ts && m.Offset <= offset)
}

// maxIn offers best the records of segment c.i in [start, limit). Nearly always the batch with the largest timestamp has it in a
// record, and is all that is read. Otherwise the headers of the whole segment are, and of a sealed segment the result is kept.
func (w window) maxIn(l *Log, c claim, start, limit batch.Offset, best *maximum) error {
	seg := w.segs[c.i]
	if newest, known := seg.Newest(); known && (newest.At < 0 || newest.Offset >= start && newest.Offset < limit) {
		best.offer(TimestampOffset{Offset: newest.Offset, Timestamp: newest.At, Epoch: newest.Epoch})
		return nil
	}
	end, _ := w.bound(c.i, w.end)
	m := maxSearch{log: l, seg: seg, start: start, limit: limit, end: end, best: best}
	b, ok, err := seg.Locate(c.largest.Offset, end)
	if err != nil {
		return err
	}
	if ok {
		// A record of a later segment with the same timestamp is no reason to stop: this one may have an older record.
		if err := m.read(b.Pos, b.Size); err != nil || best.ok && best.Timestamp >= c.largest.At && best.Offset < b.Next {
			return err
		}
	}
	var own maximum // of this segment alone, so that it can be kept
	m.best = &own
	if err := m.scan(); err != nil {
		return err
	}
	if own.ok {
		best.offer(own.TimestampOffset)
	}
	if seg != w.active && start <= seg.Base() && limit >= w.segs[c.i+1].Base() {
		newest := segment.Newest{At: segment.NoTimestamp}
		if own.ok {
			newest = segment.Newest{At: own.Timestamp, Offset: own.Offset, Epoch: own.Epoch}
		}
		seg.KeepNewest(newest, end)
	}
	return nil
}

// maxSearch looks for the largest timestamp in a segment below position end.
type maxSearch struct {
	log          *Log
	seg          *segment.Segment
	start, limit batch.Offset
	end          int64
	best         *maximum
}

// read offers the records of a batch.
func (m *maxSearch) read(pos int64, size int) error {
	return m.log.walkRecords(m.seg, pos, size, func(b batch.Batch, r TimestampOffset) bool {
		if b.IsControl() {
			return false
		}
		if r.Offset >= m.start && r.Offset < m.limit {
			m.best.offer(r)
		}
		return true
	})
}

// candidate is a batch by its header.
type candidate struct {
	at   int64 // its largest timestamp
	pos  int64
	size int
}

// scanTop is how many batches one scan of headers picks to be read.
const scanTop = 8

// scan reads the batches whose headers name the largest timestamps. If that many do not hold what they name, all that name more
// than was found are read: a client may have written as many such headers as it liked, and each costs one read then.
func (m *maxSearch) scan() error {
	var top []candidate
	left := int64(segment.NoTimestamp) // the largest timestamp of the batches that are not in top
	err := m.headers(func(c candidate) error {
		i, _ := slices.BinarySearchFunc(top, c, func(a, b candidate) int {
			if a.at >= b.at { // of equal ones the older goes first
				return -1
			}
			return 1
		})
		if top = slices.Insert(top, i, c); len(top) > scanTop {
			left = max(left, top[scanTop].at)
			top = top[:scanTop]
		}
		return nil
	})
	for _, c := range top {
		if err == nil && (!m.best.ok || m.best.Timestamp <= c.at) {
			err = m.read(c.pos, c.size)
		}
	}
	if err != nil || left < 0 || m.best.ok && m.best.Timestamp > left {
		return err
	}
	if m.best.ok && m.best.Timestamp == left && slices.IndexFunc(top, func(c candidate) bool { return c.at > left }) < 0 {
		return nil // all of top name it, and they are the oldest that do
	}
	return m.headers(func(c candidate) error {
		if m.best.ok && m.best.Timestamp > c.at {
			return nil
		}
		return m.read(c.pos, c.size)
	})
}

// headers gives fn the batches that may have a record to be found.
func (m *maxSearch) headers(fn func(candidate) error) error {
	err := m.seg.Scan(0, m.end, func(h batch.Batch, pos int64, size int) error {
		switch {
		case h.BaseOffset() >= m.limit:
			return errFound
		case h.LastOffset() < m.start || h.Count() == 0 || h.IsControl() || h.MaxTimestamp() < 0:
			return nil
		}
		return fn(candidate{h.MaxTimestamp(), pos, size})
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}
