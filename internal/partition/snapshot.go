package partition

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/partition/producers"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const (
	snapshotSuffix = ".snapshot"
	// snapshotsKept is how many producer snapshots stay: the newest may be torn by a crash.
	snapshotsKept = 2
	// snapshotMax bounds what is read of one, in bytes: over a million producers.
	snapshotMax = 256 << 20
)

// snapshotName is the file of the producers' state below offset at.
func snapshotName(dir string, at batch.Offset) string {
	return path.Join(dir, fmt.Sprintf("%020d", at)+snapshotSuffix)
}

// listSnapshots returns the offsets of the producer snapshots in dir, ascending.
func listSnapshots(fs vfs.FS, dir string) ([]batch.Offset, error) {
	entries, err := fs.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var found []batch.Offset
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), snapshotSuffix)
		at, err := strconv.ParseInt(digits, 10, 64)
		if ok && err == nil && at >= 0 && path.Join(dir, e.Name()) == snapshotName(dir, batch.Offset(at)) {
			found = append(found, batch.Offset(at))
		}
	}
	slices.Sort(found)
	return found, nil
}

// loadProducers makes the producers what the log says: the newest snapshot that can be believed, and the headers of
// the batches after it. Snapshots past the log's end are of records that a crash took; others will stand at their
// offsets, so they are removed, durably, before anything is appended. Corrupt ones go too.
func (p *Partition) loadProducers(now int64) error {
	if p.log.Absent() {
		p.mu.producers = producers.New()
		return nil
	}
	found, err := listSnapshots(p.fs, p.dir)
	if err != nil {
		return err
	}
	start, end := p.log.Start(), p.log.End()
	from, removed := start, false
	for len(found) > 0 && p.mu.producers == nil {
		at := found[len(found)-1]
		if at >= start && at <= end {
			if p.mu.producers, err = p.readSnapshot(now, at); err == nil {
				from = at
				break
			} else if !errors.Is(err, batch.ErrCorrupt) {
				return err
			}
		} else if at < start {
			break // what lies between it and the start is gone
		}
		if err := p.fs.Remove(snapshotName(p.dir, at)); err != nil {
			return fmt.Errorf("remove %s: %w", snapshotName(p.dir, at), err)
		}
		found, removed = found[:len(found)-1], true
	}
	p.mu.snapshots = found
	if removed {
		if err := p.fs.SyncDir(p.dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", p.dir, err)
		}
	}
	return p.replay(now, from, end)
}

// replay applies the batches of the log in [from, end).
func (p *Partition) replay(now int64, from, end batch.Offset) error {
	if p.mu.producers == nil {
		p.mu.producers = producers.New()
	}
	if from >= end {
		return nil
	}
	_, damaged := p.log.Damage(0)
	err := p.log.Scan(from, func(header batch.Batch) error {
		if damaged > 0 && p.log.Unreadable(header.BaseOffset()) {
			p.mu.producers.ApplyDamaged(now, header)
		} else {
			p.mu.producers.Apply(now, header)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read producers of %s from offset %d: %w", p.dir, from, err)
	}
	return nil
}

func (p *Partition) readSnapshot(now int64, at batch.Offset) (*producers.Table, error) {
	name := snapshotName(p.dir, at)
	data, err := readFile(p.fs, name, snapshotMax)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	table, err := producers.Restore(now, data, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return table, nil
}

// writeSnapshotLocked writes the producers' state below offset at, which is where the log ends, and removes old
// snapshots. A shortage is no error: the log has it all.
func (p *Partition) writeSnapshotLocked(at batch.Offset, durable bool) error {
	name := snapshotName(p.dir, at)
	if err := vfs.WriteFile(p.fs, name, p.mu.producers.Snapshot(nil), durable); err != nil {
		if !noRoom(err) {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if err := removeFile(p.fs, name); err != nil && !noRoom(err) { // if it stays, it is corrupt or whole
			return err
		}
		return nil
	}
	if i, found := slices.BinarySearch(p.mu.snapshots, at); !found {
		p.mu.snapshots = slices.Insert(p.mu.snapshots, i, at)
	}
	for len(p.mu.snapshots) > snapshotsKept {
		if err := removeFile(p.fs, snapshotName(p.dir, p.mu.snapshots[0])); noRoom(err) {
			break // one more stays until the next time
		} else if err != nil {
			return err
		}
		p.mu.snapshots = slices.Delete(p.mu.snapshots, 0, 1)
	}
	return nil
}

// removeFile removes name, which may be gone already.
func removeFile(files vfs.FS, name string) error {
	if err := files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// readFile reads a side file of at most limit bytes; a longer one is corrupt.
func readFile(files vfs.FS, name string, limit int64) ([]byte, error) {
	data, err := vfs.ReadFile(files, name, limit)
	if errors.Is(err, vfs.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", err, batch.ErrCorrupt)
	}
	return data, err
}
