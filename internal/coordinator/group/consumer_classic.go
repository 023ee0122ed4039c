package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// Members of next-generation groups may speak the classic protocol, so that a group can be upgraded client by client. The coordinator is
// their leader: JoinGroup is a heartbeat that brings all, and is answered at once; SyncGroup fetches the assignment; Heartbeat says when to
// join again. Their generation is their member epoch.

// joinConsumer is a JoinGroup to a next-generation group (GroupMetadataManager.classicGroupJoinToConsumerGroup). An empty one becomes a classic
// group, and so does one whose last member of the next generation is replaced by in.
func (m *Machine) joinConsumer(now time.Time, g *group, in Join) {
	if err := m.checkJoin(in); err != nil {
		m.refuseJoin(in, err, in.Member)
		return
	}
	switch replaced := g.consumer.staticMember(in.InstanceID); {
	case len(g.consumer.members) == 0 && in.Member == "":
		m.consumerRemove(g)
		m.dropConsumer(g)
		m.join(now, in)
		return
	case replaced != nil && in.Member == "" && !replaced.classic():
		if c := m.downgraded(now, g, []*consumerMember{replaced}); c != nil && c.supports(in.ProtocolType, in.Protocols) {
			m.downgrade(now, g, c, fmt.Sprintf("instance %q comes back with the classic protocol", *in.InstanceID))
			m.join(now, in)
			return
		}
	}
	m.out.Retractable = true
	result, err := m.joinedConsumer(now, g, in)
	if err != nil {
		m.out.Records, m.out.Rebalances = nil, nil
		result.Err, result.Generation = err, -1
	}
	m.answerGroup(in.Token, in.Group, result)
}

// joinedConsumer is the answer to a JoinGroup.
func (m *Machine) joinedConsumer(now time.Time, g *group, in Join) (JoinResult, error) {
	refused := JoinResult{Member: in.Member}
	if err := m.checkJoinConsumer(g.consumer, in); err != nil {
		return refused, err
	}
	sub, err := readSubscription(in.Protocols[0].Metadata)
	if err != nil {
		return refused, fmt.Errorf("the metadata of protocol %q: %w: %w", in.Protocols[0].Name, err, kerr.InconsistentGroupProtocol)
	}
	id := in.Member
	if id == "" {
		id = freshMemberID(in)
		if in.NeedsKnownID && in.InstanceID == nil {
			return JoinResult{Member: id}, kerr.MemberIDRequired
		}
	}
	ch := m.change(now, g.id, g.consumer)
	base, err := ch.classicMember(id, in)
	if err != nil {
		return refused, err
	}
	ch.next = joinedMember(base, in, &sub)
	resubscribe, err := ch.update(base)
	if err != nil {
		return refused, err
	}
	ch.retarget()
	if err := ch.reconcile(sub.owned(m), true, resubscribe); err != nil {
		return refused, err
	}
	m.timers.stop(timer{g.id, id, consumerClassicJoin})
	m.timers.set(timer{g.id, id, consumerSession}, now.Add(in.Session))
	m.timers.set(timer{g.id, id, consumerClassicSync}, now.Add(milliseconds(ch.next.info.RebalanceTimeout)))
	kind, protocol := embedded, in.Protocols[0].Name
	return JoinResult{Member: id, Generation: ch.next.epoch, ProtocolType: &kind, Protocol: &protocol}, nil
}

// checkJoinConsumer says why in may not join.
func (m *Machine) checkJoinConsumer(c *consumer, in Join) error {
	switch {
	case len(c.members) == 0:
		return fmt.Errorf("member %q is not in the group: %w", in.Member, kerr.UnknownMemberID)
	case !m.opts.Consumer.Upgrade && !m.opts.Consumer.Downgrade:
		return fmt.Errorf("group.consumer.migration.policy forbids classic members in next-generation groups: %w", kerr.InconsistentGroupProtocol)
	case in.ProtocolType != embedded || !c.supports(in.Protocols):
		return fmt.Errorf("no protocol of type %q that all classic members have: %w", embedded, kerr.InconsistentGroupProtocol)
	}
	return m.checkConsumerSize(c, in.Member, in.InstanceID)
}

