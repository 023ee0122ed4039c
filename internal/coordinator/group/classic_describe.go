package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// describe answers DescribeGroups (GroupMetadataManager.describeGroups). The metadata of members is shown of a stable group only; before, they
// may not agree on a protocol.
func (m *Machine) describe(in Describe) {
	g := m.find(in.Group)
	if g == nil || g.consumer != nil {
		err := fmt.Errorf("there is no group %q: %w", in.Group, kerr.GroupIDNotFound)
		if g != nil {
			err = fmt.Errorf("group %q is of the next generation: %w", in.Group, kerr.GroupIDNotFound)
		}
		m.answerAfter(in.Token, DescribeResult{Err: err, Group: in.Group, State: "Dead"}, m.shown(g))
		return
	}
	result := DescribeResult{Group: g.id, State: classicEmpty.String()}
	if c := g.classic; c != nil {
		result.State, result.ProtocolType = c.state(), c.kind
		if c.phase == classicStable {
			result.Protocol = c.protocol
		}
		for _, mem := range c.order {
			result.Members = append(result.Members, mem.described(result.Protocol))
		}
	}
	m.answerAfter(in.Token, result, g.written)
}

func (mem *classicMember) described(protocol string) DescribedMember {
	d := DescribedMember{Member: mem.id, InstanceID: mem.instance, ClientID: mem.clientID, Host: mem.host, Assignment: mem.assignment}
	if protocol != "" {
		d.Metadata = mem.metadata(protocol)
	}
	return d
}

// state is Kafka's word: Empty, PreparingRebalance, CompletingRebalance, Stable.
func (c *classic) state() string { return c.phase.String() }

// protocolType is the group's, or empty.
func (c *classic) protocolType() string { return c.kind }

// emptySince is when the group lost its last member, in ms; false if it has members or it is not known.
func (c *classic) emptySince() (int64, bool) {
	return c.changed, c.phase == classicEmpty && c.changed >= 0
}
