package broker

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// How often the broker looks at what no setting times.
const (
	spaceEvery = time.Second
	flushEvery = 500 * time.Millisecond
)

// Run syncs, retains, compacts, checkpoints, recovers and deletes until ctx ends or Close is called; it returns when all that it started
// has ended. Partitions that asked for a sync get it before.
func (b *Broker) Run(ctx context.Context) error {
	if !b.enter() {
		return nil
	}
	defer b.runs.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.stopped, cancel)()

	var syncers, settlers, others sync.WaitGroup
	syncers.Go(b.syncer.gather)
	for range b.opts.SyncWorkers {
		syncers.Go(b.syncer.work)
	}
	for range settleWorkers {
		settlers.Go(b.journal.Settle)
	}
	others.Go(func() { b.recoverAll(ctx) })
	others.Go(func() { b.runDeleter(ctx) })
	others.Go(func() { b.unpin(ctx) })
	others.Go(func() { every(ctx, askAgainEvery, b.askAgain) })
	others.Go(func() { every(ctx, b.opts.MaintainInterval, b.maintain) })
	others.Go(func() { every(ctx, flushEvery, b.flushOld) })
	others.Go(func() { every(ctx, spaceEvery, func(context.Context) { b.space.check() }) })
	others.Go(func() { every(ctx, b.opts.CheckpointEvery, func(context.Context) { b.checkpoint() }) })
	others.Go(func() { b.runCleaner(ctx) })
	<-ctx.Done()
	others.Wait()
	b.syncer.stop()
	syncers.Wait()
	b.journal.Stop()
	settlers.Wait()
	return nil
}

// enter counts a Run in; false if Close has begun.
func (b *Broker) enter() bool {
	b.entry.Lock()
	defer b.entry.Unlock()
	if b.closing.Load() {
		return false
	}
	b.runs.Add(1)
	return true
}

// askAgainEvery is the shortest time from a sync that found no descriptor to the next try.
const askAgainEvery = 100 * time.Millisecond

// unpin has files synced and closed whenever unsynced ones hold too many descriptors: they wait for a sync that may be far off, of a topic
// that asks for few or of a journal that is not full yet.
func (b *Broker) unpin(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.pinned:
			b.relieve()
		}
	}
}

// askAgain asks for syncs of all that is unsynced after one that found no descriptor.
func (b *Broker) askAgain(context.Context) {
	select {
	case <-b.unbegun:
	default:
		return
	}
	b.table.Load().all(func(s *slot) {
		if p := s.open.Load(); p != nil && p.RecoveryPoint() < p.Offsets().End {
			b.syncer.Dirty(p)
		}
	})
}

// every calls fn at each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, fn func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			fn(ctx)
		}
	}
}

// maintain rolls, retains and expires in every partition. One that nobody has touched is opened for it, unless it is known to be empty.
func (b *Broker) maintain(ctx context.Context) {
	for _, s := range b.table.Load().slots() {
		if ctx.Err() != nil || b.offline() != nil {
			return
		}
		p := s.open.Load()
		if p == nil {
			if !s.worthOpening() {
				continue
			}
			var err error
			if p, err = b.touch(s); err != nil {
				continue // logged where it was found
			}
		}
		if err := p.Maintain(b.Now()); err != nil {
			b.log.Warn("retention or roll failed", slog.Any("partition", s.id), slog.Any("err", err))
		}
	}
}

// worthOpening says that the partition has a directory that may hold records.
func (s *slot) worthOpening() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.there && !s.mu.retired && s.known.size != 0 && s.failed.Load() == nil
}

// flushOld lets partitions whose topic has flush.ms ask for their sync.
func (b *Broker) flushOld(context.Context) {
	b.table.Load().all(func(s *slot) {
		if !s.flushAge.Load() {
			return
		}
		if p := s.open.Load(); p != nil {
			if err := p.Maintain(b.Now()); err != nil {
				b.log.Warn("flush by age failed", slog.Any("partition", s.id), slog.Any("err", err))
			}
		}
	})
}

// recoverAll opens every partition that has a directory after a start that was not clean; those that are touched first are recovered by
// whoever touches them.
func (b *Broker) recoverAll(ctx context.Context) {
	if b.clean {
		return
	}
	var waiting []*slot
	for _, s := range b.table.Load().slots() {
		if s.open.Load() == nil && s.worthOpening() {
			waiting = append(waiting, s)
		}
	}
	b.recovering.Store(int64(len(waiting)))
	if len(waiting) > 0 {
		b.log.Info("the last run did not stop cleanly: recovering in the background", slog.Int("partitions", len(waiting)))
	}
	work := make(chan *slot)
	var workers sync.WaitGroup
	for range b.opts.RecoveryWorkers {
		workers.Go(func() {
			for s := range work {
				_, _ = b.touch(s) // logged where it is found
				b.recovering.Add(-1)
			}
		})
	}
	for _, s := range waiting {
		if ctx.Err() != nil {
			break
		}
		work <- s
	}
	close(work)
	workers.Wait()
	if len(waiting) > 0 && ctx.Err() == nil {
		b.log.Info("recovery is done", slog.Int("partitions", len(waiting)))
	}
}

// checkpoint writes the checkpoints at the top. Want of room is no harm: the old ones stand. A failed sync is final here too, since that
// of a directory is for all names in it.
func (b *Broker) checkpoint() {
	if b.offline() != nil {
		return
	}
	b.syncIdle()
	b.turnJournal()
	if err := b.finalUnlessPasses(b.writeCheckpoints()); err != nil {
		b.log.Warn("cannot write checkpoints", slog.String("dir", b.opts.DataDir), slog.Any("err", err))
	}
}

// syncIdle asks for a sync of partitions that have unsynced records and got none since the last time: those of durability=memory would
// otherwise wait for their next roll, keep their descriptors open, and be recovered from far back after a crash.
func (b *Broker) syncIdle() {
	b.table.Load().all(func(s *slot) {
		p := s.open.Load()
		if p == nil {
			return
		}
		end := p.Offsets().End
		if s.seenEnd == end && p.RecoveryPoint() < end {
			b.syncer.Dirty(p)
		}
		s.seenEnd = end
	})
}
