package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// NoTimestamp is the timestamp of a batch without one (Kafka's RecordBatch.NO_TIMESTAMP).
const NoTimestamp = -1

// Timestamp is a timestamp in ms and the last offset of the batch that has it.
type Timestamp struct {
	At     int64
	Offset batch.Offset
}

// Segment is one segment's files. See doc.go for who may call what at the same time.
type Segment struct {
	fs   vfs.FS
	dir  string
	base batch.Offset

	refs    atomic.Int64
	size    atomic.Int64 // published bytes of the log
	sealed  atomic.Bool
	log     atomic.Pointer[openFile]
	index   sideFile
	times   sideFile
	largest struct {
		sync.Mutex
		known bool
		Timestamp
	}
	newest atomic.Pointer[newest] // of a sealed segment, once it was found
	writer writer

	mu struct {
		sync.Mutex
		state State      // of the file names
		old   []vfs.File // side files that were replaced
	}
	damage    atomic.Pointer[[]Damage] // by position; stored under mu, or before there are readers
	interval  int                      // index.interval.bytes for a rebuild
	recovered *builder                 // between Recover and Adopt
}

func newSegment(fsys vfs.FS, dir string, base batch.Offset, interval int) *Segment {
	s := &Segment{fs: fsys, dir: dir, base: base, interval: interval}
	s.refs.Store(1)
	s.index.kind, s.index.width = Index, indexWidth
	s.times.kind, s.times.width = TimeIndex, timeWidth
	s.writer.first = unread
	return s
}

// Create starts an empty segment, whose directory entries are not yet durable. Files of its names are emptied.
func Create(fsys vfs.FS, dir string, base batch.Offset, interval int, now int64) (*Segment, error) {
	return create(newSegment(fsys, dir, base, interval), now)
}

// CreateCleaned starts an empty segment whose files have the Cleaned state, replacing what a failed try has left. All names
// are made here: nothing is created later, when the directory may have another owner.
func CreateCleaned(fsys vfs.FS, dir string, base batch.Offset, interval int, now int64) (*Segment, error) {
	s := newSegment(fsys, dir, base, interval)
	s.mu.state = Cleaned
	for _, kind := range []Kind{Index, TimeIndex, TxnIndex} {
		if err := fsys.Remove(s.Name(kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("create segment: %w", err)
		}
	}
	s, err := create(s, now)
	if err != nil {
		return nil, err
	}
	for _, f := range []*sideFile{&s.index, &s.times} {
		if _, err := s.sideForWrite(f); err != nil {
			return nil, errors.Join(fmt.Errorf("create segment: %w", err), s.Rename(Deleted), s.Release())
		}
	}
	return s, nil
}

func create(s *Segment, now int64) (*Segment, error) {
	file, err := s.openName(Log, syscall.O_RDWR|syscall.O_CREAT|syscall.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("create segment: %w", err)
	}
	s.log.Store(&openFile{file})
	if s.mu.state == Live {
		s.nameSides()
	}
	return s.begin(now), nil
}

// nameSides makes the indexes, empty and closed, since Kafka's tools and backups expect a segment's three files. They are opened when they
// have entries to write; without room there are none until then.
func (s *Segment) nameSides() {
	for _, kind := range []Kind{Index, TimeIndex} {
		if file, err := s.openName(kind, syscall.O_RDWR|syscall.O_CREAT|syscall.O_TRUNC); err == nil {
			_ = file.Close() // nothing was written
		}
	}
}

// New is an empty segment without a file, until Make. It may be read, which finds nothing, but not written, sealed or synced.
func New(fsys vfs.FS, dir string, base batch.Offset, interval int, now int64) *Segment {
	return newSegment(fsys, dir, base, interval).begin(now)
}

// Make creates the file of a segment that New returned, whose directory entry is not yet durable. It may be tried again after an error.
// A file of that name that has bytes is somebody's records: batch.ErrCorrupt.
func (s *Segment) Make() error {
	file, err := s.openOnce(&s.log, Log, syscall.O_RDWR|syscall.O_CREAT)
	if err != nil {
		return fmt.Errorf("create segment: %w", err)
	}
	size, err := file.Size()
	if err == nil && size > 0 {
		err = fmt.Errorf("%w: it has %d bytes already", batch.ErrCorrupt, size)
	}
	if err != nil {
		return fmt.Errorf("create segment %s: %w", s.Name(Log), err)
	}
	s.nameSides()
	return nil
}

// begin readies an empty segment for appends.
func (s *Segment) begin(now int64) *Segment {
	s.index.tail.Store(&tail{})
	s.times.tail.Store(&tail{})
	s.largest.known, s.largest.At, s.largest.Offset = true, NoTimestamp, s.base
	s.writer.first, s.writer.created = NoTimestamp, now
	s.writer.lastTime, s.writer.ready = NoTimestamp, true
	return s
}

// Open is a sealed segment of size bytes, by its directory's listing: nothing is read before it is needed. Trusted says
// that its side files were closed or synced with its log.
func Open(fsys vfs.FS, dir string, base batch.Offset, interval int, size int64, trusted bool) *Segment {
	s := newSegment(fsys, dir, base, interval)
	s.size.Store(size)
	s.sealed.Store(true)
	s.index.untrusted.Store(!trusted)
	s.times.untrusted.Store(!trusted)
	return s
}

// OpenSwap is a segment whose files still have the Swap state.
func OpenSwap(fsys vfs.FS, dir string, base batch.Offset) (*Segment, error) {
	s := newSegment(fsys, dir, base, 0)
	s.mu.state = Swap
	s.sealed.Store(true)
	file, err := s.File()
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("size of %s: %w", s.Name(Log), err), s.Release())
	}
	s.size.Store(size)
	return s, nil
}

