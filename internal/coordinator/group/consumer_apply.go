package group

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// consumerOf is the group whose record is applied, with a consumer; nil if it is a tombstone and there is none.
func (m *Machine) consumerOf(id string, tombstone bool, at batch.Offset) (*group, *consumer) {
	g := m.find(id)
	if tombstone && (g == nil || g.consumer == nil) {
		return nil, nil
	}
	g = m.ensure(id)
	if g.consumer == nil {
		g.consumer = newConsumer()
		g.classic = nil // a later record wins
	}
	g.wrote(at)
	return g, g.consumer
}

func (m *Machine) applyConsumerGroup(at batch.Offset, e record.ConsumerGroup) {
	g, c := m.consumerOf(e.Group, e.Value == nil, at)
	switch {
	case c == nil:
	case e.Value == nil:
		m.dropConsumer(g)
		m.forgetIfGone(g)
	default:
		c.epoch, c.hash = e.Value.Epoch, e.Value.MetadataHash
		c.stale, c.staleRegexes = false, false
	}
}

func (m *Machine) applyConsumerTopics(at batch.Offset, e record.ConsumerTopics) {
	if _, c := m.consumerOf(e.Group, e.Removed, at); c != nil {
		c.oldTopics = !e.Removed
	}
}

func (m *Machine) applyConsumerMember(at batch.Offset, e record.ConsumerMember) {
	g, c := m.consumerOf(e.Group, e.Value == nil, at)
	switch {
	case c == nil:
	case e.Value == nil:
		m.removeConsumerMember(g, e.Member)
	default:
		old := c.members[e.Member]
		next := consumerMember{id: e.Member}
		if old != nil {
			next = *old
		}
		next.info = *e.Value
		if next.info.Regex != nil && *next.info.Regex == "" {
			next.info.Regex = nil // Kafka's word for none
		}
		m.unsubscribe(g, old)
		c.put(&next)
		m.subscribe(g, &next)
	}
}

// dropConsumer forgets the group's next-generation state.
func (m *Machine) dropConsumer(g *group) {
	for _, id := range slices.Clone(g.consumer.ids) {
		m.removeConsumerMember(g, id)
	}
	for r := range maps.Values(g.consumer.regexes) {
		m.follow.topics(g.id, r.topics, -1)
	}
	g.consumer = nil
}

// removeConsumerMember removes a member and its timers.
func (m *Machine) removeConsumerMember(g *group, id string) {
	c := g.consumer
	old := c.members[id]
	if old == nil {
		return
	}
	m.unsubscribe(g, old)
	c.disown(old)
	c.drop(id)
	delete(c.target, id)
	for _, kind := range []timerKind{consumerSession, consumerRebalance, consumerClassicJoin, consumerClassicSync} {
		m.timers.stop(timer{g.id, id, kind})
	}
}

func (m *Machine) applyTargetEpoch(at batch.Offset, e record.TargetEpoch) {
	_, c := m.consumerOf(e.Group, e.Value == nil, at)
	switch {
	case c == nil:
	case e.Value == nil:
		c.targetEpoch, c.targetTime = 0, 0
	default:
		c.targetEpoch, c.targetTime = e.Value.Epoch, e.Value.Timestamp
	}
}

func (m *Machine) applyTargetAssignment(at batch.Offset, e record.TargetAssignment) {
	_, c := m.consumerOf(e.Group, e.Value == nil, at)
	switch {
	case c == nil:
	case e.Value == nil:
		delete(c.target, e.Member)
	default:
		c.target[e.Member] = ordered(e.Value.Topics)
	}
}

func (m *Machine) applyCurrentAssignment(at batch.Offset, e record.CurrentAssignment) {
	g, c := m.consumerOf(e.Group, e.Value == nil, at)
	if c == nil {
		return
	}
	old := c.members[e.Member]
	if old == nil && e.Value == nil {
		return
	}
	next := consumerMember{id: e.Member}
	if old != nil {
		next = *old
		c.disown(old)
	}
	if v := e.Value; v != nil {
		next.epoch, next.previous, next.state = v.Epoch, v.PreviousEpoch, v.State
		next.assigned, next.revoking = orderedWithEpochs(v.Assigned, v.Epoch), orderedWithEpochs(v.Revoking, v.Epoch)
	} else {
		next.epoch, next.previous, next.state, next.assigned, next.revoking = leaveEpoch, leaveEpoch, memberStable, nil, nil
	}
	c.put(&next)
	c.own(&next)
	if next.state != memberUnrevoked || next.epoch < 0 {
		m.timers.stop(timer{g.id, next.id, consumerRebalance})
	}
}

func (m *Machine) applyRegex(at batch.Offset, e record.Regex) {
	g, c := m.consumerOf(e.Group, e.Value == nil, at)
	if c == nil {
		return
	}
	r := c.regexes[e.Pattern]
	if r == nil {
		if e.Value == nil {
			return
		}
		r = &consumerRegex{}
		c.regexes[e.Pattern] = r
	}
	m.follow.topics(g.id, r.topics, -1)
	r.resolved, r.topics = false, nil
	if e.Value != nil {
		r.resolved, r.topics = true, slices.Compact(slices.Sorted(slices.Values(e.Value.Topics)))
	}
	m.follow.topics(g.id, r.topics, +1)
	if r.members == 0 && !r.resolved {
		delete(c.regexes, e.Pattern)
	}
}
