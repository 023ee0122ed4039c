package consumer

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// What Apply does with the records of a group, live and on replay. The tombstone of a ConsumerGroup is the caller's: it drops the group.

// ApplyEpoch takes in the group's epoch.
func (g *Group) ApplyEpoch(v record.ConsumerGroupValue) {
	g.Epoch, g.hash = v.Epoch, v.MetadataHash
	g.stale, g.staleRegexes = false, false
}

// ApplyTopics takes in a record of Kafka before 4.1.
func (g *Group) ApplyTopics(e record.ConsumerTopics) { g.oldTopics = !e.Removed }

// ApplyMember takes in what a member says of itself, and reports whether the member is gone.
func (g *Group) ApplyMember(e record.ConsumerMember) (gone bool) {
	old := g.members[e.Member]
	if e.Value == nil {
		g.remove(e.Member)
		return old != nil
	}
	next := Member{ID: e.Member}
	if old != nil {
		next = *old
	}
	next.Info = *e.Value
	if next.Info.Regex != nil && *next.Info.Regex == "" {
		next.Info.Regex = nil // Kafka's word for none
	}
	g.count(old, -1)
	g.put(&next)
	g.count(&next, +1)
	return false
}

// remove removes a member and what is the group's of it.
func (g *Group) remove(id string) {
	old := g.members[id]
	if old == nil {
		return
	}
	g.count(old, -1)
	g.disown(old)
	g.drop(id)
	delete(g.target, id)
}

// Drop takes the group out of the index: it is gone.
func (g *Group) Drop() {
	for _, id := range slices.Clone(g.ids) {
		g.remove(id)
	}
	g.regexes = nil
}

// ApplyTargetEpoch takes in the epoch of the target assignment.
func (g *Group) ApplyTargetEpoch(e record.TargetEpoch) {
	g.TargetEpoch, g.targetTime = 0, 0
	if e.Value != nil {
		g.TargetEpoch, g.targetTime = e.Value.Epoch, e.Value.Timestamp
	}
}

// ApplyTarget takes in a member's target assignment.
func (g *Group) ApplyTarget(e record.TargetAssignment) {
	if e.Value == nil {
		delete(g.target, e.Member)
		return
	}
	g.target[e.Member] = Of(e.Value.Topics)
}

// ApplyCurrent takes in where a member is, and reports whether there is nothing any more that it has to give up.
func (g *Group) ApplyCurrent(e record.CurrentAssignment) (settled bool) {
	old := g.members[e.Member]
	if old == nil && e.Value == nil {
		return false
	}
	next := Member{ID: e.Member}
	if old != nil {
		next = *old
		g.disown(old)
	}
	if v := e.Value; v != nil {
		next.Epoch, next.previous, next.State = v.Epoch, v.PreviousEpoch, v.State
		next.Assigned, next.Revoking = orderedWithEpochs(v.Assigned, v.Epoch), orderedWithEpochs(v.Revoking, v.Epoch)
	} else {
		next.Epoch, next.previous, next.State, next.Assigned, next.Revoking = LeaveEpoch, LeaveEpoch, Stable, nil, nil
	}
	g.put(&next)
	g.own(&next)
	return !next.MustRevoke()
}

// MustRevoke reports whether the member has to give up something.
func (m *Member) MustRevoke() bool { return m.State == Unrevoked && m.Epoch >= 0 }

// ApplyRegex takes in what a pattern was resolved to.
func (g *Group) ApplyRegex(e record.Regex) {
	r := g.regexes[e.Pattern]
	if r == nil {
		if e.Value == nil {
			return
		}
		r = &regex{}
		g.regexes[e.Pattern] = r
	}
	r.resolved, r.topics = false, nil
	if e.Value != nil {
		r.resolved, r.topics = true, g.index.shared(e.Pattern, slices.Compact(slices.Sorted(slices.Values(e.Value.Topics))))
	}
	if r.members == 0 && !r.resolved {
		delete(g.regexes, e.Pattern)
	}
}

// Loaded says that the replay is over: what the group looks at may have changed since.
func (g *Group) Loaded() { g.stale, g.staleRegexes = true, true }

// Tombstones is the records that remove the group and all of its members. Their order matters to Kafka.
func (g *Group) Tombstones() []record.Record {
	var list []record.Record
	emit := func(e record.Entry) { list = append(list, e.Record()) }
	for _, id := range g.ids {
		emit(record.CurrentAssignment{Group: g.ID, Member: id})
	}
	for _, id := range g.ids {
		emit(record.TargetAssignment{Group: g.ID, Member: id})
	}
	emit(record.TargetEpoch{Group: g.ID})
	for _, id := range g.ids {
		emit(record.ConsumerMember{Group: g.ID, Member: id})
	}
	for _, pattern := range slices.Sorted(maps.Keys(g.regexes)) {
		if g.regexes[pattern].resolved {
			emit(record.Regex{Group: g.ID, Pattern: pattern})
		}
	}
	if g.oldTopics {
		emit(record.ConsumerTopics{Group: g.ID, Removed: true})
	}
	emit(record.ConsumerGroup{Group: g.ID})
	return list
}