// supports reports whether all classic members have one of protocols (ConsumerGroup.supportsClassicProtocols).
func (c *consumer) supports(protocols []record.Protocol) bool {
	return slices.ContainsFunc(protocols, func(p record.Protocol) bool {
		for _, id := range c.ids {
			classic := c.members[id].info.Classic
			if classic != nil && !slices.ContainsFunc(classic.Protocols, func(q record.Protocol) bool { return q.Name == p.Name }) {
				return false
			}
		}
		return true
	})
}

// classicMember is who joins, as it was; a new member's is empty but for its id.
func (ch *consumerChange) classicMember(id string, in Join) (*consumerMember, error) {
	if in.InstanceID == nil {
		return ch.memberOrNew(id), nil
	}
	old := ch.c.staticMember(in.InstanceID)
	switch {
	case old == nil && in.Member == "":
		return ch.memberOrNew(id), nil
	case old == nil:
		return nil, fmt.Errorf("no member has instance id %q: %w", *in.InstanceID, kerr.UnknownMemberID)
	case in.Member == "":
		return ch.replace(old, id), nil
	case old.id != id:
		return nil, fmt.Errorf("instance id %q is member %q's now: %w", *in.InstanceID, old.id, kerr.FencedInstanceID)
	}
	ch.old = old
	return old, nil
}

// memberOrNew is the member with that id, or a new one.
func (ch *consumerChange) memberOrNew(id string) *consumerMember {
	if ch.old = ch.c.members[id]; ch.old != nil {
		return ch.old
	}
	return &consumerMember{id: id}
}

// joinedMember is base with what a JoinGroup says of it.
func joinedMember(base *consumerMember, in Join, sub *embeddedSubscription) *consumerMember {
	next := *base
	info := &next.info
	if in.InstanceID != nil {
		info.InstanceID = in.InstanceID
	}
	if sub.Rack != nil {
		info.RackID = sub.Rack
	}
	info.RebalanceTimeout = int32(min(max(in.Rebalance, 0).Milliseconds(), 1<<31-1)) //nolint:gosec // bounded
	info.Topics, info.Regex = sub.names(), nil
	info.ClientID, info.ClientHost = in.ClientID, in.Host
	info.Classic = &record.ClassicProtocols{
		SessionTimeout: int32(in.Session.Milliseconds()), //nolint:gosec // within the bounds of sessions
		Protocols:      keepProtocols(in.Protocols),
	}
	return &next
}

// classicMemberOf is a member that speaks the classic protocol and is of that generation.
func (c *consumer) classicMemberOf(id string, instance *string, generation int32) (*consumerMember, error) {
	mem, err := c.memberOf(id, instance)
	switch {
	case err != nil:
		return nil, err
	case !mem.classic():
		return nil, fmt.Errorf("member %q does not speak the classic protocol: %w", mem.id, kerr.UnknownMemberID)
	case generation != mem.epoch:
		return nil, mem.stale(generation)
	}
	return mem, nil
}

// syncConsumer is a SyncGroup to a next-generation group (GroupMetadataManager.classicGroupSyncToConsumerGroup).
func (m *Machine) syncConsumer(now time.Time, g *group, in Sync) {
	m.out.Retractable = true
	result, err := m.syncedConsumer(now, g, in)
	if err != nil {
		result = SyncResult{Err: err}
	}
	m.answerGroup(in.Token, in.Group, result)
}

func (m *Machine) syncedConsumer(now time.Time, g *group, in Sync) (SyncResult, error) {
	mem, err := g.consumer.classicMemberOf(in.Member, in.InstanceID, in.Generation)
	if err != nil {
		return SyncResult{}, err
	}
	first := mem.info.Classic.Protocols[0]
	if in.ProtocolType != nil && *in.ProtocolType != embedded || in.Protocol != nil && *in.Protocol != first.Name {
		return SyncResult{}, fmt.Errorf("member %q joined with protocol %q: %w", mem.id, first.Name, kerr.InconsistentGroupProtocol)
	}
	if g.consumer.targetEpoch > mem.epoch && mem.state != memberUnrevoked {
		m.awaitJoin(now, g, mem)
		return SyncResult{}, kerr.RebalanceInProgress
	}
	m.timers.stop(timer{g.id, mem.id, consumerClassicSync})
	m.beginClassicSession(now, g, mem)
	kind := embedded
	return SyncResult{ProtocolType: &kind, Protocol: &first.Name, Assignment: m.writeAssignment(mem.assigned, first.Metadata)}, nil
}

