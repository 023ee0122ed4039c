package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// Partition finds a partition that this broker hosts and opens it on first touch. Errors are *kerr.Error, perhaps wrapped:
// UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR.
func (b *Broker) Partition(topic string, index int32) (*partition.Partition, error) {
	h, ok := b.table.Load().byName.Get(topic)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition
	}
	return b.partitionOf(h, index)
}

// PartitionByID is Partition for a topic id; UNKNOWN_TOPIC_ID if there is none.
func (b *Broker) PartitionByID(id topic.ID, index int32) (*partition.Partition, error) {
	h, ok := b.table.Load().byID.Get(id)
	if !ok {
		return nil, kerr.UnknownTopicID
	}
	return b.partitionOf(h, index)
}

// Stored reports whether this broker hosts the partition and it has a directory. One that has none is empty, and is not opened to find
// that out.
func (b *Broker) Stored(topic string, index int32) bool {
	h, ok := b.table.Load().byName.Get(topic)
	if !ok || index < 0 || int(index) >= len(h.slots) || h.slots[index] == nil {
		return false
	}
	s := h.slots[index]
	if p := s.open.Load(); p != nil {
		return !p.Absent()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.there
}

func (b *Broker) partitionOf(h *hosted, index int32) (*partition.Partition, error) {
	if index < 0 || int(index) >= len(h.slots) {
		return nil, kerr.UnknownTopicOrPartition
	}
	s := h.slots[index]
	if s == nil {
		return nil, kerr.NotLeaderForPartition
	}
	if p := s.open.Load(); p != nil {
		return p, nil
	}
	return b.touch(s)
}

// touch opens a slot's partition, or waits for whoever is opening it.
func (b *Broker) touch(s *slot) (*partition.Partition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.open.Load(); p != nil {
		return p, nil
	}
	if s.mu.retired {
		return nil, kerr.UnknownTopicOrPartition
	}
	if f := s.failed.Load(); f != nil {
		return nil, f.err
	}
	if err := b.offline(); err != nil {
		return nil, fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
	}
	if b.closing.Load() {
		return nil, fmt.Errorf("%w: the broker is stopping", kerr.NotLeaderForPartition)
	}
	image := b.control.Image()
	placed, ok := placement(image, s.id)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition // it is being deleted
	}
	if placed.Leader != b.opts.NodeID {
		return nil, kerr.NotLeaderForPartition
	}
	p, err := b.openLocked(s, image, placed.LeaderEpoch)
	if err == nil {
		s.mu.waits = false
		return p, nil
	}
	f := &failure{fmt.Errorf("%w: %s cannot be opened: %w", kerr.KafkaStorageError, s.id, err)}
	switch {
	case !passes(err):
		b.log.Error("partition is offline: it cannot be opened", slog.Any("partition", s.id), slog.String("dir", s.dir()), slog.Any("err", err),
			slog.String("next", b.next(s.id, err)))
		s.failed.Store(f)
	case !s.mu.waits:
		b.faults.Warn("partition cannot be opened now: the next request for it tries again", slog.Any("partition", s.id), slog.String("dir", s.dir()), slog.Any("err", err))
		s.mu.waits = true
	}
	return nil, f.err
}

// openLocked opens s's partition, leads it and shows it.
func (b *Broker) openLocked(s *slot, image *meta.Image, epoch batch.Epoch) (*partition.Partition, error) {
	opts := b.topicOptionsIn(image, s.id.Topic)
	p, err := partition.Open(b.opts.FS, s.dir(), s.id, b.Now(), partition.OpenOptions{
		Options: opts, Absent: !s.mu.there, OnCreate: func() error { return b.makeWay(s) }, Clean: s.mu.clean && !s.mu.waits,
		RecoveryPoint: s.known.recoveryPoint, StartOffset: s.known.start, Cleaned: s.known.cleaned, Syncer: b.syncer,
		OnRewrite: func() error { return b.journal.Void(journal.Key{Dir: s.dir(), Topic: s.id.TopicID}) },
	})
	if errors.Is(err, log.ErrFailed) && !errors.Is(err, batch.ErrCorrupt) {
		return nil, b.finalUnlessPasses(err) // of a sync above all: what else it lost, no other one will say
	}
	if err != nil {
		return nil, err
	}
	if err := p.Lead(b.Now(), epoch); err != nil {
		return nil, errors.Join(err, p.Close(false))
	}
	b.reportRecovery(s, p.Recovery())
	b.reportDamage(s, p)
	s.open.Store(p)
	b.settle(s, p, image)
	if err := b.offline(); err != nil {
		p.Fail(err)
	}
	return p, nil
}

