package replica

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Options are the settings of the topic that matter here.
type Options struct {
	Disk          bool          // durability=disk
	FlushMessages int64         // flush.messages; 0: no limit
	FlushAge      time.Duration // flush.ms; 0: no limit
}

// Input is something that happened: Lead, Appended, Synced, Configure or Tick.
type Input interface{ input() }

type (
	// Lead makes this replica the leader at Epoch.
	Lead struct{ Epoch batch.Epoch }
	// Appended says that the log ends at End now.
	Appended struct{ End batch.Offset }
	// Synced says that everything below End is durable here.
	Synced struct{ End batch.Offset }
	// Configure changes the settings.
	Configure struct{ Options Options }
	// Tick says that nothing but time has passed; flush.ms asks for it now and then.
	Tick struct{}
)

func (Lead) input()      {}
func (Appended) input()  {}
func (Synced) input()    {}
func (Configure) input() {}
func (Tick) input()      {}

// Effects are what a step asks for.
type Effects struct {
	// Advanced: the high watermark rose.
	Advanced bool
	// Sync: what is not durable yet should be made so.
	Sync bool
	// Refused is FENCED_LEADER_EPOCH for a Lead older than the newest; nothing changed.
	Refused error
}

// Replica is the state. The zero value is not ready: use New.
type Replica struct {
	opts          Options
	epoch         batch.Epoch // batch.NoEpoch until it leads
	end           batch.Offset
	durable       batch.Offset
	highWatermark batch.Offset
	dirtySince    time.Time // when the first byte that is not durable was appended
}

// New returns a replica whose log ends at end, all of it durable, that leads nothing.
func New(opts Options, end batch.Offset) *Replica {
	return &Replica{opts: opts, epoch: batch.NoEpoch, end: end, durable: end, highWatermark: end}
}

// Epoch is the epoch this replica leads at, or batch.NoEpoch.
func (r *Replica) Epoch() batch.Epoch { return r.epoch }

// HighWatermark is the offset below which everything is committed.
func (r *Replica) HighWatermark() batch.Offset { return r.highWatermark }

// Durable is the offset below which everything is durable here.
func (r *Replica) Durable() batch.Offset { return r.durable }

// Step decides what follows from in.
func (r *Replica) Step(now time.Time, in Input) Effects {
	switch in := in.(type) {
	case Lead:
		if in.Epoch < r.epoch {
			return Effects{
				Refused: fmt.Errorf("lead at epoch %d after epoch %d: %w", in.Epoch, r.epoch, kerr.FencedLeaderEpoch),
			}
		}
		r.epoch = in.Epoch
	case Appended:
		if r.durable == r.end {
			r.dirtySince = now
		}
		r.end = in.End
	case Synced:
		r.durable = max(r.durable, min(in.End, r.end))
		if r.durable < r.end {
			r.dirtySince = now // of what came meanwhile only this is known; flush.ms may be late by one sync
		}
	case Configure:
		r.opts = in.Options
	}
	return Effects{Advanced: r.advance(), Sync: r.wantsSync(now)}
}

// advance raises the high watermark to what this replica acknowledges.
func (r *Replica) advance() bool {
	acknowledged := r.end
	if r.opts.Disk || r.opts.FlushMessages == 1 {
		acknowledged = r.durable
	}
	if acknowledged <= r.highWatermark {
		return false
	}
	r.highWatermark = acknowledged
	return true
}

// wantsSync reports whether the high watermark or the flush settings (Kafka's UnifiedLog.append) wait for a sync.
func (r *Replica) wantsSync(now time.Time) bool {
	if r.durable == r.end {
		return false
	}
	return r.opts.Disk ||
		r.opts.FlushMessages > 0 && int64(r.end-r.durable) >= r.opts.FlushMessages ||
		r.opts.FlushAge > 0 && now.Sub(r.dirtySince) >= r.opts.FlushAge
}
