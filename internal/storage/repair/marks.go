package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// checkpointMax bounds what is read of a checkpoint, in bytes.
const checkpointMax = 256 << 20

// marks are what the files at the top of a data directory say of its partitions, by directory.
type marks struct {
	durable map[string]batch.Offset // the recovery point, or the journal's end beyond it
	seen    map[string]batch.Offset // the high watermark: what consumers may have read
	start   map[string]batch.Offset
	cleaned map[string]batch.Offset
}

// readMarks reads the checkpoints. One that is missing or damaged says nothing.
func readMarks(files vfs.FS) (m marks, err error) {
	read := func(name string) map[string]batch.Offset {
		content, e := vfs.ReadFile(files, name, checkpointMax)
		if e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return parseCheckpoint(string(content))
	}
	m.durable, m.start, m.cleaned = read("recovery-point-offset-checkpoint"), read("log-start-offset-checkpoint"), read("cleaner-offset-checkpoint")
	m.seen = read("replication-offset-checkpoint")
	return m, err
}

// parseCheckpoint reads the lines "topic partition offset" of a checkpoint, and passes over others.
func parseCheckpoint(text string) map[string]batch.Offset {
	offsets := map[string]batch.Offset{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		index, err1 := strconv.ParseInt(fields[1], 10, 32)
		offset, err2 := strconv.ParseInt(fields[2], 10, 64)
		if err1 == nil && err2 == nil && offset >= 0 {
			offsets[topic.Dir(fields[0], int32(index))] = batch.Offset(offset)
		}
	}
	return offsets
}

// journalWaits reports whether an unclean stop left records in the journal that the next start would put into the segments. One beside the
// mark of a clean stop is older than that stop.
func journalWaits(files vfs.FS) (bool, error) {
	if _, err := files.Stat(journal.File); err != nil {
		return false, ignoreMissing(err)
	}
	_, err := files.Stat(".kafka_cleanshutdown")
	return err != nil, ignoreMissing(err)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// replayJournal does what the next start would do first. A directory that does not say whose it is is the broker's to judge: it knows
// the metadata.
func replayJournal(files vfs.FS) (map[journal.Key]batch.Offset, error) {
	report, err := journal.Replay(files, func(dir string) (topic.ID, error) {
		content, err := vfs.ReadFile(files, dir+"/partition.metadata", 1<<10)
		if errors.Is(err, fs.ErrNotExist) {
			if _, e := files.Stat(dir); e != nil {
				return topic.ID{}, err
			}
		}
		for line := range strings.Lines(string(content)) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "topic_id:"); ok && err == nil {
				if id, err := topic.ParseID(strings.TrimSpace(text)); err == nil {
					return id, nil
				}
			}
		}
		return topic.ID{}, fmt.Errorf("%s/partition.metadata names no topic; start the broker once, which writes it anew, stop it, and try again: %w", dir, syscall.EINVAL)
	})
	return report.Restored, err
}
