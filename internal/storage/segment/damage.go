package segment

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Damage is a batch that cannot be read, in a log that goes on behind it: its CRC differs, and its header still leads to the next batch.
type Damage struct {
	Pos        int64        // where the batch begins in the log
	Size       int64        // bytes
	Base, Next batch.Offset // the offsets that it held, [Base, Next)
	Why        string       // what was found
}

// Damage lists the batches that are known to be unreadable, by position. The list is shared and must not be written.
func (s *Segment) Damage() []Damage {
	if list := s.damage.Load(); list != nil {
		return *list
	}
	return nil
}

// NoteDamage adds a batch that was found to be unreadable; false if it was known.
func (s *Segment) NoteDamage(d Damage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.Damage()
	i, known := slices.BinarySearchFunc(list, d.Pos, func(d Damage, pos int64) int { return int(min(max(d.Pos-pos, -1), 1)) })
	if known {
		return false
	}
	list = slices.Insert(slices.Clone(list), i, d)
	s.damage.Store(&list)
	return true
}

// DamageIn returns the first unreadable batch that overlaps [pos, end).
func (s *Segment) DamageIn(pos, end int64) (Damage, bool) {
	list := s.Damage()
	i := sort.Search(len(list), func(i int) bool { return list[i].Pos+list[i].Size > pos })
	if i == len(list) || list[i].Pos >= end {
		return Damage{}, false
	}
	return list[i], true
}

// DamageAt reports whether the batch at pos is known to be unreadable.
func (s *Segment) DamageAt(pos int64) bool {
	_, bad := s.DamageIn(pos, pos+1)
	return bad
}

// DamageError is the error of a read that meets d.
func (s *Segment) DamageError(d Damage) error {
	return &CorruptError{s.Name(Log), d.Pos, fmt.Sprintf("a whole record batch of offsets %d to %d", d.Base, d.Next-1), d.Why}
}

// damageOf describes the batch at pos by its header.
func damageOf(header batch.Batch, pos int64, size int, why error) Damage {
	return Damage{Pos: pos, Size: int64(size), Base: header.BaseOffset(), Next: header.NextOffset(), Why: why.Error()}
}

// forgetDamage drops what stands at or behind size, which was cut off.
func (s *Segment) forgetDamage(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := s.Damage(); len(list) > 0 {
		kept := slices.DeleteFunc(slices.Clone(list), func(d Damage) bool { return d.Pos >= size })
		s.damage.Store(&kept)
	}
}

// crcError says that a batch's CRC is not the one in its header.
type crcError struct{ found, header uint32 }

func (e *crcError) Error() string {
	return fmt.Sprintf("CRC %08x, header says %08x", e.found, e.header)
}

// Limits tell a recovery walk what it may rely on.
type Limits struct {
	// Limit is the offset that no batch reaches: where the next segment with a batch begins.
	Limit batch.Offset
	// Followed: there is such a segment.
	Followed bool
	// Durable is the recovery point: all below was synced, and may have been acknowledged.
	Durable batch.Offset
	// Gaps: the log was compacted, so offsets may be missing between batches.
	Gaps bool
}

// verdict is what a walk does about bytes that are no whole batch.
type verdict int8

const (
	// torn: a crash left them, nothing there was acknowledged. The log ends before them.
	torn verdict = iota
	// damaged: the batch is bit rot and the next one follows. The walk goes on behind it.
	damaged
	// broken: batches that may have been acknowledged stand there, or behind, and the walk cannot reach them.
	broken
	// surplus: the segment's batches are whole and the next segment goes on where they end. Nothing of the log stands there.
	surplus
)

// judge decides about the bytes at w.pos, where a batch of offset next (as far as that is proven) or more should stand and err was found. Header is that of a batch
// whose CRC alone is wrong, else nil. Docs/adr/0010-bad-batches.md has the rule.
func (s *Segment) judge(w *walk, header batch.Batch, size int64, next batch.Offset, l Limits, err error) (verdict, error) {
	if l.Followed && next == l.Limit {
		if at, e := s.nextWhole(w.pos, w.end, 0, s.base+maxRelative+1); at < 0 || e != nil {
			return surplus, e
		}
	}
	durable := next < l.Durable
	if header != nil && !durable {
		if holes, e := s.holes(w.pos, w.pos+size, next); holes || e != nil {
			return torn, e
		}
	}
	if header != nil && w.pos < w.led {
		return damaged, nil
	}
	if header != nil {
		if follows, e := s.leadsOn(w, header, size, l); follows || e != nil {
			return damaged, e
		}
	}
	if durable {
		return broken, nil
	}
	short := errors.Is(err, batch.ErrTruncated) || w.end-w.pos < batch.HeaderSize
	at, e := s.nextWhole(w.pos, w.end, next, l.limit(s)) // here too: the batch before may have claimed too much
	if e != nil {
		return torn, e
	}
	if at >= 0 && short && !s.endsWhole(at, w.end) {
		at = -1 // it stands in a record of the batch that was cut short
	}
	if at < 0 && (!l.Followed || short) {
		return torn, nil // nothing stands behind; or the file was cut short, and with it what followed
	}
	end := w.end
	if at >= 0 {
		end = at
	}
	holes, e := s.holes(w.pos, end, next)
	if holes || e != nil {
		return torn, e
	}
	return broken, nil
}

// endsWhole reports whether the headers from the batch at pos on lead exactly to end.
func (s *Segment) endsWhole(pos, end int64) bool {
	next := batch.Offset(0)
	err := s.scanTo(pos, end, func(h batch.Batch) error {
		if h.BaseOffset() < next {
			return errStop
		}
		next = h.NextOffset()
		return nil
	})
	return err == nil
}

// leadsOn reports whether the header of the batch at w.pos, whose CRC is wrong, leads to a batch that is whole, or to a place that
// is known to be a batch's end: so its length and its offsets are as they were written.
func (s *Segment) leadsOn(w *walk, header batch.Batch, size int64, l Limits) (bool, error) {
	ahead := walk{file: w.file, pos: w.pos + size, end: w.end, buf: make([]byte, min(int64(len(w.buf)), aheadChunk))}
	next := header.NextOffset()
	for ahead.pos < ahead.end && next != l.Durable { // a sync ended at the end of a batch
		h, n, err := ahead.batch(next, l.limit(s))
		if ahead.failed != nil {
			return false, fmt.Errorf("recover %s at position %d: %w", s.Name(Log), ahead.pos, ahead.failed)
		}
		bad := &crcError{}
		switch {
		case err != nil && !errors.As(err, &bad):
			return false, nil
		case h.BaseOffset() != next && !l.Gaps:
			return false, nil
		case err == nil:
			w.led = ahead.pos
			return true, nil
		}
		next = h.NextOffset()
		ahead.pos += n
	}
	w.led = ahead.pos
	return next <= l.Durable || l.Followed && (next == l.Limit || l.Gaps), nil
}

// damageMax is how many damaged batches of a segment are stepped over: each costs memory. With more, the disk is not what it was.
const damageMax = 100_000

// aheadChunk is the bytes of one read behind a bad batch.
const aheadChunk = 64 << 10

// limit is the offset that no batch of s reaches.
func (l Limits) limit(s *Segment) batch.Offset { return min(l.Limit, s.base+maxRelative+1) }
