package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Trouble is what is wrong with a partition on this node, in words, with what to do.
type Trouble struct {
	Index   int32
	Offline bool // it is not served; else some of its batches cannot be read
	Text    string
}

const (
	// troubleMax is how many damaged batches of a partition are named.
	troubleMax = 5
	// troublesMax is how many lines are told of one topic.
	troublesMax = 200
)

// Offline reports whether this broker hosts the partition and cannot serve it: its log cannot be followed, or the directory is offline.
func (b *Broker) Offline(topic string, index int32) bool {
	h, ok := b.table.Load().byName.Get(topic)
	if !ok || index < 0 || int(index) >= len(h.slots) || h.slots[index] == nil {
		return false
	}
	return b.offline() != nil || h.slots[index].offline() != nil
}

// offline is nil, or why the partition is not served.
func (s *slot) offline() error {
	if f := s.failed.Load(); f != nil {
		return f.err
	}
	if p := s.open.Load(); p != nil {
		return p.Failure()
	}
	return nil
}

// Troubles lists what is wrong with the partitions of a topic, by index.
func (b *Broker) Troubles(topic string) (list []Trouble) {
	h, ok := b.table.Load().byName.Get(topic)
	if !ok {
		return nil
	}
	for _, s := range h.slots {
		if s == nil {
			continue
		}
		if len(list) >= troublesMax {
			return append(list, Trouble{Index: s.id.Index, Text: "and perhaps more; see the broker's log"})
		}
		if err := s.offline(); err != nil {
			list = append(list, Trouble{s.id.Index, true, "it is not served: " + strings.TrimPrefix(err.Error(), kerr.KafkaStorageError.Error()+": ") + "; next: " + b.next(s.id, err)})
			continue
		}
		p := s.open.Load()
		if p == nil {
			continue
		}
		damage, n := p.Damage(troubleMax)
		for _, d := range damage {
			list = append(list, Trouble{s.id.Index, false, fmt.Sprintf("offsets %d to %d cannot be read: %s at position %d: %s; next: %s",
				d.Base, d.Next-1, d.File, d.Pos, d.Why, b.remedy(s.id))})
		}
		if n > len(damage) {
			list = append(list, Trouble{s.id.Index, false, fmt.Sprintf("%d more batches cannot be read", n-len(damage))})
		}
	}
	return list
}

// next says what to do about a partition that is offline because of err.
func (b *Broker) next(id partition.ID, err error) string {
	if errors.Is(err, batch.ErrCorrupt) {
		return b.remedy(id)
	}
	return "mend what the reason names, and restart the broker"
}

// remedy says what to do about a partition's damaged log.
func (b *Broker) remedy(id partition.ID) string {
	return fmt.Sprintf("stop the broker and run: ottla log repair --data %s %s", b.opts.DataDir, id)
}

// reportDamage says which batches of a partition cannot be read, and what was made anew.
func (b *Broker) reportDamage(s *slot, p *partition.Partition) {
	if err := p.Mended(); err != nil {
		b.log.Warn("damaged file is written anew from the metadata log", slog.Any("partition", s.id), slog.Any("err", err))
	}
	damage, n := p.Damage(troubleMax)
	for _, d := range damage {
		b.log.Error("batch is damaged: fetches that reach it get CORRUPT_MESSAGE, all others are served", slog.Any("partition", s.id),
			slog.Any("first", d.Base), slog.Any("last", d.Next-1), slog.String("file", d.File), slog.Int64("position", d.Pos), slog.String("why", d.Why),
			slog.String("next", b.remedy(s.id)))
	}
	if n > len(damage) {
		b.log.Error("more batches are damaged", slog.Any("partition", s.id), slog.Int("count", n-len(damage)))
	}
}
