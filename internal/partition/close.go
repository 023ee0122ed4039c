package partition

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition/replica"
)

// Close closes the partition; with clean it syncs and writes the producer snapshot at the log's end. What still
// waits then is answered: with success if that sync made it durable, else NOT_LEADER_OR_FOLLOWER, so that clients
// look for the leader again. A partition that is offline is not closed cleanly, and its Close gives the cause.
func (p *Partition) Close(clean bool) error {
	p.creating.Lock() // what is being made is made first, and nothing after
	defer p.creating.Unlock()
	p.mu.Lock()
	err := p.closeLocked(clean)
	p.mu.Unlock()
	p.watchers.wake()
	return err
}

func (p *Partition) closeLocked(clean bool) error {
	var err error
	if f := p.failure.Load(); f != nil {
		if f.closed {
			return nil
		}
		clean, err = false, f.err
	}
	if clean && !p.log.Absent() {
		err = p.settleLocked()
		clean = err == nil
	}
	p.end(&failure{err: fmt.Errorf("%s is closed here: %w", p.id, kerr.NotLeaderForPartition), closed: true})
	if closeErr := p.log.Close(clean); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close %s: %w", p.dir, closeErr))
	}
	return err
}

// settleLocked makes everything durable, and the producers' state beside it.
func (p *Partition) settleLocked() error {
	end, err := p.log.Sync()
	if err != nil {
		p.end(p.offline(fmt.Errorf("sync %s: %w", p.dir, err)))
		return p.failure.Load().err
	}
	p.stepLocked(p.mu.now, replica.Synced{End: end})
	if err := p.writeSnapshotLocked(end, true); err != nil {
		return err
	}
	if err := p.fs.SyncDir(p.dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", p.dir, err)
	}
	return nil
}
