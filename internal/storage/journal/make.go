package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Make makes the file, if there is to be one and is none. It is written whole: a frame then changes no metadata of the file system, and
// its sync costs half of what it does in space that is only reserved. Want of room is no error. Settle calls it when it is due.
func (j *Journal) Make() error {
	j.writing.Lock()
	skip := j.off || j.file != nil || j.failed != nil
	j.writing.Unlock()
	if skip {
		return nil
	}
	file, err := j.makeFile()
	j.writing.Lock()
	defer j.writing.Unlock()
	if err != nil {
		return j.giveUp(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.file, j.sequence, j.pos = file, 1, block
	j.mu.active = 0
	j.mu.halves = [2]half{{generation: 1, owners: map[Key]Owner{}}}
	return nil
}

// errSync marks a failed sync.
var errSync = errors.New("sync failed")

// roomPart is how many times the journal's size must be free: it is not to be what fills a disk.
const roomPart = 4

func (j *Journal) makeFile() (vfs.File, error) {
	if room, err := j.opts.FS.Space(); err == nil && room.Free/roomPart < 2*j.half {
		return nil, fmt.Errorf("%d bytes are free on the disk, the limit is %d", room.Free, roomPart*2*j.half)
	}
	file, err := j.opts.FS.OpenFile(File, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	if err := j.fill(file); err != nil {
		err = errors.Join(err, file.Close())
		_ = j.opts.FS.Remove(File) // one that stays has no frames
		return nil, err
	}
	return file, nil
}

// fill writes the first header and zeros, and makes them and the file's name durable.
func (j *Journal) fill(file vfs.File) error {
	size := 2 * j.half
	if err := file.Preallocate(size); err != nil {
		return err
	}
	head := make([]byte, block)
	header{generation: 1, sequence: 1, half: j.half, secret: j.opts.Secret}.put(head)
	if _, err := file.WriteAt(head, 0); err != nil {
		return err
	}
	var bufs [64][]byte
	for pos := int64(block); pos < size; {
		n := min(int64(len(bufs)), (size-pos)/block)
		for i := range n {
			bufs[i] = zeros[:]
		}
		if _, err := file.WriteVec(bufs[:n], pos); err != nil {
			return err
		}
		pos += n * block
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("%w: %w", errSync, err)
	}
	if err := j.opts.FS.SyncDir("."); err != nil {
		return fmt.Errorf("%w: %w", errSync, err)
	}
	return nil
}

// giveUp goes on without a journal, but after a failed sync, which is final.
func (j *Journal) giveUp(err error) error {
	if errors.Is(err, errSync) {
		return j.fail(fmt.Errorf("make %s: %w", File, err))
	}
	j.off = true
	j.opts.Log.Warn("no journal: many small writes to many partitions will be slow until a restart", slog.String("file", File), slog.Int64("bytes", 2*j.half), slog.Any("err", err))
	return nil
}
