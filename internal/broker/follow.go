package broker

import (
	"slices"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// follow does what a change of the metadata asks for. The controller calls it, one change at a time, before the command is answered,
// so it only moves pointers: directories are made by the first append and removed by the deleter.
func (b *Broker) follow(image *meta.Image, records []meta.Record) {
	if b.opts.OnChange != nil {
		defer b.opts.OnChange()
	}
	if settingsChanged(records) {
		b.resettle(image)
	}
	touched, configured := changes(records)
	if len(touched)+len(configured) == 0 {
		return
	}
	t := *b.table.Load()
	for _, id := range touched {
		b.place(&t, image, id)
	}
	next := &table{byName: t.byName.Freeze(), byID: t.byID.Freeze()}
	b.table.Store(next)
	for _, name := range configured {
		if h, ok := next.byName.Get(name); ok {
			b.refresh(h, image)
		}
	}
	for _, id := range touched {
		if h, ok := next.byID.Get(id); ok {
			b.refresh(h, image)
		}
	}
}

// settingsChanged says whether records change settings of brokers, which topics fall back to.
func settingsChanged(records []meta.Record) bool {
	return slices.ContainsFunc(records, func(r meta.Record) bool {
		c, ok := r.(meta.ConfigRecord)
		return ok && c.Resource.Type == meta.ResourceBroker
	})
}

// resettle tells of the brokers' settings in image, and gives every open partition what follows from them.
func (b *Broker) resettle(image *meta.Image) {
	if b.opts.OnSettings == nil {
		return
	}
	b.opts.OnSettings(image)
	for _, h := range b.table.Load().byID.All() {
		b.refresh(h, image)
	}
}

// changes lists the topics whose partitions records change, and those whose configs.
func changes(records []meta.Record) (touched []topic.ID, configured []string) {
	touch := func(id topic.ID) {
		if n := len(touched); n == 0 || touched[n-1] != id {
			touched = append(touched, id)
		}
	}
	for _, r := range records {
		switch r := r.(type) {
		case meta.TopicRecord:
			touch(r.ID)
		case meta.PartitionRecord:
			touch(r.TopicID)
		case meta.PartitionChangeRecord:
			touch(r.TopicID)
		case meta.RemoveTopicRecord:
			touch(r.ID)
		case meta.ConfigRecord:
			if r.Resource.Type == meta.ResourceTopic {
				configured = append(configured, r.Resource.Name)
			}
		}
	}
	return touched, slices.Compact(configured)
}

// place brings the table up to date with one topic.
func (b *Broker) place(t *table, image *meta.Image, id topic.ID) {
	old, had := t.byID.Get(id)
	now := image.TopicByID(id)
	if now == nil {
		if had {
			t.byID.Delete(id)
			if h, _ := t.byName.Get(old.name); h == old {
				t.byName.Delete(old.name)
			}
			b.deleter.add(old.slots)
		}
		return
	}
	h := &hosted{name: now.Name, id: id, slots: make([]*slot, len(now.Partitions))}
	if had {
		copy(h.slots, old.slots)
	}
	for i, p := range now.Partitions {
		if h.slots[i] == nil && b.hosts(p) {
			h.slots[i] = &slot{id: partition.ID{Topic: now.Name, TopicID: id, Index: int32(i)}}
		}
	}
	t.byID.Set(id, h)
	t.byName.Set(now.Name, h)
}

// refresh gives a topic's open partitions their settings and epochs.
func (b *Broker) refresh(h *hosted, image *meta.Image) {
	for _, s := range h.slots {
		if s == nil {
			continue
		}
		if p := s.open.Load(); p != nil {
			b.update(s, p, image)
		}
	}
}
