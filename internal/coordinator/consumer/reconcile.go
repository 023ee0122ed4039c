package consumer

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// reconciliation brings one member closer to its target assignment (Kafka's CurrentAssignmentBuilder). First the member is told what to give up,
// and stays at its epoch until it no longer reports it. Then it moves to the target's epoch, with what of its target nobody else holds; the rest
// follows when the others have given it up.
type reconciliation struct {
	target      Partitions
	targetEpoch int32
	topics      map[topic.ID]bool // that the member subscribes to
	owners      map[TopicPartition]string
	owned       Partitions // what the member reported to own
	reported    bool       // it did report
	resubscribe bool       // it changed what it subscribes to
}

// reconcile moves ch.next, and emits where it is then.
func (ch *Change) reconcile(owned Partitions, reported, resubscribe bool) error {
	if !resubscribe && ch.next.reconciled(ch.targetEpoch) {
		return nil
	}
	r := reconciliation{
		target: ch.targetOf(ch.next.ID), targetEpoch: ch.targetEpoch, topics: make(map[topic.ID]bool),
		owners: ch.g.owners, owned: owned, reported: reported, resubscribe: resubscribe,
	}
	for _, id := range ch.topicIDs(ch.next) {
		r.topics[id] = true
	}
	moved, err := r.next(ch.next)
	if err != nil {
		return err
	}
	before := ch.next
	ch.next = moved
	if moved.sameProgress(before) {
		return nil
	}
	ch.emit(moved.current(ch.g.ID))
	ch.Revoking = moved.MustRevoke()
	return nil
}

// next is where the member goes from where it is.
func (r *reconciliation) next(m *Member) (*Member, error) {
	switch m.State {
	case Stable:
		if m.Epoch != r.targetEpoch {
			return r.advance(m), nil
		}
		if r.resubscribe {
			return r.unsubscribed(m), nil
		}
		return m, nil
	case Unrevoked:
		if r.holds(m.Revoking) {
			if r.resubscribe {
				return r.unsubscribed(m), nil
			}
			return m, nil
		}
		return r.advance(m), nil
	case Unreleased:
		return r.advance(m), nil
	default: // a state of a newer Kafka: the member starts anew
		if !r.reported || len(r.owned) > 0 {
			return nil, fmt.Errorf("member %q is in a state that is not known here (%d): it has to give up all and join again: %w",
				m.ID, m.State, kerr.FencedMemberEpoch)
		}
		return r.advance(m), nil
	}
}

// holds reports whether the member may still own some of ps: it does not say what it owns, or says that it does.
func (r *reconciliation) holds(ps Partitions) bool { return !r.reported || r.owned.overlaps(ps) }

// wants reports whether p is of a topic that the member subscribes to and in its target assignment.
func (r *reconciliation) wants(p TopicPartition) bool { return r.topics[p.Topic] && r.target.Has(p) }

// free reports whether nobody holds p. What m itself held and has given up is free.
func (r *reconciliation) free(m *Member, p TopicPartition) bool {
	owner, held := r.owners[p]
	return !held || owner == m.ID && r.reported && !r.owned.Has(p)
}

// advance is the member with the next step towards its target assignment made.
func (r *reconciliation) advance(m *Member) *Member {
	next := *m
	keep := m.Assigned.filter(r.wants)
	revoke := m.Assigned.filter(func(p TopicPartition) bool { return !r.wants(p) })
	next.previous = m.Epoch
	if len(revoke) > 0 && r.holds(revoke) {
		next.State, next.Assigned, next.Revoking = Unrevoked, keep, revoke
		return &next
	}
	next.State = Stable
	var grant []assignedPartition
	for p := range r.target.All() {
		switch {
		case !r.topics[p.Topic] || keep.Has(p):
		case r.free(m, p):
			grant = append(grant, assignedPartition{p, r.targetEpoch})
		default:
			next.State = Unreleased
		}
	}
	next.Epoch, next.Assigned, next.Revoking = r.targetEpoch, keep.union(partitionsOf(grant, true)), nil
	return &next
}

// unsubscribed is the member without the partitions of topics that it does not subscribe to any more, before there is a target assignment that
// knows it (CurrentAssignmentBuilder.updateCurrentAssignment).
func (r *reconciliation) unsubscribed(m *Member) *Member {
	revoke := m.Assigned.filter(func(p TopicPartition) bool { return !r.topics[p.Topic] })
	if len(revoke) == 0 {
		return m
	}
	next := *m
	next.previous = m.Epoch
	next.Assigned = m.Assigned.filter(func(p TopicPartition) bool { return r.topics[p.Topic] })
	if revoke = m.Revoking.union(revoke); r.holds(revoke) {
		next.State, next.Revoking = Unrevoked, revoke
	}
	return &next
}
