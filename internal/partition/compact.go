package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// MinDirtyRatio is the topic's min.cleanable.dirty.ratio.
func (p *Partition) MinDirtyRatio() float64 { return p.opts.Load().Compaction.MinDirtyRatio }

// Cleaned is where the compacted part of the log ends, for the cleaner-offset-checkpoint.
func (p *Partition) Cleaned() batch.Offset { return p.log.Cleaned() }

// Dirt says how much of what may be compacted now was not yet.
func (p *Partition) Dirt(now time.Time) (log.Dirt, error) {
	return p.log.Dirt(now, p.Offsets().LastStable, p.opts.Load().Compaction)
}

// Compact runs one pass of compaction below the last stable offset, beside appends and reads; see log.Compact. It is not kept
// from running beside Maintain or Close: a pass that they cut across gives up. Of a closed partition the error is log.ErrClosed.
func (p *Partition) Compact(now time.Time, cleaner log.Cleaner) (log.Compacted, error) {
	if f := p.failure.Load(); f != nil {
		if f.closed {
			return log.Compacted{}, fmt.Errorf("%w: %w", log.ErrClosed, f.err)
		}
		return log.Compacted{}, f.err
	}
	opts := p.opts.Load()
	settings := opts.Compaction
	settings.Codec, settings.Level = opts.Compression, opts.CompressionLevel
	limit := p.Offsets().LastStable
	p.mu.Lock()
	cleaner.Newest = p.mu.producers.Newest() // what is appended from now on lies above limit
	p.mu.Unlock()
	done, err := p.log.Compact(now, limit, settings, cleaner)
	if errors.Is(err, log.ErrFailed) {
		p.Fail(err)
	}
	return done, err
}
