package group

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// consumerDescribe is ConsumerGroupDescribe.
func (m *Machine) consumerDescribe(in ConsumerDescribe) {
	m.out.Retractable = true
	if err := checkGroupID(in.Group); err != nil {
		m.answer(in.Token, ConsumerDescribeResult{Group: in.Group, Err: err})
		return
	}
	g := m.find(in.Group)
	if g == nil || g.consumer == nil {
		err := fmt.Errorf("there is no next-generation group %q: %w", in.Group, kerr.GroupIDNotFound)
		m.answerGroup(in.Token, in.Group, ConsumerDescribeResult{Group: in.Group, Err: err})
		return
	}
	c := g.consumer
	result := ConsumerDescribeResult{
		Group: in.Group, State: c.state(), Assignor: preferred(c.assignors, m.opts.Consumer.Assignors),
		Epoch: c.epoch, AssignmentEpoch: c.targetEpoch,
	}
	for _, id := range c.ids {
		mem := c.members[id]
		result.Members = append(result.Members, ConsumerDescribed{
			Member: id, InstanceID: mem.info.InstanceID, RackID: mem.info.RackID, Epoch: mem.epoch, ClientID: mem.info.ClientID,
			Host: mem.info.ClientHost, Topics: mem.info.Topics, Regex: mem.info.Regex, Classic: mem.classic(),
			Assigned: mem.assigned.plain(), Target: c.target[id].plain(),
		})
	}
	m.answerGroup(in.Token, in.Group, result)
}

// consumerRemove emits the tombstones of the group, and changes nothing itself (DeleteGroups and expiry: the group is empty).
func (m *Machine) consumerRemove(g *group) {
	c := g.consumer
	for _, id := range c.ids {
		m.emit(record.CurrentAssignment{Group: g.id, Member: id})
	}
	for _, id := range c.ids {
		m.emit(record.TargetAssignment{Group: g.id, Member: id})
	}
	m.emit(record.TargetEpoch{Group: g.id})
	for _, id := range c.ids {
		m.emit(record.ConsumerMember{Group: g.id, Member: id})
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.regexes)) {
		if c.regexes[pattern].resolved {
			m.emit(record.Regex{Group: g.id, Pattern: pattern})
		}
	}
	if c.oldTopics {
		m.emit(record.ConsumerTopics{Group: g.id, Removed: true})
	}
	m.emit(record.ConsumerGroup{Group: g.id})
}
