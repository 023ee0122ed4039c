package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// Cleaner is how compaction works; each is Kafka's broker setting of that name.
type Cleaner struct {
	Off            bool          // log.cleaner.enable=false, or no threads
	Threads        int           // log.cleaner.threads; 0: 1
	Memory         int64         // log.cleaner.dedupe.buffer.size, for all threads together; 0: 128 MiB
	LoadFactor     float64       // log.cleaner.io.buffer.load.factor; 0: 0.9
	Buffer         int           // log.cleaner.io.buffer.size; 0: 512 KiB
	BytesPerSecond float64       // log.cleaner.io.max.bytes.per.second, for all threads together; 0: no limit
	Backoff        time.Duration // log.cleaner.backoff.ms; 0: 15 s
}

func (c Cleaner) withDefaults() Cleaner {
	if c.Threads <= 0 {
		c.Threads = 1
	}
	if c.Memory <= 0 {
		c.Memory = 128 << 20
	}
	if c.LoadFactor <= 0 {
		c.LoadFactor = 0.9
	}
	if c.Buffer <= 0 {
		c.Buffer = 512 << 10
	}
	if c.BytesPerSecond > 0 { // a read or write is announced before it is made, and must not wait for long
		c.Buffer = int(min(float64(c.Buffer), max(c.BytesPerSecond, 4<<10)))
	}
	if c.Backoff <= 0 {
		c.Backoff = 15 * time.Second
	}
	return c
}

// cleaner compacts partitions, the dirtiest first (Kafka's LogCleaner and LogCleanerManager).
type cleaner struct {
	settings func() Cleaner
	throttle throttle
	file     sync.Mutex // one write of the checkpoint at a time

	mu struct {
		sync.Mutex
		busy        map[*slot]bool
		uncleanable map[*slot]bool
		resting     map[*slot]time.Time // not to be looked at before: their last pass came to nothing
		figures     CleanerStats
	}
}

// CleanerStats are compaction's figures since the start.
type CleanerStats struct {
	Passes, Failed          int64 // failed: also those that were cut short
	BytesRead, BytesWritten int64
	RecordsRead             int64
	RecordsRemoved          int64
	LastPass                time.Duration
	MaxDirtyRatio           float64 // of the dirtiest partition, when they were last looked at
	Uncleanable             int     // partitions that are not tried again before a restart
}

func newCleaner(settings func() Cleaner) *cleaner {
	if settings == nil {
		settings = func() Cleaner { return Cleaner{} }
	}
	c := &cleaner{settings: func() Cleaner { return settings().withDefaults() }}
	c.mu.busy, c.mu.uncleanable, c.mu.resting = map[*slot]bool{}, map[*slot]bool{}, map[*slot]time.Time{}
	return c
}

// runCleaner compacts partitions until ctx ends, log.cleaner.threads at a time.
func (b *Broker) runCleaner(ctx context.Context) {
	var passes sync.WaitGroup
	defer passes.Wait()
	ended := make(chan struct{}, 1)
	for ctx.Err() == nil && b.offline() == nil {
		opts := b.cleaner.settings()
		b.cleaner.throttle.limit(opts.BytesPerSecond)
		if !opts.Off && b.cleaner.running() < opts.Threads {
			if s, p := b.takeDirtiest(ctx); s != nil {
				passes.Go(func() {
					b.compact(ctx, s, p, opts)
					select {
					case ended <- struct{}{}:
					default:
					}
				})
				continue
			}
		}
		backoff := time.NewTimer(opts.Backoff)
		select {
		case <-ctx.Done():
		case <-ended:
		case <-backoff.C:
		}
		backoff.Stop()
	}
}

func (c *cleaner) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.busy)
}

