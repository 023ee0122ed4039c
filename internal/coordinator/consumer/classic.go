package consumer

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// Members of next-generation groups may speak the classic protocol, so that a group can be upgraded client by client. The coordinator is
// their leader, and their generation is their member epoch.

// ClassicJoin is a JoinGroup.
type ClassicJoin struct {
	ID                   string
	New                  bool // the client had no id
	InstanceID           *string
	Session, Rebalance   time.Duration
	Protocols            []record.Protocol
	ClientID, ClientHost string
}

// Join is what a JoinGroup leads to: a heartbeat that brings all (GroupMetadataManager.classicGroupJoinToConsumerGroup). Supports has been asked.
func (ch *Change) Join(in ClassicJoin) (*Member, error) {
	sub, err := readSubscription(in.Protocols[0].Metadata)
	if err != nil {
		return nil, fmt.Errorf("the metadata of protocol %q: %w: %w", in.Protocols[0].Name, err, kerr.InconsistentGroupProtocol)
	}
	base, err := ch.classicMember(in)
	if err != nil {
		return nil, err
	}
	if ch.old == nil && len(ch.gone) == 0 && len(sub.OwnedPartitions) > 0 {
		// It was a member, and does not know yet that it is not, and what it had is others' by now. Kafka takes it in, with what it holds.
		return nil, fmt.Errorf("member %q, which says that it owns partitions, is not in group %q: %w", in.ID, ch.g.ID, kerr.UnknownMemberID)
	}
	ch.next = joined(base, in, &sub)
	resubscribe, err := ch.update(base)
	if err != nil {
		return nil, err
	}
	ch.retarget()
	if err := ch.reconcile(sub.owned(ch.x), true, resubscribe); err != nil {
		return nil, err
	}
	return ch.next, nil
}

// Supports says why a classic member may not join with these protocols: all classic members must have one of them
// (ConsumerGroup.supportsClassicProtocols).
func (g *Group) Supports(kind string, protocols []record.Protocol) error {
	common := func(p record.Protocol) bool {
		for _, id := range g.ids {
			classic := g.members[id].Info.Classic
			if classic != nil && !slices.ContainsFunc(classic.Protocols, func(q record.Protocol) bool { return q.Name == p.Name }) {
				return false
			}
		}
		return true
	}
	if kind != Embedded || !slices.ContainsFunc(protocols, common) {
		return fmt.Errorf("no protocol of type %q that all classic members have: %w", Embedded, kerr.InconsistentGroupProtocol)
	}
	return nil
}

// classicMember is who joins, as it was; a new member's is empty but for its id.
func (ch *Change) classicMember(in ClassicJoin) (*Member, error) {
	if in.InstanceID == nil {
		return ch.memberOrNew(in.ID), nil
	}
	old := ch.g.Static(in.InstanceID)
	switch {
	case old == nil && in.New:
		return ch.memberOrNew(in.ID), nil
	case old == nil:
		return nil, fmt.Errorf("no member has instance id %q: %w", *in.InstanceID, kerr.UnknownMemberID)
	case in.New:
		return ch.replace(old, in.ID), nil
	case old.ID != in.ID:
		return nil, fmt.Errorf("instance id %q is member %q's now: %w", *in.InstanceID, old.ID, kerr.FencedInstanceID)
	}
	ch.old = old
	return old, nil
}

// joined is base with what a JoinGroup says of it.
func joined(base *Member, in ClassicJoin, sub *subscription) *Member {
	next := *base
	info := &next.Info
	if in.InstanceID != nil {
		info.InstanceID = in.InstanceID
	}
	if sub.Rack != nil {
		info.RackID = sub.Rack
	}
	info.RebalanceTimeout = wholeMilliseconds(in.Rebalance)
	info.Topics, info.Regex = sub.names(), nil
	info.ClientID, info.ClientHost = in.ClientID, in.ClientHost
	info.Classic = &record.ClassicProtocols{SessionTimeout: wholeMilliseconds(in.Session), Protocols: in.Protocols}
	return &next
}

// ClassicNamed is a member that speaks the classic protocol and is of that generation.
func (g *Group) ClassicNamed(id string, instance *string, generation int32) (*Member, error) {
	m, err := g.Named(id, instance)
	switch {
	case err != nil:
		return nil, err
	case !m.Classic():
		return nil, fmt.Errorf("member %q does not speak the classic protocol: %w", m.ID, kerr.UnknownMemberID)
	case generation != m.Epoch:
		return nil, m.Stale(generation)
	}
	return m, nil
}

// Refresh sees whether the metadata has changed or an assignment is due: a group's classic members may be the only ones who heartbeat.
func (ch *Change) Refresh() {
	ch.refresh(false, "", "")
	ch.retarget()
}

// MustRejoin reports whether there is something for a classic member that it only gets by joining again: another epoch, something to give up, or
// something that was given up for it (GroupMetadataManager.classicGroupHeartbeatToConsumerGroup).
func (ch *Change) MustRejoin(m *Member) bool {
	return m.Epoch < ch.targetEpoch || m.State == Unrevoked || m.State == Unreleased && !ch.g.waits(m)
}

// waits reports whether something of m's target assignment is still another's.
func (g *Group) waits(m *Member) bool {
	for p := range g.target[m.ID].All() {
		if _, held := g.owners[p]; held && !m.Assigned.Has(p) {
			return true
		}
	}
	return false
}
