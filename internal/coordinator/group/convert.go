package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/consumer"
)

// upgraded is a classic group as a next-generation one, whose members go on where they are (GroupMetadataManager.convertToConsumerGroup). g itself
// changes when the records are applied.
func (m *Machine) upgraded(g *group) (*consumer.Group, error) {
	from := g.classic
	refuse := func(why string) error {
		return fmt.Errorf("group %q is a classic group, and stays it: %s: %w", g.id, why, kerr.GroupIDNotFound)
	}
	switch {
	case !m.opts.Consumer.Upgrade:
		return nil, refuse("group.consumer.migration.policy forbids an upgrade")
	case from.kind != consumer.Embedded:
		return nil, refuse(fmt.Sprintf("its members' protocol is %q", from.kind))
	case len(from.members) > m.opts.Consumer.MaxSize:
		return nil, refuse("it has more members than group.consumer.max.size allows")
	}
	members := make([]consumer.ClassicMember, 0, len(from.order))
	for _, mem := range from.order {
		protocol := mem.protocols[0].Name
		if mem.metadata(from.protocol) != nil {
			protocol = from.protocol
		}
		members = append(members, consumer.ClassicMember{
			ID: mem.id, InstanceID: mem.instance, ClientID: mem.clientID, ClientHost: mem.host, Session: mem.session, Rebalance: mem.rebalance,
			Protocols: mem.protocols, Metadata: mem.metadata(protocol), Assignment: mem.assignment,
		})
	}
	c, err := m.index.Upgrade(g.id, from.generation, members, from.phase == classicStable)
	if err != nil {
		return nil, refuse(err.Error())
	}
	return c, nil
}

// finishUpgrade tells who waits in the classic group that there is a rebalance, and begins the members' sessions.
func (m *Machine) finishUpgrade(now time.Time, g *group) {
	m.out.Retractable = false
	for _, mem := range g.classic.order {
		m.answerJoin(mem, g.classic, JoinResult{Err: kerr.RebalanceInProgress, Generation: -1, Member: mem.id})
		m.answerSync(now, g, mem, SyncResult{Err: kerr.RebalanceInProgress})
		m.timers.set(timer{g.id, mem.id, consumerSession}, now.Add(mem.session))
	}
}

// downgraded is the classic group of those who stay when members go; nil: the group stays what it is, since not all of them speak the classic
// protocol, or for another reason (GroupMetadataManager.validateOnlineDowngradeWithFencedMembers, ClassicGroup.fromConsumerGroup).
func (m *Machine) downgraded(now time.Time, g *group, members []*consumer.Member) *classic {
	from := g.consumer
	stay := from.Len() - len(members)
	if stay == 0 || !m.opts.Consumer.Downgrade || stay > m.opts.Classic.MaxSize {
		return nil
	}
	c := newClassic()
	c.phase, c.generation, c.kind, c.changed = classicStable, from.Epoch, consumer.Embedded, now.UnixMilli()
	for _, id := range from.IDs() {
		mem := from.Member(id)
		switch {
		case slices.Contains(members, mem):
		case !mem.Classic():
			return nil
		default:
			c.add(downgradedMember(mem))
		}
	}
	c.protocol = c.elect()
	if c.protocol == "" {
		return nil
	}
	for _, mem := range c.order {
		mem.assignment = m.index.Assignment(from.Member(mem.id).Assigned, mem.metadata(c.protocol))
	}
	if m.tooLarge(append(from.Tombstones(), c.record(g.id).Record())) {
		return nil
	}
	return c
}

func downgradedMember(mem *consumer.Member) *classicMember {
	return &classicMember{
		id: mem.ID, instance: mem.Info.InstanceID, clientID: mem.Info.ClientID, host: mem.Info.ClientHost,
		session: milliseconds(mem.Info.Classic.SessionTimeout), rebalance: milliseconds(mem.Info.RebalanceTimeout),
		protocols: mem.Info.Classic.Protocols,
	}
}

// downgrade makes g the classic group c, whose members are to join again (GroupMetadataManager.convertToClassicGroup).
func (m *Machine) downgrade(now time.Time, g *group, c *classic, detail string) {
	m.out.Retractable = false
	m.consumerRemove(g)
	m.dropConsumer(g)
	g.classic = c
	r := c.record(g.id)
	r.Value.Leader = nil // who loads this begins the rebalance again: what was the others' is nobody's yet
	m.emit(r)
	c.emitted++
	for _, mem := range c.order {
		m.touch(now, g, mem)
	}
	m.prepareRebalance(now, g, "downgrade", detail)
}
