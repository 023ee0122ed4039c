package journal

import (
	"errors"
	"fmt"
	"maps"
)

// voidBlocks are kept free for void frames at a half's end, but for at most an eighth of it.
const voidBlocks = 64

func (j *Journal) voidRoom() int64 { return min(voidBlocks*block, j.half/8/block*block) }

// Commit writes the group as one frame and syncs it: all its bytes are durable when it returns nil. ErrFull and ErrOff say that
// the files are to be synced instead. Any other error is final, for the log directory.
func (j *Journal) Commit(g *Group) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.readyLocked(); err != nil {
		return err
	}
	size := frameSize(len(g.buf) - frameHead)
	if err := j.makeRoom(size, j.voidRoom()); err != nil {
		return err
	}
	return j.write(g, size)
}

// Void makes all that the journal holds of a partition void, durably; its bytes must be durable in its own files. ErrFull says that
// there is no room now: what needed it may be tried again later.
func (j *Journal) Void(key Key) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.failed != nil {
		return j.failed
	}
	if j.file == nil || !j.holds(key) {
		return nil
	}
	var g Group
	g.Reset()
	g.buf = appendEntry(g.buf, Entry{Key: key, void: true}, 0)
	g.count = 1
	size := frameSize(len(g.buf) - frameHead)
	if err := j.makeRoom(size, 0); err != nil {
		return fmt.Errorf("void %s: %w", key.Dir, err)
	}
	return j.write(&g, size)
}

// holds says whether a half has something of the partition.
func (j *Journal) holds(key Key) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.mu.halves {
		if _, ok := j.mu.halves[i].owners[key]; ok {
			return true
		}
	}
	return false
}

// makeRoom changes halves if the active one has no size bytes left beside spare.
func (j *Journal) makeRoom(size, spare int64) error {
	if size > j.half-block-spare {
		return fmt.Errorf("%w: a frame of %d bytes, a half has %d", ErrFull, size, j.half)
	}
	if j.pos+size+spare <= j.half && (spare == 0 || j.owners() < ownersMax) {
		return nil
	}
	return j.turn()
}

// ownersMax bounds the partitions in a half: their files stay open until they are settled, and are synced by a replay.
const ownersMax = 2000

func (j *Journal) owners() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.mu.halves[j.mu.active].owners)
}

// turn closes the active half and starts the other one, if that is settled.
func (j *Journal) turn() error {
	j.mu.Lock()
	next := 1 - j.mu.active
	free := j.mu.halves[next].settled()
	generation := j.mu.halves[j.mu.active].generation + 1
	j.mu.Unlock()
	if !free {
		return ErrFull
	}
	return j.startHalf(next, generation)
}

// Turn has what stands in the active half settled though it is not full. It does nothing while the other half is not settled. An
// error is final.
func (j *Journal) Turn() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.settleAgain()
	if j.failed != nil || j.file == nil || j.owners() == 0 {
		return j.failed
	}
	if err := j.turn(); err != nil && !errors.Is(err, ErrFull) {
		return err
	}
	return nil
}

// write writes and syncs one frame, for which there is room. Its owners are noted first: even a frame that failed may be replayed.
func (j *Journal) write(g *Group, size int64) error {
	j.mu.Lock()
	active := j.mu.active
	h := &j.mu.halves[active]
	maps.Copy(h.owners, g.owners)
	generation := h.generation
	j.mu.Unlock()
	stamp(g.buf, generation, j.sequence, j.opts.Secret, g.count)
	length := len(g.buf)
	g.buf = append(g.buf, zeros[:size-int64(length)]...)
	padded := g.buf
	g.buf = g.buf[:length]
	if _, err := j.file.WriteAt(padded, int64(active)*j.half+j.pos); err != nil {
		return j.writeError(err)
	}
	if err := j.file.Sync(); err != nil {
		return j.fail(fmt.Errorf("sync %s: %w", File, err))
	}
	j.pos += size
	j.sequence++
	return nil
}

var zeros [block]byte //nolint:gochecknoglobals // never written
