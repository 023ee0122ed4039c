package partition

import (
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition/replica"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Append judges and appends a group of batches, in order, with as few writes as it can, and fills in their results.
// CRC and structure are checked before the lock is taken. A refused batch takes no offset, and later ones of its
// producer in the group are gaps.
func (p *Partition) Append(now time.Time, group []*Produce) {
	opts := p.opts.Load()
	checks := opts.checks(now)
	for _, pr := range group {
		pr.reset()
		if err := opts.validate(pr, checks); err != nil {
			pr.refuseInvalid(err)
		}
	}
	if p.needsCreating(group) {
		if err := p.create(); err != nil {
			refuseRest(group, 0, err)
			return
		}
	}
	p.mu.Lock()
	effects, err := p.appendLocked(now, group)
	p.mu.Unlock()
	if err != nil {
		p.Fail(err)
	}
	p.carryOut(effects)
}

// appendLocked appends the valid batches of group. The error is final for the partition.
func (p *Partition) appendLocked(now time.Time, group []*Produce) (effects replica.Effects, err error) {
	if err := p.refusal(); err != nil {
		refuseRest(group, 0, err)
		return effects, nil
	}
	for len(group) > 0 {
		n := p.judgeLocked(now, group, math.MaxInt)
		if len(p.mu.group) == 0 {
			p.mu.producers.Discard()
			return effects, nil
		}
		// A write never spans segments. Judging is repeatable, so what must go to the next one is judged again
		// once this one is written, and the snapshot made at the roll knows nothing of it.
		if fit := p.log.Fit(p.mu.group); fit < len(p.mu.group) {
			p.mu.producers.Discard()
			n = p.judgeLocked(now, group, fit)
		}
		err := p.log.Append(now, p.mu.group)
		clear(p.mu.group) // keep no reference to the callers' bytes
		if err != nil {
			p.mu.producers.Discard()
			refuseRest(group, p.log.End(), fmt.Errorf("append to %s: %w: %w", p.dir, err, kerr.KafkaStorageError))
			if noRoom(err) {
				err = nil
			}
			return effects, err
		}
		p.mu.producers.Commit()
		step := p.stepLocked(now, replica.Appended{End: p.log.End()})
		effects.Advanced = effects.Advanced || step.Advanced
		effects.Sync = step.Sync
		group = group[n:]
	}
	if p.opts.Load().Delete && p.log.Oversize() { // not only by timer, or a fast producer fills the disk
		deleted, err := p.retainLocked(now)
		effects.Advanced = effects.Advanced || deleted
		if err != nil && !noRoom(err) {
			return effects, err
		}
	}
	return effects, nil
}

// judgeLocked judges the batches of group in order against the producers, gives the accepted ones their offsets and
// collects them in p.mu.group, up to limit. It returns how many of group were judged.
func (p *Partition) judgeLocked(now time.Time, group []*Produce, limit int) int {
	opts, epoch, ms := p.opts.Load(), p.mu.replica.Epoch(), now.UnixMilli()
	p.mu.group = p.mu.group[:0]
	next := p.log.End()
	for i, pr := range group {
		if pr.Err != nil {
			if header, err := batch.HeaderOf(pr.Records); err == nil {
				p.mu.producers.Refuse(header)
			}
			continue
		}
		b := batch.Batch(pr.Records)
		timestamp := b.MaxTimestamp()
		if opts.LogAppendTime && !b.IsControl() {
			timestamp, pr.AppendTime = ms, ms
		}
		verdict, err := p.mu.producers.Check(ms, b, next, timestamp)
		switch {
		case err != nil:
			pr.refuse(err)
			continue
		case verdict.Duplicate:
			pr.Duplicate, pr.Base, pr.End = true, verdict.Base, verdict.Last+1
			pr.AppendTime = verdict.Timestamp // as in Kafka, whatever the topic's timestamps are (UnifiedLog.append)
			continue
		}
		b.SetBaseOffset(next)
		b.SetLeaderEpoch(epoch)
		if pr.AppendTime != batch.NoTimestamp {
			b.SetLogAppendTime(ms)
		}
		next = b.NextOffset()
		pr.Base, pr.End, pr.Count, pr.Bytes = b.BaseOffset(), next, b.Count(), len(b)
		if p.mu.group = append(p.mu.group, b); len(p.mu.group) == limit {
			return i + 1
		}
	}
	return len(group)
}

// refuseRest refuses what of group was not refused before, except duplicates of what stands below end.
func refuseRest(group []*Produce, end batch.Offset, err error) {
	for _, pr := range group {
		if pr.Err == nil && (!pr.Duplicate || pr.End > end) {
			pr.refuse(err)
		}
	}
}

// refusal says why nothing may be appended or read here now, or is nil.
func (p *Partition) refusal() error {
	if f := p.failure.Load(); f != nil {
		return f.err
	}
	if p.LeaderEpoch() == batch.NoEpoch {
		return fmt.Errorf("%s leads no epoch here: %w", p.id, kerr.NotLeaderForPartition)
	}
	return nil
}
