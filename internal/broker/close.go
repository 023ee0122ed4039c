package broker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
)

// errUnclean says why a stop was not a clean one; the next start recovers.
var errUnclean = errors.New("the stop was not clean: the next start recovers")

// Close stops cleanly: it ends Run, closes the partitions, writes checkpoints and manifest, and the marker last. Where anything of that
// fails, or a partition is offline or was not recovered yet, there is no marker, and the next start recovers.
func (b *Broker) Close() error {
	b.closed.Do(func() { b.result = b.close() })
	return b.result
}

func (b *Broker) close() error {
	b.entry.Lock()
	b.closing.Store(true)
	b.entry.Unlock()
	b.stop()
	b.runs.Wait()
	err := b.offline()
	if err == nil {
		err = b.retirePending()
	}
	slots := b.table.Load().slots()
	unclean := b.closeAll(slots, err == nil)
	if unclean == nil {
		unclean = unrecovered(slots)
	}
	clean := err == nil && unclean == nil
	if clean {
		if err = b.journal.Drain(); err != nil {
			clean, err = false, fmt.Errorf("drain the journal: %w", err)
		}
	}
	err = errors.Join(err, b.journal.Close())
	if closeErr := b.metadata.Close(clean); closeErr != nil {
		clean, err = false, errors.Join(err, fmt.Errorf("close the metadata log: %w", closeErr))
	}
	if err == nil {
		err = b.offline() // after a failed sync whose error did not matter where it was met
	}
	if err == nil {
		err = b.writeTop(slots, clean)
	}
	if unclean != nil {
		b.log.Warn("clean-shutdown marker is not written", slog.String("dir", b.opts.DataDir), slog.Any("why", unclean))
	}
	b.unclean = cmp.Or(err, unclean)
	return errors.Join(err, b.unlock())
}

// Unclean says, once Close has returned, why the next start must recover the logs; nil if it need not.
func (b *Broker) Unclean() error { return b.unclean }

// retirePending renames the directories of deleted topics; removing them can wait for the next start.
func (b *Broker) retirePending() error {
	for s := b.deleter.any(); s != nil; s = b.deleter.any() {
		if err := b.retire(s); err != nil {
			return err
		}
	}
	return nil
}

// closeAll closes the open partitions, a few at once; the error is one of those that did not close cleanly.
func (b *Broker) closeAll(slots []*slot, clean bool) error {
	var (
		next   atomic.Int64
		failed atomic.Pointer[failure]
		group  sync.WaitGroup
	)
	for range b.opts.SyncWorkers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(slots)); i = next.Add(1) - 1 {
				p := slots[i].open.Load()
				if p == nil {
					continue
				}
				if err := p.Close(clean); err != nil {
					b.log.Error("partition did not close cleanly", slog.Any("partition", p.ID()), slog.Any("err", err))
					failed.Store(&failure{fmt.Errorf("%s did not close cleanly: %w", p.ID(), err)})
				}
			}
		})
	}
	group.Wait()
	if f := failed.Load(); f != nil {
		return f.err
	}
	return nil
}

// unrecovered names a partition that a marker would wrongly call clean.
func unrecovered(slots []*slot) error {
	for _, s := range slots {
		s.mu.Lock()
		waits := s.open.Load() == nil && s.mu.there && !s.mu.clean
		s.mu.Unlock()
		if waits {
			return fmt.Errorf("%w: %s was not recovered yet", errUnclean, s.id)
		}
		if f := s.failed.Load(); f != nil {
			return fmt.Errorf("%w: %w", errUnclean, f.err)
		}
	}
	return nil
}

// writeTop writes the files at the top; with clean, the marker last.
func (b *Broker) writeTop(slots []*slot, clean bool) error {
	if err := b.writeCheckpoints(); err != nil {
		return fmt.Errorf("write checkpoints: %w", err)
	}
	if !clean {
		return nil
	}
	if err := writeSmall(b.opts.FS, manifestFile, manifestOf(slots).encode(b.epoch)); err != nil {
		return fmt.Errorf("write %s: %w", manifestFile, err)
	}
	if err := writeMarker(b.opts.FS, b.epoch); err != nil {
		return fmt.Errorf("write %s: %w", markerFile, err)
	}
	return nil
}

// manifestOf is what is known of all partitions that have a directory.
func manifestOf(slots []*slot) manifest {
	m := make(manifest, len(slots))
	for _, s := range slots {
		if f, ok := s.facts(); ok {
			m[s.key()] = f
		}
	}
	return m
}

// facts are what is known of the partition; not ok if that is too little for a manifest.
func (s *slot) facts() (facts, bool) {
	if p := s.open.Load(); p != nil && !p.Absent() {
		marks := p.Offsets()
		return facts{id: s.id.TopicID, start: marks.Start, end: marks.End, size: p.Size()}, true
	}
	f := s.known.facts
	f.id = s.id.TopicID
	return f, f.size != sizeUnknown && (f.size > 0 || f.end > 0)
}

// writeCheckpoints writes the recovery points, log starts and high watermarks, as Kafka has them. Partitions that nobody has touched keep
// what the files said before.
func (b *Broker) writeCheckpoints() error {
	b.checkpoints.mu.Lock()
	defer b.checkpoints.mu.Unlock()
	recovery, starts, marks := checkpoint{}, checkpoint{}, checkpoint{}
	b.table.Load().all(func(s *slot) {
		k := s.key()
		recoveryPoint, start, highWatermark := s.known.recoveryPoint, s.known.start, s.known.highWatermark
		if p := s.open.Load(); p != nil {
			offsets := p.Offsets()
			recoveryPoint, start, highWatermark = p.RecoveryPoint(), offsets.Start, offsets.HighWatermark
		}
		recovery.put(k, recoveryPoint)
		starts.put(k, start)
		marks.put(k, highWatermark)
	})
	recovery.put(metadataKey, b.control.Image().Version+1)
	for _, c := range []checkpoint{recovery, starts, marks} {
		b.checkpoints.noteLocked(c)
	}
	err := errors.Join(
		writeSmall(b.opts.FS, recoveryPointFile, recovery.encode()),
		writeSmall(b.opts.FS, startOffsetFile, starts.encode()),
		writeSmall(b.opts.FS, highWatermarkFile, marks.encode()),
	)
	if err == nil {
		b.checkpoints.mu.keys = nil
		for _, c := range []checkpoint{recovery, starts, marks} {
			b.checkpoints.noteLocked(c)
		}
	}
	return err
}

// forgetOld writes the checkpoints anew if they may have an entry of a deleted topic for s, which has no directory yet: after a crash the
// new topic's records would be judged by the old one's log start and recovery point.
func (b *Broker) forgetOld(s *slot) error {
	if !b.checkpoints.has(s.key()) {
		return nil
	}
	if err := b.writeCheckpoints(); err != nil {
		return fmt.Errorf("write checkpoints without those of the old %s: %w", s.id, err)
	}
	return nil
}

var _ partition.Syncer = (*syncer)(nil)

// Writable is nil, or KAFKA_STORAGE_ERROR (wrapped) while the disk is nearly full or the directory offline: produces are to be refused
// then. Reads, deletions and retention go on.
func (b *Broker) Writable() error {
	if err := b.offline(); err != nil {
		return fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
	}
	return b.space.writable()
}
