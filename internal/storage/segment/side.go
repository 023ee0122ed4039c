package segment

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// tailBytes is how much of an active side file is only in memory: half a mebibyte of log at Kafka's index interval.
const tailBytes = 1 << 10

// entryMax is the width of the widest entry, a time index's.
const entryMax = timeWidth

// sideFile is a file of entries of one width, both indexes alike: append-only, sorted, in memory at its tail. What it
// says is never trusted further than the log confirms.
type sideFile struct {
	kind  Kind
	width int

	untrusted atomic.Bool // the file may lack what the log has
	loading   sync.Mutex  // one load or rebuild at a time
	file      atomic.Pointer[openFile]
	tail      atomic.Pointer[tail] // nil: not loaded
	stale     bool                 // the appender's: an entry could not be kept, so the file is not to be found again
}

// openFile is a file behind one pointer.
type openFile struct{ vfs.File }

// tail is where a side file's entries are: those before first on file, the next n in buf. buf is filled once, from the
// front; a full one is written and replaced, so that a reader's tail stays valid.
type tail struct {
	first int
	n     atomic.Int32
	buf   []byte
}

// view is a side file at one moment.
type view struct {
	tail  *tail
	n     int
	file  vfs.File // nil if the tail is all there is
	width int
}

func (v view) len() int { return v.tail.first + v.n }

func (v view) memory(i int) []byte { return v.tail.buf[i*v.width : (i+1)*v.width] }

// entry returns the i-th entry.
func (v view) entry(i int) (e [entryMax]byte, err error) {
	if i >= v.tail.first {
		copy(e[:], v.memory(i-v.tail.first))
		return e, nil
	}
	buf := windows.Get().(*[windowSize]byte)
	defer windows.Put(buf)
	err = v.read(buf[:v.width], i)
	copy(e[:], buf[:v.width])
	return e, err
}

// read fills dst with entries from the i-th on, which are on file.
func (v view) read(dst []byte, i int) error {
	pos := int64(i) * int64(v.width)
	if n, err := v.file.ReadAt(dst, pos); n < len(dst) {
		return fmt.Errorf("read %d bytes of entries at position %d: %w", len(dst), pos, err)
	}
	return nil
}

// search returns the last entry whose key is at most target; ok is false if there is none. It reads O(log n) single
// entries and one block.
func (v view) search(target int64, key func([]byte) int64) (e [entryMax]byte, ok bool, err error) {
	if v.n > 0 && key(v.memory(0)) <= target {
		i := sort.Search(v.n, func(i int) bool { return key(v.memory(i)) > target })
		copy(e[:], v.memory(i-1))
		return e, true, nil
	}
	return v.searchFile(target, key)
}

func (v view) searchFile(target int64, key func([]byte) int64) (e [entryMax]byte, ok bool, err error) {
	buf := windows.Get().(*[windowSize]byte)
	defer windows.Put(buf)
	lo, hi := 0, v.tail.first // keys before lo are at most target, those from hi on above it
	for block := windowSize/v.width - 1; hi-lo > block; {
		mid := lo + (hi-lo)/2
		if err := v.read(buf[:v.width], mid); err != nil {
			return e, false, err
		}
		if key(buf[:]) <= target {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	lo = max(lo-1, 0)
	block := buf[:(hi-lo)*v.width]
	if len(block) == 0 {
		return e, false, nil
	}
	if err := v.read(block, lo); err != nil {
		return e, false, err
	}
	i := sort.Search(hi-lo, func(i int) bool { return key(block[i*v.width:]) > target })
	if i == 0 {
		return e, false, nil
	}
	copy(e[:], block[(i-1)*v.width:i*v.width])
	return e, true, nil
}

// IndexBytes are the sizes of the offset index and the time index.
func (s *Segment) IndexBytes() (index, times int64, err error) {
	iv, err := s.view(&s.index)
	if err != nil {
		return 0, 0, err
	}
	tv, err := s.view(&s.times)
	return int64(iv.len()) * indexWidth, int64(tv.len()) * timeWidth, err
}

// append adds an entry in memory and writes the tail when it is full. It is the appender's. A failed write costs the
// entry, nothing more: the log is searched from an older entry then, and seal removes the file, to be rebuilt.
func (s *Segment) appendSide(f *sideFile, entry []byte) {
	t := f.tail.Load()
	if len(t.buf) == 0 || (int(t.n.Load())+1)*f.width > len(t.buf) {
		if err := s.flushSide(f); err != nil {
			f.stale = true
			return
		}
		t = f.tail.Load()
	}
	n := int(t.n.Load())
	copy(t.buf[n*f.width:], entry)
	t.n.Store(int32(n + 1))
}

// flushSide writes the tail's entries and starts an empty tail behind them.
func (s *Segment) flushSide(f *sideFile) error {
	t := f.tail.Load()
	n := int(t.n.Load())
	if n > 0 {
		file, err := s.sideForWrite(f)
		if err != nil {
			return err
		}
		if _, err := file.WriteAt(t.buf[:n*f.width], int64(t.first)*int64(f.width)); err != nil {
			return fmt.Errorf("write %s: %w", s.Name(f.kind), err)
		}
	}
	f.tail.Store(&tail{first: t.first + n, buf: make([]byte, tailBytes/f.width*f.width)})
	return nil
}

// The offset index: an int32 offset relative to the segment's base, an int32 position (Kafka's OffsetIndex).
const indexWidth = 8

func indexOffset(e []byte) int64   { return int64(int32(binary.BigEndian.Uint32(e))) }
func indexPosition(e []byte) int64 { return int64(int32(binary.BigEndian.Uint32(e[4:]))) }

func putIndex(e []byte, relative, pos int64) {
	binary.BigEndian.PutUint32(e, uint32(relative))
	binary.BigEndian.PutUint32(e[4:], uint32(pos))
}

// The time index: an int64 timestamp in ms, an int32 relative offset (Kafka's TimeIndex).
const timeWidth = 12

func timeTimestamp(e []byte) int64 { return int64(binary.BigEndian.Uint64(e)) }
func timeOffset(e []byte) int64    { return int64(int32(binary.BigEndian.Uint32(e[8:]))) }

func putTime(e []byte, timestamp, relative int64) {
	binary.BigEndian.PutUint64(e, uint64(timestamp))
	binary.BigEndian.PutUint32(e[8:], uint32(relative))
}

// relative is an offset's distance from base, cut to what an entry holds.
func (s *Segment) relative(offset int64) int64 {
	return min(offset-int64(s.base), math.MaxInt32)
}
