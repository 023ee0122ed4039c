package log

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// listed is a file of the directory that belongs to a segment.
type listed struct {
	base  batch.Offset
	kind  segment.Kind
	state segment.State
	name  string
	size  int64
}

// list reads the directory. It looks at the sizes of logs only.
func (l *Log) list() (files []listed, err error) {
	entries, err := l.fs.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		base, kind, state, ok := segment.ParseName(name)
		switch {
		case entry.IsDir():
		case name == epochFile:
			l.loaded.epochFile = true
		case ok:
			f := listed{base: base, kind: kind, state: state, name: path.Join(l.dir, name)}
			if kind == segment.Log && state == segment.Live {
				info, err := entry.Info()
				if err != nil {
					return nil, err
				}
				f.size = info.Size()
			}
			files = append(files, f)
		case strings.HasSuffix(name, string(segment.Deleted)) && !strings.HasSuffix(name, ".checkpoint.deleted"):
			files = append(files, listed{base: -1, state: segment.Deleted, name: path.Join(l.dir, name)})
		}
	}
	return files, nil
}

// sweep finishes or undoes what a crash interrupted, as Kafka's LogLoader does, and returns what is live. Deleted and
// cleaned files go; a whole swap replaces the segments it overlaps.
func (l *Log) sweep() ([]listed, error) {
	files, err := l.list()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f listed) bool { return f.state != segment.Live }) {
		return files, nil
	}
	cleaned := batch.Offset(math.MaxInt64)
	for _, f := range files {
		if f.state == segment.Cleaned {
			cleaned = min(cleaned, f.base)
		}
	}
	var swaps []listed
	for _, f := range files {
		switch {
		case f.state == segment.Swap && f.base < cleaned:
			swaps = append(swaps, f)
		case f.state != segment.Live: // with cleaned files, a swap may be half of a split (KAFKA-6264)
			if err := l.remove(f.name); err != nil {
				return nil, err
			}
		}
	}
	if err := l.completeSwaps(files, swaps); err != nil {
		return nil, err
	}
	l.dirty.dir = true
	return l.list()
}

// completeSwaps removes the segments that swaps replace, durably, and then gives the swaps their names.
func (l *Log) completeSwaps(files, swaps []listed) error {
	from, to := batch.Offset(math.MaxInt64), batch.Offset(math.MinInt64)
	for _, f := range swaps {
		if f.kind != segment.Log {
			continue
		}
		end, err := l.endOfSwap(f)
		if err != nil {
			return err
		}
		from, to = min(from, f.base), max(to, end)
	}
	removed := false
	for _, f := range files {
		if f.state != segment.Live || f.base < from || f.base >= to {
			continue
		}
		if err := l.remove(f.name); err != nil {
			return err
		}
		removed = true
	}
	if removed {
		if err := l.fs.SyncDir(l.dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", l.dir, err)
		}
	}
	slices.SortStableFunc(swaps, func(a, b listed) int { // logs last: until then the swap can be completed again
		return boolInt(a.kind == segment.Log) - boolInt(b.kind == segment.Log)
	})
	for _, f := range swaps {
		if err := l.fs.Rename(f.name, strings.TrimSuffix(f.name, string(segment.Swap))); err != nil {
			return fmt.Errorf("complete swap: %w", err)
		}
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// endOfSwap is the offset after the last batch of a swap file.
func (l *Log) endOfSwap(f listed) (batch.Offset, error) {
	s, err := segment.OpenSwap(l.fs, l.dir, f.base)
	if err != nil {
		return 0, err
	}
	end := f.base
	err = s.Scan(0, s.Size(), func(h batch.Batch, _ int64, _ int) error {
		end = h.NextOffset()
		return nil
	})
	return end, errors.Join(err, s.Release())
}

func (l *Log) remove(name string) error {
	if err := l.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove leftover: %w", err)
	}
	return nil
}
