package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"syscall"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const (
	epochFile    = "leader-epoch-checkpoint"
	epochFileMax = 64 << 20 // bytes; two million epochs
)

// flush writes the file if it is behind: whole, under another name, synced, then renamed. The caller syncs the directory
// if renamed says so.
func (e *epochs) flush(fsys vfs.FS, dir string) (renamed bool, err error) {
	e.mu.Lock()
	dirty := e.mu.dirty
	e.mu.dirty = false
	list := e.all()
	e.mu.Unlock()
	if !dirty {
		return false, nil
	}
	name := path.Join(dir, epochFile)
	if err := vfs.ReplaceFile(fsys, name, formatEpochs(list)); err != nil {
		e.mu.Lock()
		e.mu.dirty = true
		e.mu.Unlock()
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	return true, nil
}

// formatEpochs is the file's text: a version, a count, a line for each epoch (Kafka's LeaderEpochCheckpointFile).
func formatEpochs(list []epochStart) []byte {
	b := []byte("0\n")
	b = append(strconv.AppendInt(b, int64(len(list)), 10), '\n')
	for _, e := range list {
		b = append(strconv.AppendInt(b, int64(e.epoch), 10), ' ')
		b = append(strconv.AppendInt(b, int64(e.start), 10), '\n')
	}
	return b
}

// readEpochs reads the file. Any error means that it is not to be used.
func readEpochs(fsys vfs.FS, dir string) (list []epochStart, err error) {
	name := path.Join(dir, epochFile)
	file, err := fsys.OpenFile(name, syscall.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size > epochFileMax {
		return nil, fmt.Errorf("%w: %s has %d bytes, the limit is %d", batch.ErrCorrupt, name, size, epochFileMax)
	}
	content := make([]byte, size)
	if _, err := file.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	list, err = parseEpochs(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

func parseEpochs(content []byte) ([]epochStart, error) {
	bad := func(what string, line []byte) error {
		return fmt.Errorf("%w: expected %s, found %q", batch.ErrCorrupt, what, line)
	}
	version, rest, _ := bytes.Cut(content, []byte("\n"))
	if string(bytes.TrimSpace(version)) != "0" {
		return nil, bad("version 0", version[:min(len(version), 40)])
	}
	count, rest, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(count)))
	if err != nil || n < 0 || n > len(rest)/4+1 {
		return nil, bad("a count of lines", count[:min(len(count), 40)])
	}
	list := make([]epochStart, 0, n)
	for line := range bytes.Lines(rest) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, bad("an epoch and an offset", line[:min(len(line), 40)])
		}
		epoch, err1 := strconv.ParseInt(string(fields[0]), 10, 32)
		start, err2 := strconv.ParseInt(string(fields[1]), 10, 64)
		entry := epochStart{batch.Epoch(epoch), batch.Offset(start)}
		if err1 != nil || err2 != nil || epoch < 0 || start < 0 || !follows(list, entry) {
			return nil, bad("a larger epoch and offset", line[:min(len(line), 40)])
		}
		list = append(list, entry)
	}
	if len(list) != n {
		return nil, fmt.Errorf("%w: expected %d epochs, found %d", batch.ErrCorrupt, n, len(list))
	}
	return list, nil
}

func follows(list []epochStart, next epochStart) bool {
	if len(list) == 0 {
		return true
	}
	last := list[len(list)-1]
	return next.epoch > last.epoch && next.start > last.start
}
