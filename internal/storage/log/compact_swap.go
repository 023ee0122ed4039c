package log

import (
	"fmt"
	"math"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/compact"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// clean rewrites the segments below end, group after group, the oldest first: a tombstone must not go before what it deletes.
func (p *pass) clean(end batch.Offset) error {
	n := 0
	for n < len(p.segs) && p.segs[n].Base() < end {
		n++
	}
	sources := make([]compact.Source, n)
	for i, s := range p.segs[:n] {
		index, times, err := s.IndexBytes()
		if err != nil {
			return err
		}
		sources[i] = compact.Source{Base: s.Base(), Next: s.next, Bytes: s.size, Index: index, Times: times}
	}
	opts := p.log.opts.Load()
	most := min(opts.SegmentBytes, math.MaxInt32)
	for _, n := range compact.Group(sources, most, int64(opts.IndexBytesMax)) {
		if err := p.cleanGroup(p.segs[:n]); err != nil {
			return err
		}
		for _, s := range p.segs[:n] {
			_ = s.Release() // see Range.Release
		}
		p.segs = p.segs[n:]
	}
	return p.finish(end)
}

// finish notes that all below end is clean.
func (p *pass) finish(end batch.Offset) error {
	l := p.log
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if end > l.End() {
		return ErrChanged
	}
	l.cleaned.Store(int64(end))
	p.done.To = end
	return nil
}

// cleanGroup makes one segment of a group. A single one that loses nothing stays.
func (p *pass) cleanGroup(group []held) error {
	g := grouped{pass: p, segs: group}
	for _, s := range group {
		g.left += s.size
	}
	g.room = math.MaxInt32 - g.left
	p.done.Before += g.left
	err := g.write()
	switch {
	case g.out == nil:
		if err == nil {
			p.done.After += group[0].size
		}
		return err
	case err == nil:
		err = g.out.finish()
	}
	if err == nil {
		err = g.writeTxnIndex()
	}
	published := false
	if err == nil {
		published, err = p.replace(group, g.out.seg)
	}
	if !published {
		g.out.discard()
	}
	if err != nil {
		return err
	}
	p.done.After += g.out.seg.Size()
	p.done.Replaced += len(group)
	p.done.Segments++
	return nil
}

// grouped is the writing of one group.
type grouped struct {
	pass *pass
	segs []held
	out  *passWriter // nil until something differs

	left int64 // bytes of the sources that were not read yet
	room int64 // by how many bytes the result may be larger than the sources
	same int64 // bytes of the only source that are as they were, while out is nil

	markers map[batch.Offset]struct{} // the markers that stay, for the transaction index
}

func (g *grouped) write() (err error) {
	r := g.pass.reader()
	if len(g.segs) > 1 {
		if g.out, err = g.pass.create(g.segs[0].Base()); err != nil {
			return err
		}
	}
	for _, s := range g.segs {
		for b, err := range r.batches(s, s.Base()) {
			if err != nil {
				return err
			}
			g.left -= int64(len(b))
			// The group's last batch stays in any case: then no hole is left before the next segment.
			if err := g.take(b, g.left == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *grouped) take(b batch.Batch, last bool) error {
	out, err := g.pass.filter.Batch(b, last)
	if err != nil {
		return fmt.Errorf("%s: %w", g.segs[0].Name(segment.Log), err)
	}
	if grown := int64(len(out) - len(b)); grown > 0 {
		if g.room -= grown; g.room < 0 {
			out, g.room = b, g.room+grown // positions must stay in 31 bits
		}
	}
	if g.out == nil {
		if len(out) == len(b) && &out[0] == &b[0] {
			g.same += int64(len(b))
			return nil
		}
		if err := g.copySame(); err != nil {
			return err
		}
	}
	if out == nil {
		return nil
	}
	return g.add(out)
}

func (g *grouped) add(out batch.Batch) error {
	if out.IsControl() && out.Count() > 0 {
		if g.markers == nil {
			g.markers = make(map[batch.Offset]struct{})
		}
		g.markers[out.LastOffset()] = struct{}{}
	}
	return g.out.add(out)
}

// copySame starts the result with what was unchanged so far.
func (g *grouped) copySame() (err error) {
	s := g.segs[0]
	if g.out, err = g.pass.create(s.Base()); err != nil {
		return err
	}
	s.size = g.same
	for b, err := range g.pass.reader().batches(s, s.Base()) {
		if err == nil {
			err = g.add(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replace puts fresh, which is durable, in the place of old; published says that readers may have it now, even if it failed.
// After a crash the directory has either, whole: until all of fresh's files are named .swap the old ones stand (sweep removes
// the new), from then on the new ones do (sweep completes the swap). Each step's names are durable before the next begins.
// No journal has bytes of old any more: see settle.
func (p *pass) replace(old []held, fresh *segment.Segment) (published bool, err error) {
	l := p.log
	if err := l.syncDir(); err != nil {
		return false, l.refuseSync(err)
	}
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return false, err
	}
	if p.moved() {
		return false, ErrChanged
	}
	if err := l.clearLeftovers(fresh.Base()); err != nil {
		return false, l.refuse(err)
	}
	if err := fresh.Rename(segment.Swap); err != nil {
		return false, l.refuse(err)
	}
	if err := l.syncDir(); err != nil {
		return false, l.fail(err)
	}
	l.publish(old, fresh)
	for _, s := range old {
		if err := l.drop(s.Segment); err != nil {
			return true, l.fail(err)
		}
	}
	if err := l.syncDir(); err != nil {
		return true, l.fail(err)
	}
	if err := fresh.Rename(segment.Live); err != nil {
		return true, l.fail(err)
	}
	if err := l.syncDir(); err != nil {
		return true, l.fail(err)
	}
	return true, nil
}

// publish shows readers fresh instead of old.
func (l *Log) publish(old []held, fresh *segment.Segment) {
	l.listing.Lock()
	segs := slices.Clone(*l.segs.Load())
	i := slices.Index(segs, old[0].Segment)
	segs = slices.Replace(segs, i, i+len(old), fresh)
	l.segs.Store(&segs)
	l.listing.Unlock()
	l.hints.clear()
	l.bytes.Add(fresh.Size())
	for _, s := range old {
		l.bytes.Add(-s.size)
	}
}

func (l *Log) syncDir() error {
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", l.dir, err)
	}
	return nil
}
