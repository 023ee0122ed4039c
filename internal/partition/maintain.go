package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition/replica"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// DeleteRecords raises the log start to before (-1: the high watermark) and returns the new low watermark. Errors:
// OFFSET_OUT_OF_RANGE above the high watermark, POLICY_VIOLATION without cleanup.policy=delete. A start that is
// higher already stays.
func (p *Partition) DeleteRecords(before batch.Offset) (batch.Offset, error) {
	p.mu.Lock()
	low, err := p.deleteRecordsLocked(before)
	p.mu.Unlock()
	p.watchers.wake()
	switch {
	case noRoom(err):
		err = fmt.Errorf("%w: %w", err, kerr.KafkaStorageError)
	case err != nil && !isProtocol(err):
		p.Fail(err)
		err = p.failure.Load().err
	}
	return low, err
}

func (p *Partition) deleteRecordsLocked(before batch.Offset) (batch.Offset, error) {
	committed := p.mu.replica.HighWatermark()
	if err := p.refusal(); err != nil {
		return -1, err
	}
	switch {
	case !p.opts.Load().Delete:
		return -1, fmt.Errorf("cleanup.policy of %s has no delete: %w", p.id.Topic, kerr.PolicyViolation)
	case before == -1:
		before = committed
	case before < 0 || before > committed:
		return -1, fmt.Errorf("delete records of %s before %d, the high watermark is %d: %w",
			p.id, before, committed, kerr.OffsetOutOfRange)
	}
	if before > p.log.Start() {
		if err := p.log.AdvanceStart(before); err != nil {
			return -1, fmt.Errorf("delete records of %s before %d: %w", p.dir, before, err)
		}
	}
	return p.log.Start(), nil
}

// Maintain rolls an old segment, applies retention, expires producers and asks for the sync that flush.ms wants; the
// broker calls it by timer. An error but want of room takes the partition offline.
func (p *Partition) Maintain(now time.Time) error {
	if f := p.failure.Load(); f != nil {
		return f.cause()
	}
	p.mu.Lock()
	effects, err := p.maintainLocked(now)
	p.mu.Unlock()
	if err != nil && !noRoom(err) {
		p.Fail(err)
	}
	p.carryOut(effects)
	return err
}

func (p *Partition) maintainLocked(now time.Time) (replica.Effects, error) {
	opts := p.opts.Load()
	effects := p.stepLocked(now, replica.Tick{})
	if opts.ProducerExpiry > 0 {
		p.mu.producers.Expire(now.UnixMilli(), opts.ProducerExpiry.Milliseconds())
	}
	if err := p.log.RollIfOld(now); err != nil {
		return effects, fmt.Errorf("roll %s: %w", p.dir, err)
	}
	if !opts.Delete {
		return effects, nil
	}
	deleted, err := p.retainLocked(now)
	effects.Advanced = effects.Advanced || deleted // the start moved: watchers look again
	return effects, err
}

// retainLocked applies retention up to the high watermark and reports whether anything was deleted.
func (p *Partition) retainLocked(now time.Time) (bool, error) {
	n, err := p.log.Retain(now, p.mu.replica.HighWatermark())
	if err != nil {
		return n > 0, fmt.Errorf("retain %s: %w", p.dir, err)
	}
	return n > 0, nil
}

// isProtocol reports whether err is an answer rather than an accident.
func isProtocol(err error) bool {
	_, ok := errors.AsType[*kerr.Error](err)
	return ok
}
