package consume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// leaveTime is how long the client may take to leave, and then how long it may take without it.
const leaveTime = 3 * time.Second

// leave commits and leaves the group, even after an interrupt. The client does both, but in the middle of a rebalance it waits until that is over,
// which may be a member's session away; then the group is told by hand, and the client is cut short.
func (c *groupConsumption) leave(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	timed, cancel := context.WithTimeout(ctx, min(leaveTime, c.Timeout))
	defer cancel()
	c.mu.Lock()
	c.mu.leaving = true
	c.mu.Unlock()
	g := goodbye{flags: c.flags.group, marked: c.client.MarkedOffsets(), ids: c.topics.ids}
	c.dropLost(g.marked)
	g.member, g.generation = c.client.GroupMetadata()
	c.client.AllowRebalance()
	err := c.client.LeaveGroupContext(timed)
	inTime := timed.Err() == nil
	if inTime {
		g.marked = nil // revoked has committed it
	}
	if !inTime {
		c.mu.Lock()
		c.mu.gone = true
		c.mu.Unlock()
	}
	if g.needed(inTime) {
		err = g.say(ctx, c)
	}
	if !inTime {
		c.cut()
	}
	c.client.Close()
	if err != nil {
		c.tell("... gone from group %s after %s; the group notices at its session timeout: %s",
			c.flags.group.name, session.Plural(c.done, "record"), session.InWords(c.Explain(ctx, err), c.Seeds()))
		return
	}
	c.tell("... left group %s after %s", c.flags.group.name, session.Plural(c.done, "record"))
}

// goodbye is what the group is told where the client cannot.
type goodbye struct {
	flags      groupFlags
	member     string
	generation int32
	marked     map[string]map[int32]kgo.EpochOffset
	ids        map[string]kadm.TopicID // of the topics that were read
}

// needed reports whether there is something to say. A static member of a consumer group always has: the client (kgo 1.22) leaves out its instance
// id, and is refused.
func (g *goodbye) needed(inTime bool) bool {
	static := g.flags.instance != "" && g.flags.protocol == consumerGroup
	return g.member != "" && (static || !inTime)
}

// say commits and leaves over another connection.
func (g *goodbye) say(ctx context.Context, c *groupConsumption) error {
	ctx, cancel := context.WithTimeout(ctx, min(leaveTime, c.Timeout))
	defer cancel()
	client, err := c.Client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if err = g.commit(ctx, client); err == nil && len(g.marked) > 0 {
		c.tellCommitted(g.marked)
	}
	if g.flags.protocol == consumerGroup {
		err = errors.Join(err, g.leaveConsumer(ctx, client))
	} else if g.flags.instance == "" { // a static member of a classic group stays in it
		err = errors.Join(err, g.leaveClassic(ctx, client))
	}
	if errors.Is(err, kerr.UnknownMemberID) {
		return nil // it had left
	}
	return err
}

func (g *goodbye) commit(ctx context.Context, client *kgo.Client) error {
	if len(g.marked) == 0 {
		return nil
	}
	details, err := session.Topics(ctx, kadm.NewClient(client))
	if err != nil {
		return err
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = g.flags.name, g.member, g.generation
	if g.flags.instance != "" {
		req.InstanceID = &g.flags.instance
	}
	for topic, partitions := range g.marked {
		if id, known := g.ids[topic]; known && id != details[topic].ID {
			delete(g.marked, topic) // it was deleted since
			continue
		}
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic, rt.TopicID = topic, details[topic].ID
		for p, at := range partitions {
			rp := kmsg.NewOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch = p, at.Offset, at.Epoch
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("the last records are not committed, and come again: %w", err)
			}
		}
	}
	return nil
}

func (g *goodbye) leaveClassic(ctx context.Context, client *kgo.Client) error {
	me := kmsg.NewLeaveGroupRequestMember()
	me.MemberID = g.member
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID, req.Members = g.flags.name, g.member, []kmsg.LeaveGroupRequestMember{me}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	code := resp.ErrorCode
	for _, m := range resp.Members {
		code = max(code, m.ErrorCode)
	}
	return kerr.ErrorForCode(code)
}

func (g *goodbye) leaveConsumer(ctx context.Context, client *kgo.Client) error {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = g.flags.name, g.member, -1
	if g.flags.instance != "" { // who comes with it takes the member's place
		req.InstanceID, req.MemberEpoch = &g.flags.instance, -2
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}
