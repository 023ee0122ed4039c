package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// embedded is the protocol type of classic groups of consumers, whose members' metadata and assignments the coordinator can read.
const embedded = "consumer"

// upgraded emits what makes a classic group a next-generation one whose members go on where they are, and returns that
// (GroupMetadataManager.convertToConsumerGroup). g itself changes when the records are applied.
func (m *Machine) upgraded(g *group) (*consumer, error) {
	from := g.classic
	refuse := func(why string) error {
		return fmt.Errorf("group %q is a classic group, and stays it: %s: %w", g.id, why, kerr.GroupIDNotFound)
	}
	switch {
	case !m.opts.Consumer.Upgrade:
		return nil, refuse("group.consumer.migration.policy forbids an upgrade")
	case from.kind != embedded:
		return nil, refuse(fmt.Sprintf("its members' protocol is %q", from.kind))
	case len(from.members) > m.opts.Consumer.MaxSize:
		return nil, refuse("it has more members than group.consumer.max.size allows")
	}
	c := newConsumer()
	c.epoch, c.targetEpoch, c.stale, c.staleRegexes = from.generation, from.generation, true, true
	for _, mem := range from.order {
		next, err := m.upgradedMember(from, mem, c)
		if err != nil {
			return nil, refuse(err.Error())
		}
		c.put(next)
		c.own(next)
		c.count(&follows{}, g.id, next, +1)
	}
	m.claimOwned(from, c)
	for _, id := range c.ids {
		c.target[id] = c.members[id].assigned.plain()
	}
	m.classicRemove(g)
	return c, m.emitUpgraded(g.id, c)
}

// emitUpgraded emits all of c.
func (m *Machine) emitUpgraded(group string, c *consumer) error {
	ch := m.change(time.Time{}, group, c)
	for _, id := range c.ids {
		if err := ch.emitMember(c.members[id]); err != nil {
			return err
		}
	}
	m.emit(record.ConsumerGroup{Group: group, Value: &record.ConsumerGroupValue{Epoch: c.epoch}})
	for _, id := range c.ids {
		m.emit(record.TargetAssignment{Group: group, Member: id, Value: &record.TargetAssignmentValue{Topics: c.target[id]}})
	}
	m.emit(record.TargetEpoch{Group: group, Value: &record.TargetEpochValue{Epoch: c.epoch}})
	for _, id := range c.ids {
		m.emit(c.members[id].current(group))
	}
	return nil
}

// upgradedMember is a classic member as one of c: stable, with what its leader has given it, but for what another member has already, or what is
// not there.
func (m *Machine) upgradedMember(from *classic, mem *classicMember, c *consumer) (*consumerMember, error) {
	protocol := mem.protocols[0].Name
	if mem.metadata(from.protocol) != nil {
		protocol = from.protocol
	}
	sub, err := readSubscription(mem.metadata(protocol))
	if err != nil {
		return nil, fmt.Errorf("member %q: %w", mem.id, err)
	}
	next := &consumerMember{id: mem.id, epoch: from.generation, previous: from.generation, state: memberStable}
	next.info = record.ConsumerMemberValue{
		InstanceID: mem.instance, RackID: sub.Rack, ClientID: mem.clientID, ClientHost: mem.host, Topics: sub.names(),
		RebalanceTimeout: int32(mem.rebalance.Milliseconds()), //nolint:gosec // it came as int32
		Classic: &record.ClassicProtocols{
			SessionTimeout: int32(mem.session.Milliseconds()), Protocols: mem.protocols, //nolint:gosec // it came as int32
		},
	}
	var assigned kmsg.ConsumerMemberAssignment
	if len(mem.assignment) > 0 {
		if err := assigned.ReadFrom(mem.assignment); err != nil {
			return nil, fmt.Errorf("the assignment of member %q: %w", mem.id, err)
		}
	}
	var all []assignedPartition
	for _, t := range assigned.Topics {
		all = append(all, m.named(t.Topic, t.Partitions, from.generation)...)
	}
	next.assigned = partitionsOf(all, true).filter(func(p topicPartition) bool { return c.owners[p] == "" })
	return next, nil
}

// claimOwned gives the members of c what they said that they own, where nobody has it. In the middle of a rebalance there may be no assignment, and
// members of a cooperative protocol go on with what they had.
func (m *Machine) claimOwned(from *classic, c *consumer) {
	if from.phase == classicStable {
		return
	}
	for _, mem := range from.order {
		for _, p := range mem.protocols {
			sub, err := readSubscription(p.Metadata)
			if err != nil {
				continue
			}
			next := *c.members[mem.id]
			free := sub.owned(m).filter(func(p topicPartition) bool { return c.owners[p] == "" })
			next.assigned = next.assigned.union(orderedWithEpochs(free.plain(), next.epoch))
			c.put(&next)
			c.own(&next)
		}
	}
}

// named is the partitions of a topic with that name that there are.
func (m *Machine) named(name string, indexes []int32, epoch int32) []assignedPartition {
	t := m.topic(name)
	if t == nil {
		return nil
	}
	var all []assignedPartition
	for _, p := range indexes {
		if p >= 0 && int(p) < len(t.Partitions) {
			all = append(all, assignedPartition{topicPartition{t.ID, p}, epoch})
		}
	}
	return all
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
func (m *Machine) downgraded(now time.Time, g *group, members []*consumerMember) *classic {
	from := g.consumer
	stay := len(from.members) - len(members)
	if stay == 0 || !m.opts.Consumer.Downgrade || stay > m.opts.Classic.MaxSize {
		return nil
	}
	c := newClassic()
	c.phase, c.generation, c.kind, c.changed = classicStable, from.epoch, embedded, now.UnixMilli()
	for _, id := range from.ids {
		mem := from.members[id]
		switch {
		case slices.Contains(members, mem):
		case !mem.classic():
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
		mem.assignment = m.writeAssignment(from.members[mem.id].assigned, mem.metadata(c.protocol))
	}
	if r := c.record(g.id).Record(); m.opts.RecordMax > 0 && len(r.Key)+len(r.Value) > m.opts.RecordMax {
		return nil
	}
	return c
}

func downgradedMember(mem *consumerMember) *classicMember {
	return &classicMember{
		id: mem.id, instance: mem.info.InstanceID, clientID: mem.info.ClientID, host: mem.info.ClientHost,
		session: milliseconds(mem.info.Classic.SessionTimeout), rebalance: milliseconds(mem.info.RebalanceTimeout),
		protocols: mem.info.Classic.Protocols,
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
