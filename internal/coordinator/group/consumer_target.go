package group

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// retarget computes the target assignment of the group's epoch, if it has none yet and the least time between two has passed, and emits what
// differs from the last (Kafka's TargetAssignmentBuilder, GroupMetadataManager.maybeUpdateTargetAssignment).
func (ch *consumerChange) retarget() {
	if ch.epoch <= ch.c.targetEpoch || !ch.mayRetarget() {
		return
	}
	members := slices.Collect(ch.members())
	for i, target := range ch.assign(members) {
		id := members[i].id
		before, had := ch.c.target[id]
		if t, ok := ch.target[id]; ok {
			before, had = t, t != nil
		}
		ch.target[id] = target
		if !had || !before.same(target) {
			ch.m.emit(record.TargetAssignment{Group: ch.group, Member: id, Value: &record.TargetAssignmentValue{Topics: target}})
		}
	}
	ch.emitTargetEpoch(ch.now.UnixMilli())
}

// emitTargetEpoch says that the target assignment is that of the group's epoch, computed at a time in ms; 0: not at any.
func (ch *consumerChange) emitTargetEpoch(at int64) {
	ch.targetEpoch = ch.epoch
	ch.m.emit(record.TargetEpoch{Group: ch.group, Value: &record.TargetEpochValue{Epoch: ch.epoch, Timestamp: at}})
}

// mayRetarget reports whether group.consumer.assignment.interval.ms has passed. A time in the future, of a clock that was set back, does not count.
func (ch *consumerChange) mayRetarget() bool {
	last := time.UnixMilli(ch.c.targetTime)
	return ch.c.targetTime == 0 || ch.now.Before(last) || !ch.now.Before(last.Add(ch.m.consumerOptions(ch.group).AssignmentInterval))
}

// assignor is the server-side assignor that most members ask for; of those that as many ask for, and if none is asked for, the first of
// group.consumer.assignors (ConsumerGroup.computePreferredServerAssignor).
func (ch *consumerChange) assignor() string {
	counts := maps.Clone(ch.c.assignors)
	ch.delta(func(m *consumerMember, by int) {
		if m.info.Assignor != nil {
			add(counts, *m.info.Assignor, by)
		}
	})
	return preferred(counts, ch.m.opts.Consumer.Assignors)
}

func preferred(counts map[string]int, assignors []string) string {
	best := ""
	for _, a := range assignors {
		if best == "" || counts[a] > counts[best] {
			best = a
		}
	}
	return best
}

// subscribedTopics is the topics that somebody subscribes to and that there are, by id.
func (ch *consumerChange) subscribedTopics() []*meta.Topic {
	var topics []*meta.Topic
	for _, name := range ch.topics() {
		if t := ch.m.topic(name); t != nil {
			topics = append(topics, t)
		}
	}
	slices.SortFunc(topics, func(a, b *meta.Topic) int { return compareIDs(a.ID, b.ID) })
	return topics
}

func compareIDs(a, b topic.ID) int { return bytes.Compare(a[:], b[:]) }
