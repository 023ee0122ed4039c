package group

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/consumer"
)

// consumerHeartbeat is ConsumerGroupHeartbeat: a member joins, stays or leaves.
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
		m.out.Records = nil
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
	case blank(in.Member) && (in.Version >= 1 || in.Epoch > 0 || in.Epoch == consumer.LeaveEpoch):
		return invalid("a member id is missing")
	case blank(in.Group):
		return invalid("a group id is missing")
	case in.InstanceID != nil && blank(*in.InstanceID):
		return invalid("an instance id must not be empty")
	case in.RackID != nil && blank(*in.RackID):
		return invalid("a rack must not be empty")
	case in.Epoch == 0 && in.RebalanceTimeout < 0:
		return invalid("who joins has to give its rebalance timeout")
	case in.Epoch == 0 && (in.Owned == nil || len(in.Owned) > 0):
		return invalid("who joins has to say that it owns no partitions")
	case in.Epoch == 0 && in.Topics == nil && in.Regex == nil:
		return invalid("who joins has to give the topics that it subscribes to, or a regular expression")
	case in.Epoch == consumer.AwayEpoch && in.InstanceID == nil:
		return invalid("only a member with an instance id can leave for a while")
	case in.Epoch < consumer.AwayEpoch:
		return invalid(fmt.Sprintf("member epoch %d is none", in.Epoch))
	case in.Assignor != nil && !slices.Contains(m.opts.Consumer.Assignors, *in.Assignor):
		return fmt.Errorf("assignor %q is not one of %q: %w", *in.Assignor, m.opts.Consumer.Assignors, kerr.UnsupportedAssignor)
	}
	return nil
}

// blank reports whether there is nothing but space in text.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// consumerStay is the heartbeat of a member that joins or stays.
func (m *Machine) consumerStay(now time.Time, in ConsumerHeartbeat) (result ConsumerHeartbeatResult, err error) {
	c, upgrade, err := m.consumerForJoin(in.Group, in.Epoch == 0)
	if err != nil {
		return result, err
	}
	if err := c.Full(m.opts.Consumer.MaxSize, in.Member, in.InstanceID); err != nil {
		return result, err
	}
	if in.Member == "" {
		in.Member = in.FreshID
	}
	opts := m.consumerOptions(in.Group)
	ch := c.Change(now, opts.AssignmentInterval)
	if upgrade != nil {
		if err := ch.EmitAll(); err != nil {
			return result, err
		}
	}
	mem, tell, err := ch.Heartbeat(consumer.Heartbeat{
		ID: in.Member, Epoch: in.Epoch, InstanceID: in.InstanceID, RackID: in.RackID, RebalanceTimeout: in.RebalanceTimeout, Topics: in.Topics,
		Regex: in.Regex, Assignor: in.Assignor, Owned: in.Owned, ClientID: in.ClientID, ClientHost: in.Host,
	})
	if err != nil {
		return result, err
	}
	if upgrade != nil {
		if m.tooLarge(ch.Records) {
			return result, fmt.Errorf("group %q is too large to become a next-generation group in one step: %w", in.Group, kerr.GroupIDNotFound)
		}
		m.finishUpgrade(now, upgrade)
	}
	m.take(in.Group, ch)
	m.timers.set(timer{in.Group, mem.ID, consumerSession}, now.Add(opts.Session))
	if ch.Revoking {
		m.armRebalance(now, in.Group, mem)
	}
	result = ConsumerHeartbeatResult{Member: mem.ID, Epoch: mem.Epoch, Interval: opts.Heartbeat}
	if tell {
		assigned := mem.Assigned.Plain()
		result.Assignment = &assigned
	}
	return result, nil
}

// take takes what a change of a group wants done.
func (m *Machine) take(group string, ch *consumer.Change) {
	m.out.Records = append(m.out.Records, ch.Records...)
	if ch.Reason != "" {
		m.out.Rebalances = append(m.out.Rebalances, Rebalance{Group: group, Reason: ch.Reason, Detail: ch.Detail})
	}
}

// consumerForJoin is the group, which for a member that joins may be new. Or it is made of a classic one, which is upgrade then.
func (m *Machine) consumerForJoin(id string, join bool) (c *consumer.Group, upgrade *group, err error) {
	g := m.find(id)
	switch {
	case g != nil && g.consumer != nil:
		return g.consumer, nil, nil
	case !join:
		return nil, nil, m.noConsumer(id)
	case g == nil || g.classic == nil:
		return consumer.NewDetached(id, m.index, 0), nil, nil
	}
	m.classicRemove(g)
	if len(g.classic.members) == 0 {
		return consumer.NewDetached(id, m.index, g.classic.generation), nil, nil
	}
	c, err = m.upgraded(g)
	return c, g, err
}

// consumerLeave is the heartbeat of a member that leaves: for good, or, if it is static, for a while (GroupMetadataManager.consumerGroupLeave).
func (m *Machine) consumerLeave(now time.Time, in ConsumerHeartbeat) (ConsumerHeartbeatResult, error) {
	g := m.consumerNamed(in.Group)
	if g == nil {
		return ConsumerHeartbeatResult{}, m.noConsumer(in.Group)
	}
	mem, err := g.consumer.Named(in.Member, in.InstanceID)
	if err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	if in.Epoch == consumer.AwayEpoch {
		m.emit(g.consumer.Away(mem))
	} else {
		m.fence(now, g, "leave", fmt.Sprintf("member %q leaves", mem.ID), mem)
	}
	return ConsumerHeartbeatResult{Member: mem.ID, Epoch: in.Epoch}, nil
}

// fence removes members, and gives the group its next epoch, or makes it a classic one, if all who stay speak that protocol.
func (m *Machine) fence(now time.Time, g *group, reason, detail string, members ...*consumer.Member) {
	if c := m.downgraded(now, g, members); c != nil {
		m.downgrade(now, g, c, fmt.Sprintf("%s: %s", reason, detail))
		return
	}
	ch := g.consumer.Change(now, 0)
	ch.Fence(reason, detail, members...)
	m.take(g.id, ch)
}
