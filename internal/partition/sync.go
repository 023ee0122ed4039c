package partition

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition/replica"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Sync makes the log durable, advances the high watermark and wakes waiters. An error takes the partition offline:
// after a failed fsync nobody knows what is on the disk, and the next one would say that all is well. Syncs may run
// at the same time as appends and as one another. A closed partition has nothing to sync. With log.ErrNoSpace a file could not be
// opened: nothing is wrong, and the sync is to be asked for again.
func (p *Partition) Sync() error {
	if f := p.failure.Load(); f != nil {
		return f.cause()
	}
	end, err := p.log.Sync()
	if noRoom(err) {
		return fmt.Errorf("sync %s: %w", p.dir, err)
	}
	if err != nil {
		p.end(p.offline(fmt.Errorf("sync %s: %w", p.dir, err)))
		return p.failure.Load().cause()
	}
	p.synced(end)
	return nil
}

// synced takes the result of a sync, or of a journal's.
func (p *Partition) synced(end batch.Offset) {
	p.mu.Lock()
	effects := p.stepLocked(p.mu.now, replica.Synced{End: end})
	p.mu.Unlock()
	p.carryOut(effects)
}

// Settle makes what a journal holds of the partition durable in its own files. A partition that is offline for another reason than
// its disk is settled too: what was acknowledged stays. One that was closed has settled, or its topic is deleted.
func (p *Partition) Settle() error {
	end, err := p.log.Sync()
	f := p.failure.Load()
	switch {
	case err == nil && f == nil:
		p.synced(end)
		return nil
	case err == nil:
		return nil
	case f != nil && errors.Is(err, log.ErrClosed):
		return f.cause()
	case noRoom(err):
		return fmt.Errorf("sync %s: %w", p.dir, err)
	}
	p.end(p.offline(fmt.Errorf("sync %s: %w", p.dir, err)))
	return p.failure.Load().cause()
}

// Pending is the number of published bytes that are durable nowhere.
func (p *Partition) Pending() int64 { return p.log.Pending() }

// Unsynced is the number of published bytes that are not durable in the partition's own files.
func (p *Partition) Unsynced() int64 { return p.log.Unsynced() }

// TakeTail takes what a journal may make durable in the place of Sync; see log.TakeTail. The caller must call
// Journaled with it. A topic without an id has none: a journal could not tell whose it is.
func (p *Partition) TakeTail() (log.Tail, bool) {
	if p.failure.Load() != nil || p.id.TopicID == (topic.ID{}) {
		return log.Tail{}, false
	}
	return p.log.TakeTail()
}

// Journaled gives a tail back. Durable says that a journal has synced it; the high watermark advances then as after a Sync.
func (p *Partition) Journaled(t log.Tail, durable bool) {
	t.Done(durable)
	if durable {
		p.synced(t.End)
	}
}

// failure is why a partition answers nothing any more.
type failure struct {
	err    error // what callers get: a wrapped kerr value
	closed bool  // by Close, so nothing is wrong
}

// cause is what the failure means to those who care for the disk.
func (f *failure) cause() error {
	if f.closed {
		return nil
	}
	return f.err
}

// Fail takes the partition offline: everything waiting or asked gets KAFKA_STORAGE_ERROR. The first cause stays. The
// syncer is told, and learns the cause from Sync.
func (p *Partition) Fail(err error) {
	p.end(p.offline(err))
	if p.syncer != nil {
		p.syncer.Dirty(p)
	}
}

func (p *Partition) offline(err error) *failure {
	return &failure{err: fmt.Errorf("%s is offline: %w: %w", p.dir, err, kerr.KafkaStorageError)}
}

// end makes f the answer to everything from now on. It takes no lock, so a stuck append cannot hold it up.
func (p *Partition) end(f *failure) {
	if p.failure.CompareAndSwap(nil, f) {
		p.watchers.wake()
	}
}

// noRoom reports whether err is about room on the disk, descriptors or memory only: nothing is known to be lost, and there may be
// some later.
func noRoom(err error) bool {
	return !errors.Is(err, log.ErrFailed) && (errors.Is(err, log.ErrNoSpace) || vfs.IsShortage(err))
}
