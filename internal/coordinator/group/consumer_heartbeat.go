package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// consumerHeartbeat is ConsumerGroupHeartbeat: a member joins, stays or leaves (GroupMetadataManager.consumerGroupHeartbeat of Kafka 4.4).
func (m *Machine) consumerHeartbeat(now time.Time, in ConsumerHeartbeat) {
	m.out.Retractable = true
	var result ConsumerHeartbeatResult
	err := m.checkConsumerHeartbeat(in)
	if err == nil {
		if in.Epoch < 0 {
			result, err = m.consumerLeave(now, in)
		} else {
			result, err = m.consumerStay(now, in)
		}
	}
	if err != nil {
		m.out.Records, m.out.Rebalances = nil, nil
		result = ConsumerHeartbeatResult{Err: err, Member: in.Member}
	}
	m.answerGroup(in.Token, in.Group, result)
}

// answerGroup answers with what shows the state of a group, or that there is none.
func (m *Machine) answerGroup(t Token, group string, result any) {
	m.answerAfter(t, result, m.shown(m.find(group)))
}

// checkConsumerHeartbeat is GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid.
func (m *Machine) checkConsumerHeartbeat(in ConsumerHeartbeat) error {
	invalid := func(what string) error { return fmt.Errorf("%s: %w", what, kerr.InvalidRequest) }
	switch {
	case in.Member == "" && (in.Version >= 1 || in.Epoch > 0 || in.Epoch == leaveEpoch):
		return invalid("a member id is missing")
	case in.Group == "":
		return invalid("a group id is missing")
	case in.InstanceID != nil && *in.InstanceID == "":
		return invalid("an instance id must not be empty")
	case in.RackID != nil && *in.RackID == "":
		return invalid("a rack must not be empty")
	case in.Epoch == 0 && in.RebalanceTimeout < 0:
		return invalid("who joins has to give its rebalance timeout")
	case in.Epoch == 0 && (in.Owned == nil || len(in.Owned) > 0):
		return invalid("who joins has to say that it owns no partitions")
	case in.Epoch == 0 && in.Topics == nil && in.Regex == nil:
		return invalid("who joins has to give the topics that it subscribes to, or a regular expression")
	case in.Epoch == leaveStaticEpoch && in.InstanceID == nil:
		return invalid("only a member with an instance id can leave for a while")
	case in.Epoch < leaveStaticEpoch:
		return invalid(fmt.Sprintf("member epoch %d is none", in.Epoch))
	case in.Assignor != nil && !slices.Contains(m.opts.Consumer.Assignors, *in.Assignor):
		return fmt.Errorf("assignor %q is not one of %q: %w", *in.Assignor, m.opts.Consumer.Assignors, kerr.UnsupportedAssignor)
	}
	return nil
}

// consumerStay is the heartbeat of a member that joins or stays.
func (m *Machine) consumerStay(now time.Time, in ConsumerHeartbeat) (ConsumerHeartbeatResult, error) {
	c, upgrade, err := m.consumerForJoin(in.Group, in.Epoch == 0)
	if err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	if err := m.checkConsumerSize(c, in.Member, in.InstanceID); err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	if in.Member == "" {
		in.Member = in.FreshID
	}
	ch := m.change(now, in.Group, c)
	base, err := ch.member(in)
	if err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	ch.next = updatedMember(base, in)
	resubscribe, err := ch.update(base)
	if err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	ch.retarget()
	if err := ch.reconcile(ordered(in.Owned), in.Owned != nil, resubscribe); err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	if upgrade != nil {
		m.finishUpgrade(now, upgrade)
	}
	opts := m.consumerOptions(in.Group)
	m.timers.set(timer{in.Group, in.Member, consumerSession}, now.Add(opts.Session))
	result := ConsumerHeartbeatResult{Member: in.Member, Epoch: ch.next.epoch, Interval: opts.Heartbeat}
	full := in.Epoch == 0 || in.RebalanceTimeout >= 0 && (in.Topics != nil || in.Regex != nil) && in.Owned != nil
	if full || !base.assigned.same(ch.next.assigned) {
		assigned := ch.next.assigned.plain()
		result.Assignment = &assigned
	}
	return result, nil
}

// consumerForJoin is the group, which for a member that joins may be new, or be made of a classic one, which is upgrade then.
func (m *Machine) consumerForJoin(id string, join bool) (c *consumer, upgrade *group, err error) {
	g := m.find(id)
	switch {
	case g != nil && g.consumer != nil:
		return g.consumer, nil, nil
	case !join:
		return nil, nil, fmt.Errorf("there is no next-generation group %q: %w", id, kerr.GroupIDNotFound)
	case g == nil || g.classic == nil:
		return newConsumer(), nil, nil
	case len(g.classic.members) == 0:
		m.classicRemove(g)
		return newConsumer(), g, nil
	}
	c, err = m.upgraded(g)
	return c, g, err
}

