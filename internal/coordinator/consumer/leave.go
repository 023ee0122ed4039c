package consumer

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// Named is the member with that id and, if it is not nil, that instance id.
func (g *Group) Named(id string, instance *string) (*Member, error) {
	if instance == nil {
		if m := g.members[id]; m != nil {
			return m, nil
		}
		return nil, fmt.Errorf("member %q is not in the group: %w", id, kerr.UnknownMemberID)
	}
	m := g.Static(instance)
	switch {
	case m == nil:
		return nil, fmt.Errorf("no member has instance id %q: %w", *instance, kerr.UnknownMemberID)
	case m.ID != id:
		return nil, fmt.Errorf("instance id %q is member %q's now: %w", *instance, m.ID, kerr.FencedInstanceID)
	}
	return m, nil
}

// Away is the record that says that a static member is away for a while: it keeps its partitions until its session ends or it comes back. What it
// had to give up, it has given up.
func (g *Group) Away(m *Member) record.CurrentAssignment {
	away := *m
	away.Epoch, away.Revoking = AwayEpoch, nil
	away.Assigned = orderedWithEpochs(m.Assigned.Plain(), 0) // it may come back with any epoch
	return away.current(g.ID)
}

// Fence removes members, and gives the group its next epoch (GroupMetadataManager.consumerGroupFenceMembers).
//
// The epoch is first: if what is written ends within the records, and it can, if they do not fit one batch, there is an epoch without an assignment,
// which is computed then, and not an assignment of members that are gone.
func (ch *Change) Fence(reason, detail string, members ...*Member) {
	ch.gone = members
	ch.refresh(true, reason, detail)
	for _, m := range members {
		ch.emitRemoval(m)
	}
	if len(members) == len(ch.g.members) { // there is nobody to compute an assignment for
		ch.emitTargetEpoch(0) // nor is there a time that the next one has to wait for
	}
}

// emitRemoval emits the tombstones of a member; their order matters to Kafka.
func (ch *Change) emitRemoval(m *Member) {
	ch.emit(record.CurrentAssignment{Group: ch.g.ID, Member: m.ID})
	ch.emit(record.TargetAssignment{Group: ch.g.ID, Member: m.ID})
	ch.emit(record.ConsumerMember{Group: ch.g.ID, Member: m.ID})
}
