package group

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// commitVersion is the least version of OffsetCommit that members of the next generation may use: it knows STALE_MEMBER_EPOCH.
const commitVersion = 9

// consumerCheckCommit says why a commit of in may not be taken from this group now; it does not extend the member's session
// (ConsumerGroup.validateOffsetCommit). An epoch that is older than the member's is taken if all that is committed was assigned to the
// member by then, and is its still (KIP-1251).
func (m *Machine) consumerCheckCommit(_ time.Time, g *group, in *Commit) error {
	c := g.consumer
	if in.Epoch < 0 && len(c.members) == 0 {
		return nil // a standalone consumer or an administrator
	}
	mem := c.members[in.Member]
	switch {
	case mem == nil:
		return fmt.Errorf("member %q is not in group %q: %w", in.Member, g.id, kerr.UnknownMemberID)
	case !mem.classic() && in.Version < commitVersion:
		return fmt.Errorf("members of next-generation groups commit with version %d and later: %w", commitVersion, kerr.UnsupportedVersion)
	case in.Epoch == mem.epoch:
		return nil
	case in.Epoch > mem.epoch:
		return mem.stale(in.Epoch)
	}
	for _, t := range in.Topics {
		id := t.ID
		if known := m.topic(t.Topic); id == (topic.ID{}) && known != nil {
			id = known.ID
		}
		for _, p := range t.Partitions {
			if !mem.hadBy(in.Epoch, topicPartition{id, p.Partition}) {
				return mem.stale(in.Epoch)
			}
		}
	}
	return nil
}

// hadBy reports whether p was assigned to the member at epoch or before, and has not been given up.
func (m *consumerMember) hadBy(epoch int32, p topicPartition) bool {
	assigned, ok := m.assigned.epoch(p)
	if !ok {
		assigned, ok = m.revoking.epoch(p)
	}
	return ok && assigned <= epoch
}

// stale is the error for an epoch that is not the member's, in its protocol's words.
func (m *consumerMember) stale(epoch int32) error {
	if m.classic() {
		return fmt.Errorf("generation %d is not %d, member %q's: %w", epoch, m.epoch, m.id, kerr.IllegalGeneration)
	}
	return fmt.Errorf("member epoch %d is not %d, member %q's: %w", epoch, m.epoch, m.id, kerr.StaleMemberEpoch)
}

// consumerCheckFetch says why offsets may not be shown to in's member (ConsumerGroup.validateOffsetFetch).
func (m *Machine) consumerCheckFetch(g *group, in *Fetch) error {
	if in.Member == nil && in.Epoch < 0 {
		return nil
	}
	var mem *consumerMember
	if in.Member != nil {
		mem = g.consumer.members[*in.Member]
	}
	switch {
	case mem == nil:
		return fmt.Errorf("group %q has no such member: %w", g.id, kerr.UnknownMemberID)
	case in.Epoch != mem.epoch:
		return mem.stale(in.Epoch)
	}
	return nil
}