// checkConsumerSize refuses a new member of a group that is full (throwIfConsumerGroupIsFull).
func (m *Machine) checkConsumerSize(c *consumer, member string, instance *string) error {
	limit := m.opts.Consumer.MaxSize
	if c.staticMember(instance) != nil || c.members[member] != nil || len(c.members) < limit {
		return nil
	}
	return fmt.Errorf("the group has %d members, as many as group.consumer.max.size allows: %w", len(c.members), kerr.GroupMaxSizeReached)
}

// member is who heartbeats, as it was: a new member's is empty but for its id. ch.old is set if it was there.
func (ch *consumerChange) member(in ConsumerHeartbeat) (*consumerMember, error) {
	if in.InstanceID != nil {
		return ch.staticJoin(in.Member, *in.InstanceID, in)
	}
	old := ch.c.members[in.Member]
	if old == nil {
		if in.Epoch != 0 {
			return nil, fmt.Errorf("member %q is not in group %q: %w", in.Member, in.Group, kerr.UnknownMemberID)
		}
		return &consumerMember{id: in.Member}, nil
	}
	ch.old = old
	return old, checkMemberEpoch(old, in.Epoch, in.Owned)
}

// staticJoin is member for one with an instance id: it may take the place of the member that had it, once that has left (KIP-345).
func (ch *consumerChange) staticJoin(id, instance string, in ConsumerHeartbeat) (*consumerMember, error) {
	old := ch.c.staticMember(&instance)
	switch {
	case old == nil && in.Epoch == 0:
		ch.old = ch.c.members[id]
		if ch.old != nil {
			return ch.old, nil
		}
		return &consumerMember{id: id}, nil
	case old == nil:
		return nil, fmt.Errorf("no member has instance id %q: %w", instance, kerr.UnknownMemberID)
	case in.Epoch == 0:
		if !old.classic() && old.epoch != leaveStaticEpoch {
			return nil, fmt.Errorf("instance id %q is member %q's, which has not left: %w", instance, old.id, kerr.UnreleasedInstanceID)
		}
		return ch.replace(old, id), nil
	case old.id != id:
		return nil, fmt.Errorf("instance id %q is member %q's now: %w", instance, old.id, kerr.FencedInstanceID)
	}
	ch.old = old
	return old, checkMemberEpoch(old, in.Epoch, in.Owned)
}

// replace lets the member id take old's place, with what old has (GroupMetadataManager.replaceMember).
func (ch *consumerChange) replace(old *consumerMember, id string) *consumerMember {
	next := *old
	next.id, next.epoch, next.previous = id, 0, 0
	if old.id == id {
		ch.old = old
		return &next
	}
	ch.remove(old)
	ch.target[id], ch.target[old.id] = ch.c.target[old.id], nil
	return &next
}

// checkMemberEpoch is throwIfConsumerGroupMemberEpochIsInvalid: a member may come with its last epoch once more, since the answer with
// the new one may have been lost, if it owns nothing that it should not. With epoch 0 it has given up all.
func checkMemberEpoch(m *consumerMember, epoch int32, owned []record.TopicPartitions) error {
	switch {
	case epoch == 0 || epoch == m.epoch:
		return nil
	case epoch == m.previous && epoch < m.epoch && owned != nil && ordered(owned).within(m.assigned):
		return nil
	}
	return fmt.Errorf("member %q comes with epoch %d and is at %d: it has to give up its partitions and join again: %w",
		m.id, epoch, m.epoch, kerr.FencedMemberEpoch)
}

// updatedMember is base with what in says of it.
func updatedMember(base *consumerMember, in ConsumerHeartbeat) *consumerMember {
	next := *base
	info := &next.info
	if in.InstanceID != nil {
		info.InstanceID = in.InstanceID
	}
	if in.RackID != nil {
		info.RackID = in.RackID
	}
	if in.RebalanceTimeout >= 0 {
		info.RebalanceTimeout = int32(min(in.RebalanceTimeout.Milliseconds(), 1<<31-1)) //nolint:gosec // bounded
	}
	if in.Topics != nil {
		info.Topics = slices.Compact(slices.Sorted(slices.Values(in.Topics)))
	}
	if in.Regex != nil {
		info.Regex = in.Regex
		if *in.Regex == "" {
			info.Regex = nil
		}
	}
	if in.Assignor != nil {
		info.Assignor = in.Assignor
	}
	info.ClientID, info.ClientHost, info.Classic = in.ClientID, in.Host, nil
	return &next
}