// takeDirtiest returns the partition that needs compaction most; it is the caller's until compact has given it back. Nil if
// none needs it.
func (b *Broker) takeDirtiest(ctx context.Context) (*slot, *partition.Partition) {
	c := b.cleaner
	var (
		dirtiest *slot
		of       *partition.Partition
		ratio    float64
		most     float64
		name     string
		compact  bool
	)
	slots := b.table.Load().slots()
	c.forget(slots)
	for _, s := range slots {
		if ctx.Err() != nil {
			return nil, nil
		}
		if name != s.id.Topic { // slots come by topic, and to resolve its settings is not free
			name, compact = s.id.Topic, b.TopicOptions(s.id.Topic).Compact
		}
		if !compact {
			continue
		}
		p := b.opened(s)
		if p == nil {
			continue
		}
		dirt, err := p.Dirt(b.Now())
		if err != nil {
			c.judge(b, s, err)
			continue
		}
		most = max(most, dirt.Ratio())
		if dirt.Due(p.MinDirtyRatio()) && (dirtiest == nil || dirt.Ratio() > ratio) && c.free(s, b.Now()) {
			dirtiest, of, ratio = s, p, dirt.Ratio()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.figures.MaxDirtyRatio = most
	if dirtiest != nil {
		c.mu.busy[dirtiest] = true
	}
	return dirtiest, of
}

// opened is the partition of s. One that nobody has touched is opened for it; nil if it is known to be empty, or cannot be opened.
func (b *Broker) opened(s *slot) *partition.Partition {
	if p := s.open.Load(); p != nil || !s.worthOpening() {
		return p
	}
	p, err := b.touch(s)
	if err != nil {
		return nil // logged where it was found
	}
	return p
}

// compact runs a pass over s's partition.
func (b *Broker) compact(ctx context.Context, s *slot, p *partition.Partition, opts Cleaner) {
	c := b.cleaner
	began := b.Now()
	done, err := p.Compact(began, log.Cleaner{
		Memory: opts.Memory / int64(opts.Threads), LoadFactor: opts.LoadFactor, Buffer: opts.Buffer,
		Pace: func(bytes int) error { return c.throttle.wait(ctx, b.Now(), bytes) },
	})
	took := b.Now().Sub(began)
	c.give(s, done, took, err, began.Add(opts.Backoff))
	if done.To > done.From {
		if err := b.finalUnlessPasses(b.writeCleaned()); err != nil {
			b.log.Warn("cannot write checkpoint", slog.String("file", cleanedFile), slog.Any("err", err)) // the next pass repeats some work
		}
	}
	if err != nil {
		c.judge(b, s, err)
		return
	}
	b.log.Debug("compacted", slog.Any("partition", s.id), slog.Any("from", done.From), slog.Any("to", done.To), slog.Int("keys", done.Keys),
		slog.Int64("bytes", done.Before), slog.Int64("left", done.After), slog.Int64("records", done.Records), slog.Int64("kept", done.RecordsKept), slog.Duration("took", took))
	if done.Keyless > 0 {
		b.log.Warn("compaction removed records without a key", slog.Any("partition", s.id), slog.Int64("records", done.Keyless))
	}
}

// give ends a pass. What came to nothing rests until then.
func (c *cleaner) give(s *slot, done log.Compacted, took time.Duration, err error, then time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.busy, s)
	f := &c.mu.figures
	f.Passes++
	f.BytesRead += done.Read
	f.BytesWritten += done.Written
	f.RecordsRead += done.Records
	f.RecordsRemoved += done.Records - done.RecordsKept
	f.LastPass = took
	if err != nil {
		f.Failed++
	}
	if err != nil || done.To == done.From {
		c.mu.resting[s] = then
	}
}

// judge marks a partition that a pass will not get over, with one line. What passes is tried again.
func (c *cleaner) judge(b *Broker, s *slot, err error) {
	for _, passing := range []error{context.Canceled, log.ErrChanged, log.ErrNoSpace, log.ErrClosed, journal.ErrFull} {
		if errors.Is(err, passing) {
			return
		}
	}
	if passes(err) {
		return
	}
	c.mu.Lock()
	known := c.mu.uncleanable[s]
	c.mu.uncleanable[s] = true
	c.mu.Unlock()
	if !known && !errors.Is(err, log.ErrFailed) { // that one is reported as what it is
		b.log.Error("partition is not compacted any more: it cannot be read; restart to try again", slog.Any("partition", s.id), slog.Any("err", err))
	}
}

// free says that s may be taken.
func (c *cleaner) free(s *slot, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.mu.busy[s] && !c.mu.uncleanable[s] && !now.Before(c.mu.resting[s])
}

// forget drops what is known of partitions that are not hosted any more.
func (c *cleaner) forget(slots []*slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mu.uncleanable)+len(c.mu.resting) == 0 {
		return
	}
	hosted := make(map[*slot]bool, len(slots))
	for _, s := range slots {
		hosted[s] = true
	}
	for s := range c.mu.uncleanable {
		if !hosted[s] {
			delete(c.mu.uncleanable, s)
		}
	}
	for s := range c.mu.resting {
		if !hosted[s] {
			delete(c.mu.resting, s)
		}
	}
}

func (c *cleaner) stats() CleanerStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.mu.figures
	f.Uncleanable = len(c.mu.uncleanable)
	return f
}

// writeCleaned writes the cleaner-offset-checkpoint.
func (b *Broker) writeCleaned() error {
	b.cleaner.file.Lock()
	defer b.cleaner.file.Unlock()
	cleaned := checkpoint{}
	b.table.Load().all(func(s *slot) { cleaned.put(s.key(), s.cleaned()) })
	return writeSmall(b.opts.FS, cleanedFile, cleaned.encode())
}

// forgetCleaned takes a deleted partition out of the checkpoint, where its entry would be a new topic's of the same name
// after a crash. A full disk must not keep a topic from being deleted: without the file everything is compacted again.
func (b *Broker) forgetCleaned(s *slot) error {
	if s.cleaned() == 0 {
		return nil
	}
	err := b.writeCleaned()
	if err != nil && passes(err) {
		err = removeIfThere(b.opts.FS, cleanedFile)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", cleanedFile, err)
	}
	return nil
}

// cleaned is where the compacted part of the partition ends.
func (s *slot) cleaned() batch.Offset {
	if p := s.open.Load(); p != nil {
		return p.Cleaned()
	}
	return s.known.cleaned
}
