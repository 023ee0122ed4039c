package group

import (
	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// consumerOf is the next-generation group whose record at an offset is applied; nil if it is a tombstone and there is none.
func (m *Machine) consumerOf(id string, tombstone bool, at batch.Offset) *consumer.Group {
	g := m.find(id)
	if tombstone && (g == nil || g.consumer == nil) {
		return nil
	}
	g = m.ensure(id)
	if g.consumer == nil {
		g.consumer = consumer.New(id, m.index)
		g.classic = nil // a later record wins
	}
	g.wrote(at)
	return g.consumer
}

func (m *Machine) applyConsumerGroup(at batch.Offset, e record.ConsumerGroup) {
	c := m.consumerOf(e.Group, e.Value == nil, at)
	switch {
	case c == nil:
	case e.Value == nil:
		g := m.find(e.Group)
		m.dropConsumer(g)
		g.kept = false
		m.forgetIfGone(g)
	default:
		c.ApplyEpoch(*e.Value)
	}
}

// dropConsumer forgets the group's next-generation state.
func (m *Machine) dropConsumer(g *group) {
	for _, id := range g.consumer.IDs() {
		m.stopConsumerTimers(g.id, id)
	}
	g.consumer.Drop()
	g.consumer = nil
}

func (m *Machine) applyConsumerTopics(at batch.Offset, e record.ConsumerTopics) {
	if c := m.consumerOf(e.Group, e.Removed, at); c != nil {
		c.ApplyTopics(e)
	}
}

func (m *Machine) applyConsumerMember(at batch.Offset, e record.ConsumerMember) {
	if c := m.consumerOf(e.Group, e.Value == nil, at); c != nil && c.ApplyMember(e) {
		m.stopConsumerTimers(e.Group, e.Member)
	}
}

func (m *Machine) applyTargetEpoch(at batch.Offset, e record.TargetEpoch) {
	if c := m.consumerOf(e.Group, e.Value == nil, at); c != nil {
		c.ApplyTargetEpoch(e)
	}
}

func (m *Machine) applyTargetAssignment(at batch.Offset, e record.TargetAssignment) {
	if c := m.consumerOf(e.Group, e.Value == nil, at); c != nil {
		c.ApplyTarget(e)
	}
}

func (m *Machine) applyCurrentAssignment(at batch.Offset, e record.CurrentAssignment) {
	if c := m.consumerOf(e.Group, e.Value == nil, at); c != nil && c.ApplyCurrent(e) {
		m.timers.stop(timer{e.Group, e.Member, consumerRebalance})
	}
}

func (m *Machine) applyRegex(at batch.Offset, e record.Regex) {
	if c := m.consumerOf(e.Group, e.Value == nil, at); c != nil {
		c.ApplyRegex(e)
	}
}
