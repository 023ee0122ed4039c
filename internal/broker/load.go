package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// published is told of each new image. While the broker comes up there is no table to follow with.
func (b *Broker) published(image *meta.Image, records []meta.Record) {
	if b.table.Load() != nil {
		b.follow(image, records)
	}
}

// host makes the table of the partitions that the metadata gives this broker. No partition's directory is touched.
func (b *Broker) host(top *top) {
	var t table
	for _, mt := range b.control.Image().Topics {
		h := &hosted{name: mt.Name, id: mt.ID, slots: make([]*slot, len(mt.Partitions))}
		for i, p := range mt.Partitions {
			if b.hosts(p) {
				h.slots[i] = b.slotFor(top, mt, int32(i))
			}
		}
		t.byName.Set(h.name, h)
		t.byID.Set(h.id, h)
	}
	b.table.Store(&table{byName: t.byName.Freeze(), byID: t.byID.Freeze()})
}

func (b *Broker) slotFor(top *top, mt *meta.Topic, index int32) *slot {
	k := partitionKey{mt.Name, index}
	s := &slot{id: partition.ID{Topic: mt.Name, TopicID: mt.ID, Index: index}, known: top.knownOf(k, mt.ID)}
	s.mu.there, s.mu.clean = top.dirs[k], b.clean
	switch {
	case s.mu.there:
	case top.lost(k, mt.ID):
		err := fmt.Errorf("%w: %s has no directory, though it had records up to offset %d; restore it from a copy and restart, or make an empty "+
			"directory of that name to begin anew", kerr.KafkaStorageError, s.id, max(s.known.recoveryPoint, s.known.end))
		b.log.Error("partition is offline: its directory is missing", slog.Any("partition", s.id), slog.String("dir", s.dir()), slog.Any("err", err))
		s.failed.Store(&failure{err})
	case s.known != (known{facts: facts{size: sizeUnknown}}):
		b.log.Warn("partition has no directory, though the checkpoints know it: it was lost, or its topic was deleted and made again",
			slog.Any("partition", s.id), slog.String("dir", s.dir()), slog.Any("recovery_point", s.known.recoveryPoint))
		s.known = known{}
	}
	return s
}

// lost says that a partition without a directory had one, with records that were synced. What the checkpoints say may be of a deleted topic
// of the same name.
func (t *top) lost(k partitionKey, id topic.ID) bool {
	if f, ok := t.manifest[k]; ok && f.id == id {
		return f.end > 0
	}
	if t.recoveryPoints[k] == 0 {
		return false
	}
	for _, name := range t.removed {
		if name == k.topic {
			return false
		}
	}
	return true
}

// sweep looks at the directories that are no hosted partition's: what an interrupted deletion left is deleted, all else is
// left alone.
func (b *Broker) sweep(top *top) error {
	for _, dir := range top.deleted {
		b.deleter.addRenamed(dir)
	}
	names := map[string]bool{}
	for _, name := range top.removed {
		names[name] = true
	}
	strangers := slices.Clone(top.other)
	for k := range top.dirs {
		gone, err := b.sweepOne(k, names, top.removed)
		if err != nil {
			return err
		}
		if !gone && !b.knows(k) {
			strangers = append(strangers, topic.Dir(k.topic, k.index))
		}
	}
	if len(strangers) > 0 {
		slices.Sort(strangers)
		b.log.Warn("directories that the metadata does not know are left alone", slog.String("dir", b.opts.DataDir), slog.Int("count", len(strangers)),
			slog.String("names", strings.Join(strangers[:min(len(strangers), 10)], " ")))
	}
	return nil
}

// sweepOne sets a directory aside if its topic was removed. Only directories that bear the name of a removed topic are looked into.
func (b *Broker) sweepOne(k partitionKey, names map[string]bool, removed map[topic.ID]string) (gone bool, err error) {
	if !names[k.topic] {
		return false, nil
	}
	dir := topic.Dir(k.topic, k.index)
	id, err := readTopicID(b.opts.FS, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		b.log.Warn("cannot tell whose directory this is", slog.String("dir", dir), slog.Any("err", err))
		return false, nil
	}
	if _, was := removed[id]; !was {
		return false, nil
	}
	if err := b.setAside(dir, k.topic, k.index); err != nil {
		return false, fmt.Errorf("finish the deletion of %s: %w", dir, err)
	}
	if s := b.slotOf(k); s != nil {
		s.mu.Lock()
		s.mu.there, s.known = false, known{}
		s.mu.Unlock()
	}
	return true, nil
}

// knows says whether the metadata has a partition of that name here.
func (b *Broker) knows(k partitionKey) bool { return b.slotOf(k) != nil }

func (b *Broker) slotOf(k partitionKey) *slot {
	h, ok := b.table.Load().byName.Get(k.topic)
	if !ok || int(k.index) >= len(h.slots) {
		return nil
	}
	return h.slots[k.index]
}
