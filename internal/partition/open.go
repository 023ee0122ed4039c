package partition

import (
	"fmt"
	"time"

	"github.com/ottla-io/ottla/internal/partition/replica"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// OpenOptions say in what state a partition's directory is.
type OpenOptions struct {
	Options
	// Absent: there is no directory yet. The partition is empty, and nothing of it is made before its first append.
	Absent bool
	// OnCreate is called before the directory of an absent partition is made, outside of the partition's lock; it may be called again after
	// an error. It must not call the partition. Nil: nothing is.
	OnCreate      func() error
	Clean         bool         // see log.OpenOptions
	RecoveryPoint batch.Offset // see log.OpenOptions
	StartOffset   batch.Offset // see log.OpenOptions
	Cleaned       batch.Offset // see log.OpenOptions
	OnRewrite     func() error // see log.OpenOptions
	Syncer        Syncer       // told of what wants a sync; nil: nobody is
}

// Open opens or creates the partition's directory dir; it also checks or writes partition.metadata, anew if it cannot be read (Mended). The partition
// leads nothing until Lead. Everything that the log holds is durable and committed when Open returns: what a crash of the
// process left in the page cache is synced first, and so is the directory of a new one. With Absent the disk is not asked at all.
func Open(fs vfs.FS, dir string, id ID, now time.Time, opts OpenOptions) (*Partition, error) {
	var damage, err error
	present := opts.Absent
	if !opts.Absent { // another topic's directory must not even be recovered
		if present, damage, err = checkMetadata(fs, dir, id); err != nil {
			return nil, err
		}
	}
	p := &Partition{id: id, fs: fs, dir: dir, syncer: opts.Syncer, onCreate: opts.OnCreate, mended: damage}
	p.opts.Store(&opts.Options)
	p.mu.now = now
	p.log, err = log.Open(fs, dir, now, log.OpenOptions{
		Options: opts.Log, Absent: opts.Absent, Clean: opts.Clean || opts.Absent, RecoveryPoint: opts.RecoveryPoint, StartOffset: opts.StartOffset,
		Compacted: opts.Compact, Cleaned: opts.Cleaned, OnRewrite: opts.OnRewrite,
		OnRoll: func(base batch.Offset) error { return p.writeSnapshotLocked(base, false) },
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := p.load(!present, !opts.Absent && (!opts.Clean || !present)); err != nil {
		_ = p.log.Close(false) // the first error says more
		return nil, err
	}
	return p, nil
}

// load brings the opened log's companions up to date: it writes the metadata and syncs the log, if asked to.
func (p *Partition) load(metadata, sync bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if metadata {
		if err := writeMetadata(p.fs, p.dir, p.id.TopicID); err != nil {
			return err
		}
		p.log.DirChanged()
	}
	if sync {
		if _, err := p.log.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", p.dir, err)
		}
	}
	if err := p.loadProducers(p.mu.now.UnixMilli()); err != nil {
		return err
	}
	p.mu.replica = replica.New(p.opts.Load().replica(), p.log.End())
	p.stepLocked(p.mu.now, replica.Tick{})
	return nil
}
