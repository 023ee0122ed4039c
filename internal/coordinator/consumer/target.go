package consumer

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
func (ch *Change) retarget() {
	if ch.epoch <= ch.g.TargetEpoch || !ch.mayRetarget() {
		return
	}
	members := slices.Collect(ch.members())
	for i, target := range ch.assign(members) {
		id := members[i].ID
		before, had := ch.g.target[id]
		if t, ok := ch.target[id]; ok {
			before, had = t, t != nil
		}
		ch.target[id] = target
		if !had || !before.same(target) {
			ch.emit(record.TargetAssignment{Group: ch.g.ID, Member: id, Value: &record.TargetAssignmentValue{Topics: target}})
		}
	}
	ch.emitTargetEpoch(ch.now.UnixMilli())
}

// emitTargetEpoch says that the target assignment is that of the group's epoch, computed at a time in ms; 0: not at any.
func (ch *Change) emitTargetEpoch(at int64) {
	ch.targetEpoch = ch.epoch
	ch.emit(record.TargetEpoch{Group: ch.g.ID, Value: &record.TargetEpochValue{Epoch: ch.epoch, Timestamp: at}})
}

// mayRetarget reports whether group.consumer.assignment.interval.ms has passed. A time in the future, of a clock that was set back, does not count.
func (ch *Change) mayRetarget() bool {
	last := time.UnixMilli(ch.g.targetTime)
	return ch.g.targetTime == 0 || ch.now.Before(last) || !ch.now.Before(last.Add(ch.interval))
}

// assignor is the server-side assignor that most members ask for; of those that as many ask for, and if none is asked for, the first of
// group.consumer.assignors (ConsumerGroup.computePreferredServerAssignor).
func (ch *Change) assignor() string {
	counts := maps.Clone(ch.g.assignors)
	ch.delta(func(m *Member, by int) {
		if m.Info.Assignor != nil {
			add(counts, *m.Info.Assignor, by)
		}
	})
	return preferred(counts, ch.x.assignors)
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
func (ch *Change) subscribedTopics() []*meta.Topic {
	var topics []*meta.Topic
	for _, name := range ch.topics() {
		if t := ch.x.topic(name); t != nil {
			topics = append(topics, t)
		}
	}
	slices.SortFunc(topics, func(a, b *meta.Topic) int { return compareIDs(a.ID, b.ID) })
	return topics
}

func compareIDs(a, b topic.ID) int { return bytes.Compare(a[:], b[:]) }
