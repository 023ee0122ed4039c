package consumer

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// Heartbeat is what a member that joins or stays says; nil and negative fields did not change.
type Heartbeat struct {
	ID                   string
	Epoch                int32 // 0: it joins
	InstanceID, RackID   *string
	RebalanceTimeout     time.Duration
	Topics               []string
	Regex, Assignor      *string
	Owned                []record.TopicPartitions
	ClientID, ClientHost string
}

// Full says why a group of at most limit members has no room for the member, which may have an id or an instance id that is one's already
// (GroupMetadataManager.throwIfConsumerGroupIsFull).
func (g *Group) Full(limit int, id string, instance *string) error {
	if g.Static(instance) != nil || g.members[id] != nil || len(g.members) < limit {
		return nil
	}
	return fmt.Errorf("the group has %d members, as many as group.consumer.max.size allows: %w", len(g.members), kerr.GroupMaxSizeReached)
}

// Heartbeat is what a heartbeat leads to: the member as it is then, and whether it has to be told what it is assigned. With an error, nothing is to
// be done (GroupMetadataManager.consumerGroupHeartbeat of Kafka 4.4).
func (ch *Change) Heartbeat(in Heartbeat) (m *Member, tell bool, err error) {
	base, err := ch.member(in)
	if err != nil {
		return nil, false, err
	}
	ch.next = updated(base, in)
	resubscribe, err := ch.update(base)
	if err != nil {
		return nil, false, err
	}
	ch.retarget()
	if err := ch.reconcile(Of(in.Owned), in.Owned != nil, resubscribe); err != nil {
		return nil, false, err
	}
	// One that says all does so because it may have missed an answer.
	full := in.Epoch == 0 || in.RebalanceTimeout >= 0 && (in.Topics != nil || in.Regex != nil) && in.Owned != nil
	return ch.next, full || !base.Assigned.same(ch.next.Assigned), nil
}

// member is who heartbeats, as it was: a new member's is empty but for its id. ch.old is set if it was there.
func (ch *Change) member(in Heartbeat) (*Member, error) {
	if in.InstanceID != nil {
		return ch.staticMember(in)
	}
	old := ch.g.members[in.ID]
	if old == nil {
		if in.Epoch != 0 {
			return nil, fmt.Errorf("member %q is not in group %q: %w", in.ID, ch.g.ID, kerr.UnknownMemberID)
		}
		return &Member{ID: in.ID}, nil
	}
	ch.old = old
	if err := old.checkEpoch(in.Epoch, in.Owned); err != nil {
		return nil, err
	}
	return old, nil
}

// staticMember is member for one with an instance id: it may take the place of the member that had it, once that has left (KIP-345).
func (ch *Change) staticMember(in Heartbeat) (*Member, error) {
	old := ch.g.Static(in.InstanceID)
	switch {
	case old == nil && in.Epoch == 0:
		return ch.memberOrNew(in.ID), nil
	case old == nil:
		return nil, fmt.Errorf("no member has instance id %q: %w", *in.InstanceID, kerr.UnknownMemberID)
	case in.Epoch == 0:
		if !old.Classic() && old.Epoch != AwayEpoch {
			return nil, fmt.Errorf("instance id %q is member %q's, which has not left: %w", *in.InstanceID, old.ID, kerr.UnreleasedInstanceID)
		}
		return ch.replace(old, in.ID), nil
	case old.ID != in.ID:
		return nil, fmt.Errorf("instance id %q is member %q's now: %w", *in.InstanceID, old.ID, kerr.FencedInstanceID)
	}
	ch.old = old
	if err := old.checkEpoch(in.Epoch, in.Owned); err != nil {
		return nil, err
	}
	return old, nil
}

// memberOrNew is the member with that id, or a new one.
func (ch *Change) memberOrNew(id string) *Member {
	if ch.old = ch.g.members[id]; ch.old != nil {
		return ch.old
	}
	return &Member{ID: id}
}

// replace lets the member id take old's place, with what old has (GroupMetadataManager.replaceMember).
func (ch *Change) replace(old *Member, id string) *Member {
	next := *old
	next.ID, next.Epoch, next.previous = id, 0, 0
	if old.ID == id {
		ch.old = old
		return &next
	}
	ch.gone = append(ch.gone, old)
	ch.emitRemoval(old)
	ch.target[id], ch.target[old.ID] = ch.g.target[old.ID], nil
	return &next
}

// checkEpoch is throwIfConsumerGroupMemberEpochIsInvalid: a member may come with its last epoch once more, since the answer with the new one may
// have been lost, if it owns nothing that it should not. With epoch 0 it has given up all.
func (m *Member) checkEpoch(epoch int32, owned []record.TopicPartitions) error {
	switch {
	case epoch == 0 || epoch == m.Epoch:
		return nil
	case epoch == m.previous && epoch < m.Epoch && owned != nil && Of(owned).within(m.Assigned):
		return nil
	}
	return fmt.Errorf("member %q comes with epoch %d and is at %d: it has to give up its partitions and join again: %w",
		m.ID, epoch, m.Epoch, kerr.FencedMemberEpoch)
}

// updated is base with what in says of it.
func updated(base *Member, in Heartbeat) *Member {
	next := *base
	info := &next.Info
	if in.InstanceID != nil {
		info.InstanceID = in.InstanceID
	}
	if in.RackID != nil {
		info.RackID = in.RackID
	}
	if in.RebalanceTimeout >= 0 {
		info.RebalanceTimeout = wholeMilliseconds(in.RebalanceTimeout)
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
	info.ClientID, info.ClientHost, info.Classic = in.ClientID, in.ClientHost, nil
	return &next
}

// wholeMilliseconds is d as records have it.
func wholeMilliseconds(d time.Duration) int32 {
	return int32(min(max(d.Milliseconds(), 0), 1<<31-1)) //nolint:gosec // bounded
}
