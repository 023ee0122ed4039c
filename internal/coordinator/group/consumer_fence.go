package group

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// consumerLeave is the heartbeat of a member that leaves: for good, or, if it is static, for a while (GroupMetadataManager.consumerGroupLeave).
func (m *Machine) consumerLeave(now time.Time, in ConsumerHeartbeat) (ConsumerHeartbeatResult, error) {
	g := m.find(in.Group)
	if g == nil || g.consumer == nil {
		return ConsumerHeartbeatResult{}, fmt.Errorf("there is no next-generation group %q: %w", in.Group, kerr.GroupIDNotFound)
	}
	mem, err := g.consumer.memberOf(in.Member, in.InstanceID)
	if err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	if in.Epoch == leaveStaticEpoch {
		m.leaveForAWhile(g, mem)
	} else {
		m.fence(now, g, "leave", fmt.Sprintf("member %q leaves", mem.id), mem)
	}
	return ConsumerHeartbeatResult{Member: mem.id, Epoch: in.Epoch}, nil
}

// memberOf is the member with that id and, if it is not nil, that instance id.
func (c *consumer) memberOf(id string, instance *string) (*consumerMember, error) {
	if instance == nil {
		if mem := c.members[id]; mem != nil {
			return mem, nil
		}
		return nil, fmt.Errorf("member %q is not in the group: %w", id, kerr.UnknownMemberID)
	}
	mem := c.staticMember(instance)
	switch {
	case mem == nil:
		return nil, fmt.Errorf("no member has instance id %q: %w", *instance, kerr.UnknownMemberID)
	case mem.id != id:
		return nil, fmt.Errorf("instance id %q is member %q's now: %w", *instance, mem.id, kerr.FencedInstanceID)
	}
	return mem, nil
}

// leaveForAWhile notes that a static member is away: it keeps its partitions until its session ends or it comes back. What it had to give up, it
// has given up.
func (m *Machine) leaveForAWhile(g *group, mem *consumerMember) {
	away := *mem
	away.epoch, away.revoking = leaveStaticEpoch, nil
	away.assigned = orderedWithEpochs(mem.assigned.plain(), 0) // it may come back with any epoch
	m.emit(away.current(g.id))
}

// fence removes members, and gives the group its next epoch, or makes it a classic one, if all who stay speak that protocol.
func (m *Machine) fence(now time.Time, g *group, reason, detail string, members ...*consumerMember) {
	if c := m.downgraded(now, g, members); c != nil {
		m.downgrade(now, g, c, fmt.Sprintf("%s: %s", reason, detail))
		return
	}
	ch := m.change(now, g.id, g.consumer)
	for _, mem := range members {
		ch.remove(mem)
	}
	ch.refresh(true, reason, detail)
	if len(members) == len(g.consumer.members) { // there is nobody to compute an assignment for
		ch.emitTargetEpoch(0) // nor is there a time that the next one has to wait for
	}
}
