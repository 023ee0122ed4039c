package group

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// consumerChange is what a Step is about to do to one group: the group as it was applied, and what differs. It emits records; the group itself is
// changed when they are applied.
type consumerChange struct {
	m     *Machine
	now   time.Time
	group string
	c     *consumer // empty for a group that is not there yet; never written

	old, next *consumerMember // a member before and after; old is nil for a new one, both if none changes
	gone      []*consumerMember

	epoch       int32
	targetEpoch int32
	target      map[string]partitions // of members whose target changes; nil for those that lose it
	resolved    map[string][]string   // topics of patterns that were looked at
}

func (m *Machine) change(now time.Time, group string, c *consumer) *consumerChange {
	return &consumerChange{
		m: m, now: now, group: group, c: c, epoch: c.epoch, targetEpoch: c.targetEpoch,
		target: make(map[string]partitions), resolved: make(map[string][]string),
	}
}

// left reports whether the member leaves.
func (ch *consumerChange) left(id string) bool {
	return slices.ContainsFunc(ch.gone, func(m *consumerMember) bool { return m.id == id })
}

// members yields those that there will be, by id.
func (ch *consumerChange) members() iter.Seq[*consumerMember] {
	return func(yield func(*consumerMember) bool) {
		next := ch.next
		for _, id := range ch.c.ids {
			if next != nil && next.id <= id {
				if !yield(next) {
					return
				}
				if next = nil; ch.next.id == id {
					continue
				}
			}
			if !ch.left(id) && !yield(ch.c.members[id]) {
				return
			}
		}
		if next != nil {
			yield(next)
		}
	}
}

// delta is +1 for what comes and -1 for what goes, summed by count over the members that come and go.
func (ch *consumerChange) delta(count func(m *consumerMember, by int)) {
	for _, m := range ch.gone {
		count(m, -1)
	}
	if ch.old != nil && !ch.left(ch.old.id) {
		count(ch.old, -1)
	}
	if ch.next != nil {
		count(ch.next, +1)
	}
}

// topics is the names of the topics that the group will be subscribed to, ascending.
func (ch *consumerChange) topics() []string {
	counts := maps.Clone(ch.c.topics)
	ch.delta(func(m *consumerMember, by int) {
		for _, t := range m.info.Topics {
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
func (ch *consumerChange) patterns() []string {
	names := slices.Collect(maps.Keys(ch.c.regexes))
	if ch.next != nil && ch.next.info.Regex != nil {
		names = append(names, *ch.next.info.Regex)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// subscribers is how many members will have pattern.
func (ch *consumerChange) subscribers(pattern string) int {
	n := 0
	if r := ch.c.regexes[pattern]; r != nil {
		n = r.members
	}
	ch.delta(func(m *consumerMember, by int) {
		if m.info.Regex != nil && *m.info.Regex == pattern {
			n += by
		}
	})
	return n
}

// matched is the topics of pattern.
func (ch *consumerChange) matched(pattern string) []string {
	if topics, ok := ch.resolved[pattern]; ok {
		return topics
	}
	if r := ch.c.regexes[pattern]; r != nil {
		return r.topics
	}
	return nil
}

// topicIDs is the ids of the topics that m subscribes to and that there are, in no order.
func (ch *consumerChange) topicIDs(m *consumerMember) []topic.ID {
	ids := make([]topic.ID, 0, len(m.info.Topics))
	look := func(names []string) {
		for _, name := range names {
			if t := ch.m.topic(name); t != nil {
				ids = append(ids, t.ID)
			}
		}
	}
	look(m.info.Topics)
	if m.info.Regex != nil {
		look(ch.matched(*m.info.Regex))
	}
	return ids
}

// targetOf is the target assignment that a member will have.
func (ch *consumerChange) targetOf(id string) partitions {
	if t, ok := ch.target[id]; ok {
		return t
	}
	return ch.c.target[id]
}

// refresh resolves patterns, and gives the group its next epoch if force says so or the metadata of its topics has changed.
func (ch *consumerChange) refresh(force bool, reason, detail string) {
	if !force && !ch.c.stale {
		return
	}
	ch.resolve()
	hash := ch.m.metadataHash(ch.topics())
	switch {
	case force:
	case hash != ch.c.hash:
		reason, detail = "metadata", "the topics that the group subscribes to have changed"
	default:
		if len(ch.m.out.Records) == 0 {
			ch.c.stale, ch.c.staleRegexes = false, false // soft: it was looked at, and nothing follows
		}
		return
	}
	ch.epoch++
	ch.m.emit(record.ConsumerGroup{Group: ch.group, Value: &record.ConsumerGroupValue{Epoch: ch.epoch, MetadataHash: hash}})
	if ch.c.oldTopics {
		ch.m.emit(record.ConsumerTopics{Group: ch.group, Removed: true})
	}
	ch.m.out.Rebalances = append(ch.m.out.Rebalances, Rebalance{Group: ch.group, Reason: reason, Detail: detail})
}