func (m *Machine) beginClassicSession(now time.Time, g *group, mem *consumerMember) {
	m.timers.set(timer{g.id, mem.id, consumerSession}, now.Add(milliseconds(mem.info.Classic.SessionTimeout)))
}

// awaitJoin gives mem its rebalance timeout to join again, unless it has that already.
func (m *Machine) awaitJoin(now time.Time, g *group, mem *consumerMember) {
	if t := (timer{g.id, mem.id, consumerClassicJoin}); !m.timers.armed(t) {
		m.timers.set(t, now.Add(milliseconds(mem.info.RebalanceTimeout)))
	}
}

// heartbeatConsumer is a Heartbeat to a next-generation group (GroupMetadataManager.classicGroupHeartbeatToConsumerGroup).
func (m *Machine) heartbeatConsumer(now time.Time, g *group, in Heartbeat) {
	m.out.Retractable = true
	mem, err := g.consumer.classicMemberOf(in.Member, in.InstanceID, in.Generation)
	if err == nil {
		m.beginClassicSession(now, g, mem)
		ch := m.change(now, g.id, g.consumer) // there may be nobody else who heartbeats
		ch.refresh(false, "", "")
		ch.retarget()
		if mem.epoch < ch.targetEpoch || g.consumer.mustRejoin(mem) {
			m.awaitJoin(now, g, mem)
			err = kerr.RebalanceInProgress
		}
	}
	m.answerGroup(in.Token, in.Group, HeartbeatResult{Err: err})
}

// mustRejoin reports whether there is something for mem that it only gets by joining again: another epoch, something to give up, or
// something that was given up for it.
func (c *consumer) mustRejoin(mem *consumerMember) bool {
	return mem.epoch < c.targetEpoch || mem.state == memberUnrevoked || mem.state == memberUnreleased && !c.waits(mem)
}

// waits reports whether something of mem's target assignment is still another's.
func (c *consumer) waits(mem *consumerMember) bool {
	for p := range c.target[mem.id].all() {
		if _, held := c.owners[p]; held && !mem.assigned.has(p) {
			return true
		}
	}
	return false
}

// leaveConsumer is a LeaveGroup to a next-generation group (GroupMetadataManager.classicGroupLeaveToConsumerGroup).
func (m *Machine) leaveConsumer(now time.Time, g *group, in Leave) {
	m.out.Retractable = true
	members := slices.Clone(in.Members)
	var gone []*consumerMember
	for i := range members {
		mem, err := g.consumer.leaver(&members[i])
		switch {
		case err != nil:
			members[i].Err = err
		case slices.Contains(gone, mem):
			members[i].Err = kerr.UnknownMemberID
		default:
			gone = append(gone, mem)
		}
	}
	if len(gone) > 0 {
		m.fence(now, g, "leave", fmt.Sprintf("%d members leave, the first is %q", len(gone), gone[0].id), gone...)
	}
	m.answerGroup(in.Token, in.Group, LeaveResult{Members: members})
}

// leaver is the classic member that l names: an administrator may name it by its instance id alone.
func (c *consumer) leaver(l *LeavingMember) (*consumerMember, error) {
	id := l.Member
	if static := c.staticMember(l.InstanceID); id == "" && static != nil {
		id = static.id
	}
	mem, err := c.memberOf(id, l.InstanceID)
	if err == nil && !mem.classic() {
		return nil, fmt.Errorf("member %q does not speak the classic protocol: %w", mem.id, kerr.UnknownMemberID)
	}
	return mem, err
}
