package journal

import (
	"encoding/binary"
	"hash/crc32"
	"os"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Block is the unit of the file.
const Block = block

// SettleOne settles one owner of the closed half, if one waits.
func (j *Journal) SettleOne() error {
	j.mu.Lock()
	h := &j.mu.halves[1-j.mu.active]
	n := len(h.waiting)
	if n == 0 {
		j.mu.Unlock()
		return nil
	}
	owner := h.waiting[n-1]
	h.waiting = h.waiting[:n-1]
	h.settling++
	j.mu.Unlock()
	if err := owner.Settle(); err != nil {
		return err
	}
	j.mu.Lock()
	h.settling--
	j.mu.Unlock()
	return nil
}

// Generation is the active half's.
func (j *Journal) Generation() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.halves[j.mu.active].generation
}

// Frames lists the entries in a file, frame by frame.
func Frames(files vfs.FS) (frames [][]Entry, damaged []error, err error) {
	file, err := files.OpenFile(File, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	r := replay{file: file}
	spans, err := r.spans()
	if err == nil {
		err = r.scan(spans, func(frame) error {
			var entries []Entry
			for _, e := range r.entries {
				e.Bytes = append([]byte(nil), e.Bytes...)
				entries = append(entries, e)
			}
			frames = append(frames, entries)
			return nil
		})
	}
	return frames, r.report.Damaged, err
}

// Newer makes the first half's header that of a newer program.
func Newer(files vfs.FS) {
	file, err := files.OpenFile(File, os.O_RDWR)
	if err != nil {
		panic(err)
	}
	var head [headSize]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		panic(err)
	}
	head[15]++
	binary.BigEndian.PutUint32(head[8:], crc32.Checksum(head[12:], castagnoli))
	if _, err := file.WriteAt(head[:], 0); err != nil {
		panic(err)
	}
}
