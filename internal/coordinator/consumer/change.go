package consumer

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Change is what is about to be done to one group: the group as it is, and what differs. It collects the records that do it; the group changes
// when they are applied.
type Change struct {
	Records []record.Record
	// Reason is why the group's next epoch begins (join, leave, subscription, ...), and Detail says more; empty: it does not begin.
	Reason, Detail string
	// Revoking is set if the member has been told to give up something now.
	Revoking bool

	g        *Group // never written
	x        *Index
	now      time.Time
	interval time.Duration // group.consumer.assignment.interval.ms

	old, next *Member // a member before and after; old is nil for a new one, both if none changes
	gone      []*Member

	epoch       int32
	targetEpoch int32
	target      map[string]Partitions // of members whose target changes; nil for those that lose it
	resolved    map[string][]string   // topics of patterns that were looked at
}

// Change begins one.
func (g *Group) Change(now time.Time, interval time.Duration) *Change {
	return &Change{
		g: g, x: g.index, now: now, interval: interval, epoch: g.Epoch, targetEpoch: g.TargetEpoch,
		target: make(map[string]Partitions), resolved: make(map[string][]string),
	}
}

func (ch *Change) emit(e record.Entry) { ch.Records = append(ch.Records, e.Record()) }

// left reports whether the member leaves.
func (ch *Change) left(id string) bool {
	return slices.ContainsFunc(ch.gone, func(m *Member) bool { return m.ID == id })
}

// members yields those that there will be, by id.
func (ch *Change) members() iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		next := ch.next
		for _, id := range ch.g.ids {
			if next != nil && next.ID <= id {
				if !yield(next) {
					return
				}
				if next = nil; ch.next.ID == id {
					continue
				}
			}
			if !ch.left(id) && !yield(ch.g.members[id]) {
				return
			}
		}
		if next != nil {
			yield(next)
		}
	}
}

// delta is +1 for what comes and -1 for what goes, summed by count over the members that come and go.
func (ch *Change) delta(count func(m *Member, by int)) {
	for _, m := range ch.gone {
		count(m, -1)
	}
	if ch.old != nil && !ch.left(ch.old.ID) {
		count(ch.old, -1)
	}
	if ch.next != nil {
		count(ch.next, +1)
	}
}

// topics is the names of the topics that the group will be subscribed to, ascending.
func (ch *Change) topics() []string {
	counts := maps.Clone(ch.g.topics)
	ch.delta(func(m *Member, by int) {
		for _, t := range m.Info.Topics {
			add(counts, t, by)
		}
	})
	names := slices.Collect(maps.Keys(counts))
	for _, p := range ch.patterns() {
		if ch.subscribers(p) > 0 {
			names = append(names, ch.matched(p)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// patterns is those that members have or had, ascending.
func (ch *Change) patterns() []string {
	names := slices.Collect(maps.Keys(ch.g.regexes))
	if ch.next != nil && ch.next.Info.Regex != nil {
		names = append(names, *ch.next.Info.Regex)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// subscribers is how many members will have pattern.
func (ch *Change) subscribers(pattern string) int {
	n := 0
	if r := ch.g.regexes[pattern]; r != nil {
		n = r.members
	}
	ch.delta(func(m *Member, by int) {
		if m.Info.Regex != nil && *m.Info.Regex == pattern {
			n += by
		}
	})
	return n
}

// matched is the topics of pattern.
func (ch *Change) matched(pattern string) []string {
	if topics, ok := ch.resolved[pattern]; ok {
		return topics
	}
	if r := ch.g.regexes[pattern]; r != nil {
		return r.topics
	}
	return nil
}

// topicIDs is the ids of the topics that m subscribes to and that there are, in no order.
func (ch *Change) topicIDs(m *Member) []topic.ID {
	ids := make([]topic.ID, 0, len(m.Info.Topics))
	look := func(names []string) {
		for _, name := range names {
			if t := ch.x.topic(name); t != nil {
				ids = append(ids, t.ID)
			}
		}
	}
	look(m.Info.Topics)
	if m.Info.Regex != nil {
		look(ch.matched(*m.Info.Regex))
	}
	return ids
}

// targetOf is the target assignment that a member will have.
func (ch *Change) targetOf(id string) Partitions {
	if t, ok := ch.target[id]; ok {
		return t
	}
	return ch.g.target[id]
}

// refresh resolves patterns, and gives the group its next epoch if force says so or the metadata of its topics has changed.
func (ch *Change) refresh(force bool, reason, detail string) {
	if !force && !ch.g.stale && !ch.g.staleRegexes {
		return
	}
	if changed := ch.resolve(); !changed && !force && !ch.g.stale {
		ch.looked()
		return
	}
	hash := ch.x.metadataHash(ch.topics())
	switch {
	case force:
	case hash != ch.g.hash:
		reason, detail = "metadata", "the topics that the group subscribes to have changed"
	default:
		ch.looked()
		return
	}
	ch.epoch++
	ch.emit(record.ConsumerGroup{Group: ch.g.ID, Value: &record.ConsumerGroupValue{Epoch: ch.epoch, MetadataHash: hash}})
	if ch.g.oldTopics {
		ch.emit(record.ConsumerTopics{Group: ch.g.ID, Removed: true})
	}
	ch.Reason, ch.Detail = reason, detail
}

// looked notes that the group is up to date with the metadata, if nothing follows from the change: the marks are soft.
func (ch *Change) looked() {
	if len(ch.Records) == 0 {
		ch.g.stale, ch.g.staleRegexes = false, false
	}
}