// makeWay comes before the directory of s is made: that of a deleted topic of the same name has lost the name then, and the checkpoints
// say nothing of it any more. It takes no lock of s, which a deletion holds while it waits for the making to end.
func (b *Broker) makeWay(s *slot) error {
	if err := b.clearDir(s); err != nil {
		return b.finalUnlessPasses(err)
	}
	return b.finalUnlessPasses(b.forgetOld(s))
}

// reportRecovery says what a partition has lost, if anything.
func (b *Broker) reportRecovery(s *slot, r log.Recovery) {
	if r.Missing > 0 {
		b.log.Error("acknowledged records are missing: the log ends before its recovery point", slog.Any("partition", s.id), slog.String("dir", s.dir()),
			slog.Any("end", s.known.recoveryPoint-batch.Offset(r.Missing)), slog.Any("recovery_point", s.known.recoveryPoint), slog.Int64("missing", r.Missing))
	}
	if r.Cut > 0 {
		why := "segments behind the end"
		if r.Bad != nil {
			why = r.Bad.Error()
		}
		b.log.Warn("log was cut where it is not whole, past its recovery point", slog.Any("partition", s.id), slog.String("dir", s.dir()), slog.Int64("bytes", r.Cut), slog.String("why", why))
	}
}

// settle gives p what changed since image: whoever followed the change may have looked before p was shown.
func (b *Broker) settle(s *slot, p *partition.Partition, image *meta.Image) {
	s.flushAge.Store(wantsTicks(b.topicOptionsIn(image, s.id.Topic)))
	for {
		newest := b.control.Image()
		if newest == image {
			return
		}
		image = newest
		b.update(s, p, image)
	}
}

// update gives p its settings and its epoch in image.
func (b *Broker) update(s *slot, p *partition.Partition, image *meta.Image) {
	placed, ok := placement(image, s.id)
	if !ok {
		return // deleted: the deletion follows
	}
	opts := b.topicOptionsIn(image, s.id.Topic)
	p.SetOptions(opts)
	s.flushAge.Store(wantsTicks(opts))
	if placed.Leader == b.opts.NodeID && placed.LeaderEpoch > p.LeaderEpoch() {
		if err := p.Lead(b.Now(), placed.LeaderEpoch); err != nil {
			b.log.Error("cannot lead partition", slog.Any("partition", s.id), slog.Any("epoch", placed.LeaderEpoch), slog.Any("err", err))
		}
	}
}

// longFlushAge is a flush.ms that nobody waits for.
const longFlushAge = 30 * 24 * time.Hour

// wantsTicks says whether flush.ms asks for syncs by time.
func wantsTicks(o partition.Options) bool {
	return o.Durability == partition.DurabilityMemory && o.FlushAge > 0 && o.FlushAge < longFlushAge
}

// placement is where image has the partition.
func placement(image *meta.Image, id partition.ID) (meta.Partition, bool) {
	t := image.TopicByID(id.TopicID)
	if t == nil || int(id.Index) >= len(t.Partitions) {
		return meta.Partition{}, false
	}
	return t.Partitions[id.Index], true
}

// hosts says whether p has a replica here.
func (b *Broker) hosts(p meta.Partition) bool { return slices.Contains(p.Replicas, b.opts.NodeID) }

// TopicOptions are a topic's effective settings.
func (b *Broker) TopicOptions(name string) partition.Options {
	return b.topicOptionsIn(b.control.Image(), name)
}

// topicOptionsIn are a topic's effective settings in image.
func (b *Broker) topicOptionsIn(image *meta.Image, name string) partition.Options {
	opts := b.opts.Topic.Resolve(image.Config(meta.TopicResource(name)))
	opts.Inflating, opts.Log.Inflate = b.inflating, b.inflating.Enter
	return opts
}
