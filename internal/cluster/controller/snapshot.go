package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// snapshotSuffix ends the name of a snapshot: "<end offset, 20 digits>-<epoch, 10 digits>.checkpoint" (Kafka's Snapshots).
const snapshotSuffix = ".checkpoint"

// snapshotMax bounds a snapshot's size in bytes: it is read whole.
const snapshotMax = 1 << 30

// LoadSnapshot makes a state of the newest snapshot in dir that can be read; without one, the state before the first record. Snapshots that
// cannot be read are told to skipped: the log may reach further back.
func LoadSnapshot(files vfs.FS, dir, clusterID string, controller int32, skipped func(error)) (*meta.State, error) {
	names, err := snapshots(files, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		state := meta.New(clusterID, controller)
		err := load(files, dir+"/"+name, snapshotEnd(name), state)
		if err == nil {
			return state, nil
		}
		skipped(fmt.Errorf("metadata snapshot %s/%s is not used: %w", dir, name, err))
	}
	return meta.New(clusterID, controller), nil
}

// snapshots lists the snapshots in dir, oldest first.
func snapshots(files vfs.FS, dir string) ([]string, error) {
	entries, err := files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if snapshotEnd(e.Name()) >= 0 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// snapshotEnd is the offset after the last record in a snapshot, from its name; -1 for another file's name.
func snapshotEnd(name string) batch.Offset {
	id, ok := strings.CutSuffix(name, snapshotSuffix)
	if !ok || len(id) != 20+1+10 || id[20] != '-' {
		return -1
	}
	end, err := strconv.ParseInt(id[:20], 10, 64)
	if err != nil {
		return -1
	}
	if _, err := strconv.ParseInt(id[21:], 10, 32); err != nil {
		return -1
	}
	return batch.Offset(end)
}

func load(files vfs.FS, name string, end batch.Offset, state *meta.State) error {
	content, err := vfs.ReadFile(files, name, snapshotMax)
	if err != nil {
		return err
	}
	var cursor batch.Cursor
	for len(content) > 0 {
		b, rest, err := batch.Next(content)
		if err == nil {
			err = b.CheckCRC()
		}
		if err == nil {
			_, err = replayBatch(&cursor, b, 0, func(_ batch.Offset, value []byte) error { return restore(state, value) })
		}
		if err != nil {
			return err
		}
		content = rest
	}
	state.Skip(end - 1)
	return nil
}

// restore applies one record of a snapshot. Their offsets are the snapshot's own.
func restore(state *meta.State, value []byte) error {
	if value == nil {
		return nil
	}
	r, err := meta.DecodeRecord(value)
	if err != nil {
		return err
	}
	return state.Apply(state.Version()+1, r)
}
