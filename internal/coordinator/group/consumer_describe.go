package group

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// consumerDescribe is ConsumerGroupDescribe.
func (m *Machine) consumerDescribe(in ConsumerDescribe) {
	m.out.Retractable = true
	if err := checkGroupID(in.Group); err != nil {
		m.answer(in.Token, ConsumerDescribeResult{Group: in.Group, Err: err})
		return
	}
	g := m.consumerNamed(in.Group)
	if g == nil {
		m.answerGroup(in.Token, in.Group, ConsumerDescribeResult{Group: in.Group, Err: m.noConsumer(in.Group)})
		return
	}
	c := g.consumer
	result := ConsumerDescribeResult{
		Group: in.Group, State: c.State(), Assignor: c.Assignor(), Epoch: c.Epoch, AssignmentEpoch: c.TargetEpoch,
	}
	for _, id := range c.IDs() {
		mem := c.Member(id)
		result.Members = append(result.Members, ConsumerDescribed{
			Member: id, InstanceID: mem.Info.InstanceID, RackID: mem.Info.RackID, Epoch: mem.Epoch, ClientID: mem.Info.ClientID,
			Host: mem.Info.ClientHost, Topics: mem.Info.Topics, Regex: mem.Info.Regex, Classic: mem.Classic(),
			Assigned: mem.Held().Plain(), Target: c.Target(id).Plain(),
		})
	}
	m.answerGroup(in.Token, in.Group, result)
}

// consumerRemove emits the tombstones of the group, and changes nothing itself (DeleteGroups and expiry: the group is empty).
func (m *Machine) consumerRemove(g *group) {
	m.out.Records = append(m.out.Records, g.consumer.Tombstones()...)
}

// commitVersion is the least version of OffsetCommit that members of the next generation may use: it knows STALE_MEMBER_EPOCH.
const commitVersion = 9

// consumerCheckCommit says why a commit of in may not be taken from this group now; it does not extend the member's session.
func (m *Machine) consumerCheckCommit(_ time.Time, g *group, in *Commit) error {
	if mem := g.consumer.Member(in.Member); mem != nil && !mem.Classic() && in.Version < commitVersion {
		return fmt.Errorf("members of next-generation groups commit with version %d and later: %w", commitVersion, kerr.UnsupportedVersion)
	}
	return g.consumer.CheckCommit(in.Member, in.Epoch, func(yield func(consumer.TopicPartition) bool) {
		for _, t := range in.Topics {
			id := t.ID
			if id == (topic.ID{}) && m.image != nil {
				if known := m.image.Topic(t.Topic); known != nil {
					id = known.ID
				}
			}
			for _, p := range t.Partitions {
				if !yield(consumer.TopicPartition{Topic: id, Partition: p.Partition}) {
					return
				}
			}
		}
	})
}

// consumerCheckFetch says why offsets may not be shown to in's member.
func (m *Machine) consumerCheckFetch(g *group, in *Fetch) error {
	return g.consumer.CheckFetch(in.Member, in.Epoch)
}
