package group

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// The states of a member, as records keep them (Kafka's MemberState).
const (
	memberStable     int8 = 0
	memberUnrevoked  int8 = 1 // it has to give up the partitions in revoking
	memberUnreleased int8 = 2 // it waits for partitions that others have not given up yet
)

// Member epochs of requests, and of a static member that has left for a while.
const (
	leaveEpoch       int32 = -1
	leaveStaticEpoch int32 = -2
)

// consumer is a next-generation group (Kafka's ConsumerGroup). All of it is made by Apply but what is said to be soft.
type consumer struct {
	epoch       int32
	hash        int64 // of the metadata of the subscribed topics at epoch
	targetEpoch int32
	targetTime  int64 // when target was computed, ms; 0: not known
	members     map[string]*consumerMember
	ids         []string          // of members, ascending
	static      map[string]string // member ids by instance id
	target      map[string]partitions
	owners      map[topicPartition]string // who has been told that it owns a partition and has not given it up yet
	topics      map[string]int            // how many members subscribe to a topic by its name
	regexes     map[string]*consumerRegex
	assignors   map[string]int // how many members ask for a server-side assignor
	oldTopics   bool           // there is a ConsumerTopics record to be removed

	// Soft: topics that the group subscribes to, or could by its patterns, have changed since epoch.
	stale, staleRegexes bool
}

// consumerRegex is a pattern that members subscribe to.
type consumerRegex struct {
	members  int
	resolved bool
	topics   []string // ascending
}

// consumerMember is a member (Kafka's ConsumerGroupMember). It is never written after it was made: changes are made to copies.
type consumerMember struct {
	id                 string
	info               record.ConsumerMemberValue
	epoch, previous    int32
	state              int8
	assigned, revoking partitions
}

func newConsumer() *consumer {
	return &consumer{
		members: make(map[string]*consumerMember), static: make(map[string]string), target: make(map[string]partitions),
		owners: make(map[topicPartition]string), topics: make(map[string]int), regexes: make(map[string]*consumerRegex),
		assignors: make(map[string]int),
	}
}

// classic reports whether the member speaks the classic protocol.
func (m *consumerMember) classic() bool { return m.info.Classic != nil }

// reconciled reports whether the member has all of its target assignment of that epoch.
func (m *consumerMember) reconciled(targetEpoch int32) bool {
	return m.state == memberStable && m.epoch == targetEpoch
}

// current is the member's CurrentAssignment.
func (m *consumerMember) current(group string) record.CurrentAssignment {
	return record.CurrentAssignment{Group: group, Member: m.id, Value: &record.CurrentAssignmentValue{
		Epoch: m.epoch, PreviousEpoch: m.previous, State: m.state, Assigned: m.assigned, Revoking: m.revoking,
	}}
}

// sameProgress reports whether both have the same CurrentAssignment.
func (m *consumerMember) sameProgress(o *consumerMember) bool {
	return m.epoch == o.epoch && m.previous == o.previous && m.state == o.state && m.assigned.equal(o.assigned) && m.revoking.equal(o.revoking)
}

// state is Kafka's word: Empty, Assigning, Reconciling, Stable.
func (c *consumer) state() string {
	switch {
	case len(c.members) == 0:
		return "Empty"
	case c.epoch > c.targetEpoch:
		return "Assigning"
	}
	for _, id := range c.ids {
		if !c.members[id].reconciled(c.targetEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// subscribes reports whether members of the group subscribe to topic, by its name or by a pattern.
func (c *consumer) subscribes(topic string) bool {
	if c.topics[topic] > 0 {
		return true
	}
	for r := range maps.Values(c.regexes) {
		if _, ok := slices.BinarySearch(r.topics, topic); ok && r.members > 0 {
			return true
		}
	}
	return false
}

// staticMember is the member with that instance id, or nil.
func (c *consumer) staticMember(instance *string) *consumerMember {
	if instance == nil {
		return nil
	}
	return c.members[c.static[*instance]]
}

// put adds m, in place of what had its id.
func (c *consumer) put(m *consumerMember) {
	if c.members[m.id] == nil {
		i, _ := slices.BinarySearch(c.ids, m.id)
		c.ids = slices.Insert(c.ids, i, m.id)
	}
	c.members[m.id] = m
}

// drop removes the member with that id.
func (c *consumer) drop(id string) {
	delete(c.members, id)
	if i, ok := slices.BinarySearch(c.ids, id); ok {
		c.ids = slices.Delete(c.ids, i, i+1)
	}
}

// own notes what m owns or still has to give up; disown forgets it.
func (c *consumer) own(m *consumerMember) {
	for p := range m.assigned.all() {
		c.owners[p] = m.id
	}
	for p := range m.revoking.all() {
		c.owners[p] = m.id
	}
}

func (c *consumer) disown(m *consumerMember) {
	for _, set := range []partitions{m.assigned, m.revoking} {
		for p := range set.all() {
			if c.owners[p] == m.id {
				delete(c.owners, p)
			}
		}
	}
}
