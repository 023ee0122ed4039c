package consumer

import (
	"fmt"
	"iter"

	"github.com/twmb/franz-go/pkg/kerr"
)

// CheckCommit says why offsets of partitions may not be committed by a member with that id and epoch (ConsumerGroup.validateOffsetCommit). An epoch
// that is older than the member's is taken if all partitions were assigned to the member by then, and are its still (KIP-1251).
func (g *Group) CheckCommit(id string, epoch int32, partitions iter.Seq[TopicPartition]) error {
	if epoch < 0 && len(g.members) == 0 {
		return nil // a standalone consumer or an administrator
	}
	m := g.members[id]
	switch {
	case m == nil:
		return fmt.Errorf("member %q is not in group %q: %w", id, g.ID, kerr.UnknownMemberID)
	case epoch == m.Epoch:
		return nil
	case epoch > m.Epoch:
		return m.Stale(epoch)
	}
	for p := range partitions {
		if !m.hadBy(epoch, p) {
			return m.Stale(epoch)
		}
	}
	return nil
}

// hadBy reports whether p was assigned to the member at epoch or before, and has not been given up.
func (m *Member) hadBy(epoch int32, p TopicPartition) bool {
	assigned, ok := m.Assigned.epoch(p)
	if !ok {
		assigned, ok = m.Revoking.epoch(p)
	}
	return ok && assigned <= epoch
}

// Stale is the error for an epoch that is not the member's, in its protocol's words.
func (m *Member) Stale(epoch int32) error {
	if m.Classic() {
		return fmt.Errorf("generation %d is not %d, member %q's: %w", epoch, m.Epoch, m.ID, kerr.IllegalGeneration)
	}
	return fmt.Errorf("member epoch %d is not %d, member %q's: %w", epoch, m.Epoch, m.ID, kerr.StaleMemberEpoch)
}

// CheckFetch says why offsets may not be shown to the member with that id (nil: none) and epoch (ConsumerGroup.validateOffsetFetch).
func (g *Group) CheckFetch(id *string, epoch int32) error {
	if id == nil && epoch < 0 {
		return nil
	}
	var m *Member
	if id != nil {
		m = g.members[*id]
	}
	switch {
	case m == nil:
		return fmt.Errorf("group %q has no such member: %w", g.ID, kerr.UnknownMemberID)
	case epoch != m.Epoch:
		return m.Stale(epoch)
	}
	return nil
}
