package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// space watches the room on the disk. Below low, produces are refused until there is twice as much; a reserve file keeps a little
// room for the start on a full disk.
type space struct {
	files vfs.FS
	log   *slog.Logger
	low   int64 // bytes
	full  atomic.Bool
	// shut counts the looks in a row that found no descriptor, the last of them for the reason why.
	shut atomic.Int64
	why  atomic.Pointer[failure]
}

// Defaults: lowBytes of a large disk, one lowPart-th of a small one; the reserve file is a reservePart-th of low.
const (
	lowBytes    = 64 << 20
	lowPart     = 50
	reservePart = 8
)

func newSpace(files vfs.FS, low int64, log *slog.Logger) *space {
	s := &space{files: files, log: log, low: low}
	if room, err := files.Space(); low == 0 && err == nil {
		s.low = min(lowBytes, room.Total/lowPart)
	}
	return s
}

// shutMax is how many looks in a row may find no descriptor before that is reported. They come once a second.
const shutMax = 5

// reachable is nil, or says that the process has had no descriptor left for its files for some time, though the cache gives back those
// that it can: produces and syncs fail then.
func (s *space) reachable() error {
	if n := s.shut.Load(); n >= shutMax {
		return fmt.Errorf("no descriptor for files of the data directory in %d looks: %w; close connections, or raise the limit (ulimit -n)", n, s.why.Load().err)
	}
	return nil
}

// look asks for the room on the disk, which takes a descriptor, and notes whether there was one.
func (s *space) look() (vfs.Space, error) {
	room, err := s.files.Space()
	if vfs.IsUnopened(err) {
		s.why.Store(&failure{err})
		s.shut.Add(1)
	} else {
		s.shut.Store(0)
	}
	return room, err
}

// check looks at the disk and sets the flag, with hysteresis.
func (s *space) check() {
	room, err := s.look()
	if err != nil || s.low <= 0 {
		return
	}
	switch full := s.full.Load(); {
	case !full && room.Free < s.low:
		s.full.Store(true)
		s.log.Error("disk is nearly full: produces are refused until there is room", slog.Int64("free", room.Free), slog.Int64("limit", s.low), slog.Int64("again", 2*s.low))
	case full && room.Free >= 2*s.low:
		s.full.Store(false)
		s.log.Info("there is room on the disk again: produces are accepted", slog.Int64("free", room.Free))
		s.keepReserve()
	}
}

// writable is nil, or KAFKA_STORAGE_ERROR while the disk is nearly full.
func (s *space) writable() error {
	if s.full.Load() {
		return fmt.Errorf("%w: less than %d bytes are free on the disk; delete topics or records, or make room", kerr.KafkaStorageError, s.low)
	}
	return nil
}

func (s *space) reserveBytes() int64 { return s.low / reservePart }

// makeRoom removes the reserve file when the disk is so full that the start itself could fail.
func (s *space) makeRoom() error {
	if room, err := s.files.Space(); err != nil || room.Free >= s.reserveBytes() {
		return nil //nolint:nilerr // a disk that does not say how full it is is taken for one with room, as in check
	}
	if err := s.files.Remove(reserveFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s from a full disk: %w", reserveFile, err)
	}
	s.check()
	return nil
}

// giveReserve gives the reserve's room to a metadata command that found none; false if it is gone already.
func (s *space) giveReserve() bool {
	if err := s.files.Remove(reserveFile); err != nil {
		return false
	}
	s.log.Error("disk is full: the reserve is used up for the metadata log; make room")
	s.check()
	return true
}

// keepReserve writes the reserve file if there is room for it and to spare. Not having one is no error.
func (s *space) keepReserve() {
	s.check()
	room, err := s.files.Space()
	if err != nil || s.low <= 0 || room.Free < 2*s.low {
		return
	}
	f, err := s.files.OpenFile(reserveFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		s.log.Warn("cannot write the reserve file", slog.Any("err", err))
		return
	}
	if size, sizeErr := f.Size(); sizeErr != nil || size != s.reserveBytes() {
		err = errors.Join(f.Truncate(0), f.Preallocate(s.reserveBytes()))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		s.log.Warn("cannot write the reserve file", slog.Any("err", err))
	}
}