// Base is the offset the segment is named for: no record has a smaller one.
func (s *Segment) Base() batch.Offset { return s.base }

// Size is the published bytes of the log.
func (s *Segment) Size() int64 { return s.size.Load() }

// Name is the present name of one of the segment's files.
func (s *Segment) Name(kind Kind) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nameLocked(kind, s.mu.state)
}

func (s *Segment) nameLocked(kind Kind, state State) string {
	return path.Join(s.dir, Name(s.base, kind, state))
}

// Acquire counts a reader, unless the segment is already gone.
func (s *Segment) Acquire() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives back what Acquire took, or the reference that Create and Open return. The last one closes the
// files, and removes them if Retire was called.
func (s *Segment) Release() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	err := s.closeFiles()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state == Deleted {
		err = errors.Join(err, s.removeLocked())
	}
	return err
}

func (s *Segment) closeFiles() (err error) {
	for _, p := range []*atomic.Pointer[openFile]{&s.log, &s.index.file, &s.times.file} {
		if f := p.Swap(nil); f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.mu.old {
		err = errors.Join(err, f.Close())
	}
	s.mu.old = nil
	return err
}

// Retire renames the files out of the log's names; the last Release removes them.
func (s *Segment) Retire() error { return s.Rename(Deleted) }

// Rename gives every file the suffix of state. The log goes first towards Deleted and last towards Live, so that a
// crash in between never leaves a log that its side files are taken from. On error the names are as before.
func (s *Segment) Rename(state State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := Kinds()
	if state == Live {
		kinds = []Kind{Index, TimeIndex, TxnIndex, Log}
	}
	for i, kind := range kinds {
		err := s.fs.Rename(s.nameLocked(kind, s.mu.state), s.nameLocked(kind, state))
		if err != nil && (kind == Log || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("rename segment: %w", s.renameBackLocked(kinds[:i], state, err))
		}
	}
	s.mu.state = state
	return nil
}

// renameBackLocked undoes renames after err. If that fails the segment is of no use, and err is no shortage any more.
func (s *Segment) renameBackLocked(kinds []Kind, state State, err error) error {
	for _, kind := range kinds {
		back := s.fs.Rename(s.nameLocked(kind, state), s.nameLocked(kind, s.mu.state))
		if back != nil && !errors.Is(back, fs.ErrNotExist) {
			return fmt.Errorf("%v; renaming back: %v", err, back) //nolint:errorlint // its marks are not true any more
		}
	}
	return err
}

func (s *Segment) removeLocked() (err error) {
	for _, kind := range Kinds() {
		if e := s.fs.Remove(s.nameLocked(kind, s.mu.state)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("remove segment: %w", e))
		}
	}
	return err
}

// File is the log's file, opened on first need.
func (s *Segment) File() (vfs.File, error) {
	if f := s.log.Load(); f != nil {
		return f.File, nil
	}
	return s.openOnce(&s.log, Log, syscall.O_RDWR)
}

func (s *Segment) openOnce(p *atomic.Pointer[openFile], kind Kind, flag int) (vfs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := p.Load(); f != nil {
		return f.File, nil
	}
	file, err := s.fs.OpenFile(s.nameLocked(kind, s.mu.state), flag)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	p.Store(&openFile{file})
	return file, nil
}

func (s *Segment) openName(kind Kind, flag int) (vfs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fs.OpenFile(s.nameLocked(kind, s.mu.state), flag)
}

func (s *Segment) sideForWrite(f *sideFile) (vfs.File, error) {
	if o := f.file.Load(); o != nil {
		return o.File, nil
	}
	return s.openOnce(&f.file, f.kind, syscall.O_RDWR|syscall.O_CREAT)
}

// Modified is the log file's modification time in ms.
func (s *Segment) Modified() (int64, error) {
	info, err := s.fs.Stat(s.Name(Log))
	if err != nil {
		return 0, fmt.Errorf("stat segment: %w", err)
	}
	return info.ModTime().UnixMilli(), nil
}

// Holds reports whether a batch ending at last may stand in this segment: its relative offset must fit in 31 bits
// (KAFKA-6264).
func (s *Segment) Holds(last batch.Offset) bool { return last-s.base <= math.MaxInt32 }
