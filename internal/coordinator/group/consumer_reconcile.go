package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// reconciliation brings one member closer to its target assignment (Kafka's CurrentAssignmentBuilder). First the member is told what to give up,
// and stays at its epoch until it no longer reports it. Then it moves to the target's epoch, with what of its target nobody else holds; the rest
// follows when the others have given it up.
type reconciliation struct {
	target      partitions
	targetEpoch int32
	topics      map[topic.ID]bool // that the member subscribes to
	owners      map[topicPartition]string
	owned       partitions // what the member reported to own
	reported    bool       // it did report
	resubscribe bool       // it changed what it subscribes to
}

// reconcile moves ch.next, and emits where it is then.
func (ch *consumerChange) reconcile(owned partitions, reported, resubscribe bool) error {
	if !resubscribe && ch.next.reconciled(ch.targetEpoch) {
		return nil
	}
	r := reconciliation{
		target: ch.targetOf(ch.next.id), targetEpoch: ch.targetEpoch, topics: make(map[topic.ID]bool),
		owners: ch.c.owners, owned: owned, reported: reported, resubscribe: resubscribe,
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
	ch.m.emit(moved.current(ch.group))
	if moved.state == memberUnrevoked && !moved.classic() {
		ch.m.armRebalance(ch.now, ch.group, moved)
	}
	return nil
}

// next is where the member goes from where it is.
func (r *reconciliation) next(m *consumerMember) (*consumerMember, error) {
	switch m.state {
	case memberStable:
		if m.epoch != r.targetEpoch {
			return r.advance(m), nil
		}
		if r.resubscribe {
			return r.unsubscribed(m), nil
		}
		return m, nil
	case memberUnrevoked:
		if r.holds(m.revoking) {
			if r.resubscribe {
				return r.unsubscribed(m), nil
			}
			return m, nil
		}
		return r.advance(m), nil
	case memberUnreleased:
		return r.advance(m), nil
	default: // a state of a newer Kafka: the member starts anew
		if !r.reported || len(r.owned) > 0 {
			return nil, fmt.Errorf("member %q is in a state that is not known here (%d): it has to give up all and join again: %w",
				m.id, m.state, kerr.FencedMemberEpoch)
		}
		return r.advance(m), nil
	}
}

// holds reports whether the member may still own some of ps: it does not say what it owns, or says that it does.
func (r *reconciliation) holds(ps partitions) bool { return !r.reported || r.owned.overlaps(ps) }

// wants reports whether p is of a topic that the member subscribes to and in its target assignment.
func (r *reconciliation) wants(p topicPartition) bool { return r.topics[p.topic] && r.target.has(p) }

// free reports whether nobody holds p. What m itself held and has given up is free.
func (r *reconciliation) free(m *consumerMember, p topicPartition) bool {
	owner, held := r.owners[p]
	return !held || owner == m.id && r.reported && !r.owned.has(p)
}

// advance is the member with the next step towards its target assignment made.
func (r *reconciliation) advance(m *consumerMember) *consumerMember {
	next := *m
	keep := m.assigned.filter(r.wants)
	revoke := m.assigned.filter(func(p topicPartition) bool { return !r.wants(p) })
	next.previous = m.epoch
	if len(revoke) > 0 && r.holds(revoke) {
		next.state, next.assigned, next.revoking = memberUnrevoked, keep, revoke
		return &next
	}
	next.state = memberStable
	var grant []assignedPartition
	for p := range r.target.all() {
		switch {
		case !r.topics[p.topic] || keep.has(p):
		case r.free(m, p):
			grant = append(grant, assignedPartition{p, r.targetEpoch})
		default:
			next.state = memberUnreleased
		}
	}
	next.epoch, next.assigned, next.revoking = r.targetEpoch, keep.union(partitionsOf(grant, true)), nil
	return &next
}

// unsubscribed is the member without the partitions of topics that it does not subscribe to any more, before there is a target assignment that
// knows it (CurrentAssignmentBuilder.updateCurrentAssignment).
func (r *reconciliation) unsubscribed(m *consumerMember) *consumerMember {
	revoke := m.assigned.filter(func(p topicPartition) bool { return !r.topics[p.topic] })
	if len(revoke) == 0 {
		return m
	}
	next := *m
	next.previous = m.epoch
	next.assigned = m.assigned.filter(func(p topicPartition) bool { return r.topics[p.topic] })
	if revoke = m.revoking.union(revoke); r.holds(revoke) {
		next.state, next.revoking = memberUnrevoked, revoke
	}
	return &next
}
