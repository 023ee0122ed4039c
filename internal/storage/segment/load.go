package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// staleAfter is how many bytes of log may follow the last index entry's batch, in whole batches, before a sealed
// segment's index counts as cut off. It is far above any index interval, which may have been changed meanwhile.
const staleAfter = 1 << 20

// errSide says why a side file is rebuilt.
var errSide = errors.New("side file does not fit its log")

// view returns f's entries, first loading them or, where they cannot be believed, building them from the log.
func (s *Segment) view(f *sideFile) (view, error) {
	t := f.tail.Load()
	if t == nil {
		var err error
		if t, err = s.load(f); err != nil {
			return view{}, err
		}
	}
	v := view{tail: t, n: int(t.n.Load()), width: f.width}
	if t.first == 0 {
		return v, nil
	}
	if o := f.file.Load(); o != nil {
		v.file = o.File
		return v, nil
	}
	var err error
	v.file, err = s.openOnce(&f.file, f.kind, syscall.O_RDWR)
	return v, err
}

func (s *Segment) load(f *sideFile) (*tail, error) {
	f.loading.Lock()
	defer f.loading.Unlock()
	if t := f.tail.Load(); t != nil {
		return t, nil
	}
	if !f.untrusted.Load() {
		if n, err := s.probe(f); err == nil {
			t := &tail{first: n}
			f.tail.Store(t)
			return t, nil
		}
	}
	t, err := s.rebuild(f)
	if err != nil {
		return nil, err
	}
	f.tail.Store(t)
	return t, nil
}

// probe opens f and returns the number of its entries, or why it must be rebuilt.
func (s *Segment) probe(f *sideFile) (int, error) {
	file, err := s.openOnce(&f.file, f.kind, syscall.O_RDWR)
	if err != nil {
		return 0, err
	}
	size, err := file.Size()
	if err != nil {
		return 0, err
	}
	if size%int64(f.width) != 0 || size > s.Size() {
		return 0, fmt.Errorf("%w: %d bytes", errSide, size)
	}
	v := view{tail: &tail{first: int(size) / f.width}, file: file, width: f.width}
	if f.kind == Index {
		return v.len(), s.probeIndex(v)
	}
	return v.len(), s.probeTimes(v)
}

// probeIndex checks that the last entry names a batch and, of a sealed segment, that no long part of the log follows it.
func (s *Segment) probeIndex(v view) error {
	pos, offset := int64(0), int64(math.MaxInt32)
	if v.len() > 0 {
		last, err := v.entry(v.len() - 1)
		if err != nil {
			return err
		}
		pos, offset = indexPosition(last[:]), indexOffset(last[:])
		if pos < 0 || pos >= s.Size() || offset < 0 || offset == 0 && v.len() > 1 {
			return fmt.Errorf("%w: entry %d at %d", errSide, offset, pos)
		}
	}
	c, err := s.cursor(pos, s.Size())
	if err != nil {
		return err
	}
	defer c.close()
	for {
		header, at, _, err := c.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case at == pos && (header.BaseOffset() < s.base || int64(header.BaseOffset()-s.base) > offset):
			// Kafka before 3.9 indexed a whole append by its last offset, so the batch may well end before it.
			return fmt.Errorf("%w: entry %d names a batch at %d", errSide, offset, header.BaseOffset())
		case at-pos > staleAfter:
			return fmt.Errorf("%w: last entry at position %d", errSide, pos)
		case !s.sealed.Load():
			return nil // Activate reads on to the end anyway
		}
	}
}

// probeTimes checks that the last entry is some batch's, and not smaller than the first.
func (s *Segment) probeTimes(v view) error {
	if v.len() == 0 {
		if s.sealed.Load() && s.Size() > 0 {
			return fmt.Errorf("%w: empty", errSide) // or no batch has a timestamp, and then it costs one scan
		}
		return nil
	}
	first, err := v.entry(0)
	if err != nil {
		return err
	}
	last, err := v.entry(v.len() - 1)
	if err != nil {
		return err
	}
	if timeTimestamp(last[:]) < timeTimestamp(first[:]) || timeOffset(last[:]) < timeOffset(first[:]) || timeOffset(first[:]) < 0 {
		return fmt.Errorf("%w: entries out of order", errSide)
	}
	found, ok, err := s.Locate(s.base+batch.Offset(timeOffset(last[:])), s.Size())
	if err != nil {
		return err
	}
	if !ok || found.MaxTimestamp != timeTimestamp(last[:]) {
		return fmt.Errorf("%w: no batch with the last timestamp", errSide)
	}
	return nil
}

// rebuild makes f anew from the log's headers, as Kafka's LogSegment.recover does. If it cannot be written, it is kept in memory.
func (s *Segment) rebuild(f *sideFile) (*tail, error) {
	b := newBuilder(s)
	err := s.Scan(0, s.Size(), func(h batch.Batch, pos int64, _ int) error {
		b.add(h, pos, s.DamageAt(pos))
		return nil
	})
	if err != nil && !errors.Is(err, batch.ErrCorrupt) { // up to damage, the index serves
		return nil, fmt.Errorf("rebuild %s: %w", s.Name(f.kind), err)
	}
	t := s.install(f, b.finish(f.kind))
	if t.buf == nil {
		if file, err := s.sideForWrite(f); err == nil {
			_ = file.Sync() // or a power cut may leave a part of it, which later counts as trusted
		}
	}
	return t, nil
}

// install makes entries the content of f.
func (s *Segment) install(f *sideFile, entries []byte) *tail {
	n := len(entries) / f.width
	if err := s.writeSide(f, entries); err != nil {
		t := &tail{buf: entries}
		t.n.Store(int32(n))
		return t
	}
	return &tail{first: n}
}

func (s *Segment) writeSide(f *sideFile, entries []byte) error {
	file, err := s.sideForWrite(f)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		if _, err := file.WriteAt(entries, 0); err != nil {
			return err
		}
	}
	return file.Truncate(int64(len(entries)))
}

// builder makes a segment's entries from its batches in order.
type builder struct {
	seg      *Segment
	interval int64
	indexed  int64 // position of the last index entry
	max      Timestamp
	lastTime int64
	index    []byte
	times    []byte
}

func newBuilder(s *Segment) *builder {
	return &builder{seg: s, interval: int64(s.interval), max: Timestamp{NoTimestamp, s.base}, lastTime: NoTimestamp}
}

// add takes the batch at pos. Of a damaged one only its place is believed.
func (b *builder) add(h batch.Batch, pos int64, damaged bool) {
	if ts := h.MaxTimestamp(); ts > b.max.At && !damaged {
		b.max = Timestamp{ts, h.LastOffset()}
	}
	if pos-b.indexed > b.interval {
		var e [indexWidth]byte
		putIndex(e[:], b.seg.relative(int64(h.LastOffset())), pos)
		b.index = append(b.index, e[:]...)
		b.indexed = pos
		b.addTime()
	}
}

func (b *builder) addTime() {
	if b.max.At <= b.lastTime {
		return
	}
	var e [timeWidth]byte
	putTime(e[:], b.max.At, b.seg.relative(int64(b.max.Offset)))
	b.times = append(b.times, e[:]...)
	b.lastTime = b.max.At
}

func (b *builder) finish(kind Kind) []byte {
	if kind == Index {
		return b.index
	}
	b.addTime()
	return b.times
}
