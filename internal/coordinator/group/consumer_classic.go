package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/consumer"
)

// Members of next-generation groups may speak the classic protocol. The coordinator is their leader: JoinGroup is a heartbeat that brings all, and
// is answered at once; SyncGroup fetches the assignment; Heartbeat says when to join again.

// joinConsumer is a JoinGroup to a next-generation group (GroupMetadataManager.classicGroupJoinToConsumerGroup). An empty one becomes a classic
// group, and so does one whose last member of the next generation is replaced by in.
func (m *Machine) joinConsumer(now time.Time, g *group, in Join) {
	if err := m.checkJoin(in); err != nil {
		m.refuseJoin(in, err, in.Member)
		return
	}
	switch replaced := g.consumer.Static(in.InstanceID); {
	case in.Member == "" && (g.consumer.Len() == 0 || m.replacesAll(g, replaced, in)):
		epoch := g.consumer.Epoch
		m.consumerRemove(g)
		m.dropConsumer(g)
		g.classic = newClassic()
		g.classic.generation = epoch
		m.join(now, in)
		return
	case replaced != nil && in.Member == "" && !replaced.Classic():
		c := m.downgraded(now, g, []*consumer.Member{replaced})
		if c != nil && c.supports(in.ProtocolType, in.Protocols) {
			m.downgrade(now, g, c, fmt.Sprintf("instance %q comes back with the classic protocol", *in.InstanceID))
			m.join(now, in)
			return
		}
	}
	m.out.Retractable = true
	result, err := m.joinedConsumer(now, g, in)
	if err != nil {
		result.Err, result.Generation = err, -1
	}
	m.answerGroup(in.Token, in.Group, result)
}

// replacesAll reports whether in takes the place of the only member there is, which is of the next generation: the group begins anew as a classic one.
func (m *Machine) replacesAll(g *group, replaced *consumer.Member, in Join) bool {
	return replaced != nil && !replaced.Classic() && g.consumer.Len() == 1 && m.opts.Consumer.Downgrade &&
		in.ProtocolType == consumer.Embedded && len(in.Protocols) > 0
}

// joinedConsumer is the answer to a JoinGroup.
func (m *Machine) joinedConsumer(now time.Time, g *group, in Join) (JoinResult, error) {
	var refused JoinResult // it names no member, as in Kafka
	switch err := g.consumer.Full(m.opts.Consumer.MaxSize, in.Member, in.InstanceID); {
	case g.consumer.Len() == 0:
		return refused, fmt.Errorf("member %q is not in the group: %w", in.Member, kerr.UnknownMemberID)
	case !m.opts.Consumer.Upgrade && !m.opts.Consumer.Downgrade:
		return refused, fmt.Errorf("group.consumer.migration.policy forbids classic members in next-generation groups: %w",
			kerr.InconsistentGroupProtocol)
	case err != nil:
		return refused, err
	}
	if err := g.consumer.Supports(in.ProtocolType, in.Protocols); err != nil {
		return refused, err
	}
	id := in.Member
	if id == "" {
		id = freshMemberID(in)
		if in.NeedsKnownID && in.InstanceID == nil {
			return JoinResult{Member: id}, kerr.MemberIDRequired
		}
	}
	ch := g.consumer.Change(now, m.consumerOptions(g.id).AssignmentInterval)
	mem, err := ch.Join(consumer.ClassicJoin{
		ID: id, New: in.Member == "", InstanceID: in.InstanceID, Session: in.Session, Rebalance: in.Rebalance,
		Protocols: keepProtocols(in.Protocols), ClientID: in.ClientID, ClientHost: in.Host,
	})
	if err != nil {
		return refused, err
	}
	m.take(g.id, ch)
	m.timers.stop(timer{g.id, id, consumerClassicJoin})
	m.timers.set(timer{g.id, id, consumerSession}, now.Add(in.Session))
	m.timers.set(timer{g.id, id, consumerClassicSync}, now.Add(milliseconds(mem.Info.RebalanceTimeout)))
	kind, protocol := consumer.Embedded, mem.Info.Classic.Protocols[0].Name
	return JoinResult{Member: id, Generation: mem.Epoch, ProtocolType: &kind, Protocol: &protocol}, nil
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
	mem, err := g.consumer.ClassicNamed(in.Member, in.InstanceID, in.Generation)
	if err != nil {
		return SyncResult{}, err
	}
	first := mem.Info.Classic.Protocols[0]
	if differs(in.ProtocolType, consumer.Embedded) || differs(in.Protocol, first.Name) {
		return SyncResult{}, fmt.Errorf("member %q joined with protocol %q: %w", mem.ID, first.Name, kerr.InconsistentGroupProtocol)
	}
	if g.consumer.TargetEpoch > mem.Epoch && mem.State != consumer.Unrevoked {
		m.awaitJoin(now, g, mem)
		return SyncResult{}, kerr.RebalanceInProgress
	}
	m.timers.stop(timer{g.id, mem.ID, consumerClassicSync})
	m.beginClassicSession(now, g, mem)
	kind := consumer.Embedded
	return SyncResult{ProtocolType: &kind, Protocol: &first.Name, Assignment: m.index.Assignment(mem.Assigned, first.Metadata)}, nil
}

func (m *Machine) beginClassicSession(now time.Time, g *group, mem *consumer.Member) {
	m.timers.set(timer{g.id, mem.ID, consumerSession}, now.Add(milliseconds(mem.Info.Classic.SessionTimeout)))
}

// awaitJoin gives mem its rebalance timeout to join again, unless it has that already.
func (m *Machine) awaitJoin(now time.Time, g *group, mem *consumer.Member) {
	if t := (timer{g.id, mem.ID, consumerClassicJoin}); !m.timers.armed(t) {
		m.timers.set(t, now.Add(milliseconds(mem.Info.RebalanceTimeout)))
	}
}

// heartbeatConsumer is a Heartbeat to a next-generation group (GroupMetadataManager.classicGroupHeartbeatToConsumerGroup).
func (m *Machine) heartbeatConsumer(now time.Time, g *group, in Heartbeat) {
	m.out.Retractable = true
	mem, err := g.consumer.ClassicNamed(in.Member, in.InstanceID, in.Generation)
	if err == nil {
		m.beginClassicSession(now, g, mem)
		ch := g.consumer.Change(now, m.consumerOptions(g.id).AssignmentInterval)
		ch.Refresh()
		m.take(g.id, ch)
		if ch.MustRejoin(mem) {
			m.awaitJoin(now, g, mem)
			err = kerr.RebalanceInProgress
		}
	}
	m.answerGroup(in.Token, in.Group, HeartbeatResult{Err: err})
}

// leaveConsumer is a LeaveGroup to a next-generation group (GroupMetadataManager.classicGroupLeaveToConsumerGroup).
func (m *Machine) leaveConsumer(now time.Time, g *group, in Leave) {
	m.out.Retractable = true
	members := slices.Clone(in.Members)
	var gone []*consumer.Member
	for i := range members {
		mem, err := leaver(g.consumer, &members[i])
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
		m.fence(now, g, "leave", fmt.Sprintf("%d members leave, the first is %q", len(gone), gone[0].ID), gone...)
	}
	m.answerGroup(in.Token, in.Group, LeaveResult{Members: members})
}

// leaver is the member that l names, which need not speak the classic protocol: administrators remove members this way, and may name them by their
// instance id alone.
func leaver(c *consumer.Group, l *LeavingMember) (*consumer.Member, error) {
	id := l.Member
	if static := c.Static(l.InstanceID); id == "" && static != nil {
		id = static.ID
	}
	return c.Named(id, l.InstanceID)
}
