package group

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// consumerProtocol is the protocol type of consumers, whose metadata is understood here.
const consumerProtocol = "consumer"

// supports reports whether a member of that type and with those protocols goes with the members: it has one protocol that all have.
func (c *classic) supports(protocolType string, protocols []record.Protocol) bool {
	if len(c.members) == 0 {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == c.kind &&
		slices.ContainsFunc(protocols, func(p record.Protocol) bool { return c.supported[p.Name] == len(c.members) })
}

// elect is the protocol that most members vote for: each for the first of its own that all have. Of equals it is the one that was voted
// for first.
func (c *classic) elect() string {
	votes := make(map[string]int)
	best := ""
	for _, mem := range c.order {
		name := mem.vote(c)
		votes[name]++
	}
	for _, mem := range c.order {
		if name := mem.vote(c); best == "" || votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// vote is the first of mem's protocols that all members have; supports sees to it that there is one.
func (mem *classicMember) vote(c *classic) string {
	for _, p := range mem.protocols {
		if c.supported[p.Name] == len(c.members) {
			return p.Name
		}
	}
	return ""
}

// metadata is what mem brought for a protocol.
func (mem *classicMember) metadata(protocol string) []byte {
	for _, p := range mem.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// matches reports whether protocols are what mem brought.
func (mem *classicMember) matches(protocols []record.Protocol) bool {
	return slices.EqualFunc(mem.protocols, protocols, func(a, b record.Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// keepProtocols is a copy of protocols without names that come twice, of which the first counts.
func keepProtocols(protocols []record.Protocol) []record.Protocol {
	kept := make([]record.Protocol, 0, len(protocols))
	names := make(map[string]bool, len(protocols))
	for _, p := range protocols {
		if !names[p.Name] {
			names[p.Name] = true
			kept = append(kept, record.Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
		}
	}
	return kept
}

// subscribedTopics is what the members subscribe to, as far as it was asked for since they last changed.
type subscribedTopics struct {
	parsed, known bool
	names         map[string]bool
}

// subscribes reports whether members of the group subscribe to topic, as far as it is known; unknown counts as yes while there are members.
func (c *classic) subscribes(topic string) bool {
	if len(c.members) == 0 {
		return false
	}
	if !c.topics.parsed {
		c.topics = c.parseTopics()
	}
	return !c.topics.known || c.topics.names[topic]
}

// parseTopics reads the subscriptions of all members, in all their protocols: which of these is chosen next is not known.
func (c *classic) parseTopics() subscribedTopics {
	topics := subscribedTopics{parsed: true, names: make(map[string]bool)}
	if c.kind != consumerProtocol {
		return topics
	}
	for _, mem := range c.order {
		for _, p := range mem.protocols {
			if !topics.add(p.Metadata) {
				return topics
			}
		}
	}
	topics.known = true
	return topics
}

// add reads a consumer's subscription: its version, and the topics that every version begins with (Kafka's ConsumerProtocolSubscription).
func (t *subscribedTopics) add(subscription []byte) bool {
	b := kbin.Reader{Src: subscription}
	b.Int16()
	for range b.ArrayLen() {
		t.names[b.String()] = true
		if !b.Ok() {
			return false
		}
	}
	return b.Ok()
}
