package group

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/consumer"
)

// Timers are soft. They are set by Steps and when a group was loaded, and stopped when the records are applied that make them pointless, so that a
// Step whose records could not be appended leaves none that is missing.

// armRebalance gives mem its rebalance timeout to give up what it has to.
func (m *Machine) armRebalance(now time.Time, group string, mem *consumer.Member) {
	m.timers.set(timer{group, mem.ID, consumerRebalance}, now.Add(milliseconds(mem.Info.RebalanceTimeout)))
}

// stopConsumerTimers stops the timers of a member that is gone.
func (m *Machine) stopConsumerTimers(group, member string) {
	for _, kind := range []timerKind{consumerSession, consumerRebalance, consumerClassicJoin, consumerClassicSync} {
		m.timers.stop(timer{group, member, kind})
	}
}

func milliseconds(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// consumerLapsed fences, group by group, the members whose session is over or that did not do in time what they had to.
func (m *Machine) consumerLapsed(now time.Time, lapsed []timer) {
	for len(lapsed) > 0 {
		id := lapsed[0].group
		var members []*consumer.Member
		var reason, detail string
		var rest []timer
		for _, t := range lapsed {
			if t.group != id {
				rest = append(rest, t)
				continue
			}
			if mem, why, what := m.lapsed(t); mem != nil && !slices.Contains(members, mem) {
				members, reason, detail = append(members, mem), why, what
			}
		}
		if len(members) > 1 {
			detail = fmt.Sprintf("%d members at once, the last: %s", len(members), detail)
		}
		if len(members) > 0 {
			m.fence(now, m.find(id), reason, detail, members...)
		}
		lapsed = rest
	}
}

// lapsed is the member to be fenced for t, and why; nil: nobody.
func (m *Machine) lapsed(t timer) (mem *consumer.Member, reason, detail string) {
	g := m.consumerNamed(t.group)
	if g == nil || g.consumer.Member(t.member) == nil {
		return nil, "", ""
	}
	mem = g.consumer.Member(t.member)
	switch t.kind { //nolint:exhaustive // the others are not of next-generation groups
	case consumerRebalance:
		if !mem.MustRevoke() {
			return nil, "", ""
		}
		return mem, "rebalance timeout", fmt.Sprintf("member %q did not leave epoch %d in time", mem.ID, mem.Epoch)
	case consumerClassicJoin:
		return mem, "rebalance timeout", fmt.Sprintf("member %q did not join again in time", mem.ID)
	case consumerClassicSync:
		return mem, "rebalance timeout", fmt.Sprintf("member %q did not sync in time", mem.ID)
	}
	return mem, "session", fmt.Sprintf("the session of member %q is over", mem.ID)
}

// consumerNamed is the group with that id if it is a next-generation one, or nil.
func (m *Machine) consumerNamed(id string) *group {
	if g := m.find(id); g != nil && g.consumer != nil {
		return g
	}
	return nil
}

// noConsumer says why a group is not one of the next generation. Kafka's tools show it of every group that is not there.
func (m *Machine) noConsumer(id string) error {
	if m.find(id) == nil {
		return fmt.Errorf("there is no group %q: %w", id, kerr.GroupIDNotFound)
	}
	return fmt.Errorf("group %q is not of the next generation: %w", id, kerr.GroupIDNotFound)
}

// consumerLoaded begins the sessions of a group that was replayed. Its metadata may have changed since.
func (m *Machine) consumerLoaded(now time.Time, g *group) {
	c := g.consumer
	if c == nil {
		return
	}
	c.Loaded()
	session := m.consumerOptions(g.id).Session
	for _, id := range c.IDs() {
		mem := c.Member(id)
		if mem.Classic() {
			m.timers.set(timer{g.id, id, consumerSession}, now.Add(milliseconds(mem.Info.Classic.SessionTimeout)))
			continue
		}
		m.timers.set(timer{g.id, id, consumerSession}, now.Add(session))
		if mem.MustRevoke() {
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
