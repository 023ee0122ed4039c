package group

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// Timers are soft. They are set by Steps and when a group was loaded, and stopped when the records are applied that make them pointless, so that a
// Step whose records could not be appended leaves none that is missing.

// armRebalance gives mem its rebalance timeout to give up what it has to.
func (m *Machine) armRebalance(now time.Time, group string, mem *consumerMember) {
	m.timers.set(timer{group, mem.id, consumerRebalance}, now.Add(milliseconds(mem.info.RebalanceTimeout)))
}

func milliseconds(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// consumerTimer fences a member whose session is over, or that did not give up its partitions in time.
func (m *Machine) consumerTimer(now time.Time, t timer) {
	g := m.find(t.group)
	if g == nil || g.consumer == nil {
		return
	}
	mem := g.consumer.members[t.member]
	switch {
	case mem == nil:
	case t.kind == consumerSession:
		m.fence(now, g, "session", fmt.Sprintf("the session of member %q is over", mem.id), mem)
	case t.kind == consumerRebalance && mem.state == memberUnrevoked && mem.epoch >= 0:
		m.fence(now, g, "rebalance timeout", fmt.Sprintf("member %q did not leave epoch %d in time", mem.id, mem.epoch), mem)
	}
}

// consumerLoaded begins the sessions of a group that was replayed. Its metadata may have changed since.
func (m *Machine) consumerLoaded(now time.Time, g *group) {
	c := g.consumer
	if c == nil {
		return
	}
	c.stale, c.staleRegexes = true, true
	session := m.consumerOptions(g.id).Session
	for _, id := range c.ids {
		mem := c.members[id]
		if mem.classic() {
			m.timers.set(timer{g.id, id, consumerSession}, now.Add(milliseconds(mem.info.Classic.SessionTimeout)))
			continue
		}
		m.timers.set(timer{g.id, id, consumerSession}, now.Add(session))
		if mem.state == memberUnrevoked && mem.epoch >= 0 {
			m.armRebalance(now, g.id, mem)
		}
	}
}

// consumerOptions is the options of a group: the broker's, but for what the group's own configs say, within the broker's bounds (KIP-848,
// Kafka's GroupConfig).
func (m *Machine) consumerOptions(group string) ConsumerOptions {
	opts := m.opts.Consumer
	if m.image == nil {
		return opts
	}
	configs := m.image.Config(meta.Resource{Type: meta.ResourceGroup, Name: group})
	if len(configs) == 0 {
		return opts
	}
	override := func(value *time.Duration, key string, low, high time.Duration) {
		if ms, err := strconv.ParseInt(configs[key], 10, 32); err == nil && ms >= 0 {
			*value = min(max(time.Duration(ms)*time.Millisecond, low), high)
		}
	}
	override(&opts.Session, "consumer.session.timeout.ms", opts.MinSession, opts.MaxSession)
	override(&opts.Heartbeat, "consumer.heartbeat.interval.ms", opts.MinHeartbeat, opts.MaxHeartbeat)
	override(&opts.AssignmentInterval, "consumer.assignment.interval.ms", opts.MinAssignmentInterval, opts.MaxAssignmentInterval)
	return opts
}
