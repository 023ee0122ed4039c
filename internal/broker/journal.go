package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/journal"
)

// settleWorkers is how many partitions are synced behind the journal at a time: enough to be done before its other half is full, too
// few to be in the way of those who wait.
const settleWorkers = 2

// journalPatience is how often several partitions must be dirty at once before the journal is made.
const journalPatience = 32

// prepareJournal makes the journal ready for use. One beside the marker of a clean stop is older than that stop, which was another
// program's: it is thrown away.
func (b *Broker) prepareJournal() error {
	id := randomID()
	b.journal = journal.New(journal.Options{
		FS: b.opts.FS, Size: b.opts.JournalBytes, Patience: journalPatience, Log: b.log, Secret: binary.BigEndian.Uint64(id[8:]),
		Failed: func(owner journal.Owner, err error) {
			b.syncFailed(owner.(settler).partition, err) //nolint:errcheck // it owns nothing for others; another type is a bug, which must not hide the failed sync
		},
	})
	if b.opts.JournalBytes > 0 {
		b.syncer.journal.Store(b.journal)
	}
	switch _, err := b.opts.FS.Stat(markerFile); {
	case err == nil:
		there, err := journal.Discard(b.opts.FS)
		if there {
			b.log.Warn("journal of an unclean stop is thrown away: another program has opened and closed the directory since",
				slog.String("dir", b.opts.DataDir), slog.String("file", journal.File))
		}
		return err
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// replayJournal puts what an unclean stop left in the journal into the segments, and returns the ends that are durable so. The metadata
// is loaded by then, and no partition is open.
func (b *Broker) replayJournal() (map[journal.Key]batch.Offset, error) {
	report, err := journal.Replay(b.opts.FS, b.topicOf)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", b.opts.DataDir, err)
	}
	for _, damage := range report.Damaged {
		b.log.Error("journal is damaged: acknowledged records may be lost", slog.String("dir", b.opts.DataDir), slog.Any("err", damage))
	}
	if report.There {
		b.log.Info("journal replayed", slog.String("dir", b.opts.DataDir), slog.Int("frames", report.Frames), slog.Int("entries", report.Entries), slog.Int("skipped", report.Skipped),
			slog.Int("partitions", len(report.Restored)), slog.Int64("bytes", report.Bytes))
	}
	return report.Restored, nil
}

// topicOf is whose a partition's directory is: what its partition.metadata says or, where that is lost or damaged, the topic of that name,
// which the file is written anew for when the partition is opened.
func (b *Broker) topicOf(dir string) (topic.ID, error) {
	id, err := readTopicID(b.opts.FS, dir)
	if _, io := errors.AsType[syscall.Errno](err); err == nil || io && !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	name, _, _ := topic.ParseDir(dir)
	if t := b.control.Image().Topic(name); t != nil {
		return t.ID, nil
	}
	return id, err
}

// turnJournal has what stands in the journal settled, so that recovery points move on and a crash leaves little to replay though nothing
// more is written.
func (b *Broker) turnJournal() {
	if err := b.journal.Turn(); err != nil {
		b.fail(err)
	}
}
