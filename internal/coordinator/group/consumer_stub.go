package group

import (
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

type consumer struct{}

// consumerCheckCommit says why a commit of in may not be taken from this group now; it does not extend the member's session.
func (m *Machine) consumerCheckCommit(now time.Time, g *group, in *Commit) error { return nil }

// consumerCheckFetch says why offsets may not be shown to in's member (version 9: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH).
func (m *Machine) consumerCheckFetch(g *group, in *Fetch) error { return nil }

// subscribes reports whether members of the group subscribe to topic.
func (c *consumer) subscribes(topic string) bool { return false }

// state is Kafka's word: Empty, Assigning, Reconciling, Stable, Dead.
func (c *consumer) state() string { return "" }

// consumerRemove emits the tombstones of the group, and changes nothing itself (DeleteGroups and expiry: the group is empty).
func (m *Machine) consumerRemove(g *group) {}

func (m *Machine) consumerHeartbeat(now time.Time, in ConsumerHeartbeat)              {}
func (m *Machine) consumerDescribe(in ConsumerDescribe)                               {}
func (m *Machine) consumerTimer(now time.Time, t timer)                               {}
func (m *Machine) consumerLoaded(now time.Time, g *group)                             {}
func (m *Machine) consumerImage(now time.Time, old *meta.Image)                       {}
func (m *Machine) applyConsumerGroup(at batch.Offset, e record.ConsumerGroup)         {}
func (m *Machine) applyConsumerTopics(at batch.Offset, e record.ConsumerTopics)       {}
func (m *Machine) applyConsumerMember(at batch.Offset, e record.ConsumerMember)       {}
func (m *Machine) applyTargetEpoch(at batch.Offset, e record.TargetEpoch)             {}
func (m *Machine) applyTargetAssignment(at batch.Offset, e record.TargetAssignment)   {}
func (m *Machine) applyCurrentAssignment(at batch.Offset, e record.CurrentAssignment) {}
func (m *Machine) applyRegex(at batch.Offset, e record.Regex)                         {}
