package consumer

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// ClassicMember is a member of a classic group of consumers that becomes a next-generation group.
type ClassicMember struct {
	ID                   string
	InstanceID           *string
	ClientID, ClientHost string
	Session, Rebalance   time.Duration
	Protocols            []record.Protocol
	Metadata, Assignment []byte // of the group's protocol
}

// Upgrade is the next-generation group of the members of a classic one, who are where they were; it is detached. The error says whose metadata
// cannot be read. In the middle of a rebalance (not stable) there may be no assignment, and members of a cooperative protocol go on with
// what they had: then they have what they said that they own, where nobody else has it.
//
// The assignment of such a group is unsettled: its rebalance ends here, unfinished. The member that joins may bring nothing that asks for an
// assignment: it subscribes to no topic, or takes the place of a static member with the same subscription. The Change that upgrades the group
// begins the next epoch all the same. A stable group whose partitions are not all covered is unsettled too.
func (x *Index) Upgrade(id string, generation int32, members []ClassicMember, stable bool) (*Group, error) {
	g := NewDetached(id, x, max(generation, 1))
	for i := range members {
		m, err := g.upgraded(&members[i])
		if err != nil {
			return nil, fmt.Errorf("member %q: %w", members[i].ID, err)
		}
		g.put(m)
		g.own(m)
		g.count(m, +1)
	}
	if !stable {
		g.claimOwned()
	}
	g.unsettled = !stable || !g.covered()
	for _, id := range g.ids {
		g.target[id] = Of(g.members[id].Assigned)
	}
	g.hash = x.metadataHash(slices.Sorted(maps.Keys(g.topics)))
	return g, nil
}

// upgraded is a classic member with what its leader has given it, but for what another member has already, or what is not there.
func (g *Group) upgraded(from *ClassicMember) (*Member, error) {
	sub, err := readSubscription(from.Metadata)
	if err != nil {
		return nil, err
	}
	m := &Member{ID: from.ID, Epoch: g.Epoch, previous: g.Epoch, State: Stable}
	m.Info = record.ConsumerMemberValue{
		InstanceID: from.InstanceID, RackID: sub.Rack, ClientID: from.ClientID, ClientHost: from.ClientHost, Topics: sub.names(),
		RebalanceTimeout: wholeMilliseconds(from.Rebalance),
		Classic:          &record.ClassicProtocols{SessionTimeout: wholeMilliseconds(from.Session), Protocols: from.Protocols},
	}
	var assigned kmsg.ConsumerMemberAssignment
	if len(from.Assignment) > 0 {
		if err := assigned.ReadFrom(from.Assignment); err != nil {
			return nil, err //nolint:wrapcheck // the caller says whose it is
		}
	}
	var all []assignedPartition
	for _, t := range assigned.Topics {
		all = append(all, g.index.named(t.Topic, t.Partitions, g.Epoch)...)
	}
	m.Assigned = partitionsOf(all, true).filter(g.free)
	return m, nil
}

// free reports whether nobody has p.
func (g *Group) free(p TopicPartition) bool { return g.owners[p] == "" }

// claimOwned gives members what they said that they own, where nobody has it.
func (g *Group) claimOwned() {
	for _, id := range g.ids {
		for _, p := range g.members[id].Info.Classic.Protocols {
			sub, err := readSubscription(p.Metadata)
			if err != nil {
				continue
			}
			next := *g.members[id]
			next.Assigned = next.Assigned.union(orderedWithEpochs(sub.owned(g.index).filter(g.free).Plain(), next.Epoch))
			g.put(&next)
			g.own(&next)
		}
	}
}

// covered reports whether the members hold all partitions of the topics that they subscribe to by name, each member those of its own
// topics alone. A stable classic group may fall short. A cooperative leader leaves out what a member has to give up first, and assigns it
// when that member joins again. Every leader assigns anew when it sees that a topic has grown. After the upgrade neither happens.
func (g *Group) covered() bool {
	missing := 0
	for name := range maps.Keys(g.topics) {
		if t := g.index.topic(name); t != nil {
			missing += len(t.Partitions)
		}
	}
	for _, id := range g.ids {
		m := g.members[id]
		for _, t := range m.Assigned {
			if found := g.index.image.TopicByID(t.Topic); found == nil || !slices.Contains(m.Info.Topics, found.Name) {
				return false
			}
			missing -= len(t.Partitions)
		}
	}
	return missing == 0
}

// EmitAll emits all of a detached group, before what else is changed.
func (ch *Change) EmitAll() error {
	g := ch.g
	for _, id := range g.ids {
		if err := ch.emitMember(g.members[id]); err != nil {
			return err
		}
	}
	ch.emit(record.ConsumerGroup{Group: g.ID, Value: &record.ConsumerGroupValue{Epoch: g.Epoch, MetadataHash: g.hash}})
	for _, id := range g.ids {
		ch.emit(record.TargetAssignment{Group: g.ID, Member: id, Value: &record.TargetAssignmentValue{Topics: g.target[id]}})
	}
	ch.emit(record.TargetEpoch{Group: g.ID, Value: &record.TargetEpochValue{Epoch: g.Epoch}})
	for _, id := range g.ids {
		ch.emit(g.members[id].current(g.ID))
	}
	return nil
}
