package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// File is the journal's name at the top of the data directory. It is a file, since Kafka takes every directory there for a
// partition's.
const File = "ottla.journal"

// The errors after which files are to be synced instead: nothing was acknowledged.
var (
	// ErrFull: there is no room until what stands in the journal is settled.
	ErrFull = errors.New("journal is full")
	// ErrOff: there is no journal.
	ErrOff = errors.New("there is no journal")
)

// SizeMin is the smallest journal, in bytes.
const SizeMin = 16 * block

// Options say what journal to keep.
type Options struct {
	FS   vfs.FS
	Size int64 // bytes, rounded down to whole blocks; below SizeMin there is no journal
	// Patience is how many Commits are refused before Settle makes the file: writing it whole is not for the odd one.
	Patience int
	// Secret marks this file's frames; nobody who writes records may know it.
	Secret uint64
	Log    *slog.Logger
	// Failed is told of an owner that could not be settled; nil: nobody is.
	Failed func(Owner, error)
}

// Owner is a partition that has bytes in the journal.
type Owner interface {
	// Settle makes them durable in the partition's own files.
	Settle() error
}

// Key names a partition.
type Key struct {
	Dir   string
	Topic topic.ID
}

func compare(a, b Key) int {
	return cmp.Or(strings.Compare(a.Dir, b.Dir), bytes.Compare(a.Topic[:], b.Topic[:]))
}

// Journal is the journal of one data directory. Its file is made when it is needed.
type Journal struct {
	opts Options

	writing  sync.Mutex // one frame at a time; guards the rest of this block
	file     vfs.File
	off      bool  // there is to be no file
	failed   error // final
	half     int64 // bytes of a half
	pos      int64 // in the active half
	sequence uint64

	mu struct {
		sync.Mutex
		more    sync.Cond // there is something to settle, or no more ever
		halves  [2]half
		active  int
		wanted  int // how many Commits found no file; more than Patience: it is to be made
		making  bool
		stopped bool
	}
}

// half is one half of the file.
type half struct {
	generation uint64
	owners     map[Key]Owner // with frames of this generation
	waiting    []Owner       // to be settled, once it is closed
	settling   int           // being settled, or failed to be
	again      []Owner       // found no descriptor, and wait for the next Turn
}

func (h *half) settled() bool { return len(h.waiting) == 0 && len(h.again) == 0 && h.settling == 0 }

// New is a journal without a file yet; Replay must have removed an old one.
func New(opts Options) *Journal {
	j := &Journal{opts: opts, off: opts.Size < SizeMin, half: opts.Size / 2 / block * block}
	j.mu.more.L = &j.mu.Mutex
	return j
}

// readyLocked is nil if there is a file; where there is none, but should be, it is asked for. writing is held.
func (j *Journal) readyLocked() error {
	switch {
	case j.failed != nil:
		return j.failed
	case j.off:
		return ErrOff
	case j.file != nil:
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.wanted++; j.mu.wanted > j.opts.Patience {
		j.mu.more.Broadcast()
	}
	return ErrFull
}

// fail makes err final.
func (j *Journal) fail(err error) error {
	if j.failed == nil {
		j.failed = err
	}
	return j.failed
}

// startHalf makes the i-th half's header durable, with generation.
func (j *Journal) startHalf(i int, generation uint64) error {
	if _, err := j.file.WriteAt(j.header(generation), int64(i)*j.half); err != nil {
		return j.writeError(err)
	}
	if err := j.file.Sync(); err != nil {
		return j.fail(fmt.Errorf("sync %s: %w", File, err))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	closed := &j.mu.halves[j.mu.active]
	for _, key := range slices.SortedFunc(maps.Keys(closed.owners), compare) {
		closed.waiting = append(closed.waiting, closed.owners[key])
	}
	j.mu.active = i
	j.mu.halves[i] = half{generation: generation, owners: map[Key]Owner{}}
	j.mu.more.Broadcast()
	j.pos = block
	return nil
}

func (j *Journal) header(generation uint64) []byte {
	head := make([]byte, block)
	header{generation: generation, sequence: j.sequence, half: j.half, secret: j.opts.Secret}.put(head)
	return head
}

// writeError judges a failed write: for want of room or descriptors the journal is full, all else is final.
func (j *Journal) writeError(err error) error {
	if vfs.IsShortage(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return j.fail(err)
}

// Drain settles everything and removes the file, durably. Nothing else may use the journal meanwhile, Settle neither. A later Make
// starts a new file.
func (j *Journal) Drain() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.failed != nil {
		return j.failed
	}
	if j.file == nil {
		return nil
	}
	for i := range j.mu.halves {
		for key, owner := range j.mu.halves[i].owners {
			if err := owner.Settle(); err != nil {
				return fmt.Errorf("settle %s: %w", key.Dir, err)
			}
		}
		j.mu.halves[i] = half{}
	}
	err := j.file.Close()
	j.file, j.mu.wanted = nil, 0
	if err != nil {
		return j.fail(err)
	}
	return remove(j.opts.FS)
}

// Close gives the file's descriptor back; the file stays, to be replayed.
func (j *Journal) Close() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.off = true
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

func remove(files vfs.FS) error {
	if err := files.Remove(File); err != nil {
		return err
	}
	return files.SyncDir(".")
}

// Discard removes a journal that must not be replayed, since the directory was closed cleanly after it; there says that it was there.
func Discard(files vfs.FS) (there bool, err error) {
	err = remove(files)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
