package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// classicPhase is where a classic group stands (Kafka's ClassicGroupState). A group that is Dead is not there.
type classicPhase int8

const (
	classicEmpty      classicPhase = iota // no members
	classicPreparing                      // members are to join; their JoinGroups are parked
	classicCompleting                     // members have a generation and wait for the leader's assignment; SyncGroups are parked
	classicStable                         // members have their assignments
)

func (p classicPhase) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}[p]
}

// classic is the state of a group that speaks the classic protocol (Kafka's ClassicGroup).
//
// The record of a group is written when a generation becomes stable, when the last member has gone, and when a static member is replaced in
// a stable group. In between, who joins and leaves is known to this machine only: after a replay the group stands where its last record says.
type classic struct {
	phase      classicPhase
	generation int32
	// kind is the protocol type of the first member, and stays when all have gone. protocol is the assignor of this generation, if there are
	// members.
	kind, protocol string
	leader         string // a member's id; empty without members
	changed        int64  // ms, when phase last changed; -1: not known

	members map[string]*classicMember
	order   []*classicMember          // members, as they came
	statics map[string]*classicMember // members by instance id
	pending pendingMembers

	supported map[string]int // protocols, and how many members have them
	joining   int            // members whose JoinGroup is parked
	owing     int            // members of this generation that did not sync yet

	initial initialRebalance
	topics  subscribedTopics

	emitted int  // records of this machine that Apply did not see yet
	durable bool // there is a record of the group
	unled   bool // that names no leader: it was written by a downgrade, and the rebalance after that is not over
}

// initialRebalance is a rebalance that began in an empty group: it waits until no member has come for group.initial.rebalance.delay.ms, but no
// longer than until. Kafka's InitialDelayedJoin waits for a whole number of delays: nobody starts later than under Kafka, and a group
// whose members all come at once up to one delay earlier.
type initialRebalance struct {
	running bool
	until   time.Time
}

// classicMember is one member (Kafka's ClassicGroupMember).
type classicMember struct {
	id                 string
	instance           *string
	clientID, host     string
	session, rebalance time.Duration
	protocols          []record.Protocol // as it prefers them; names are unique
	assignment         []byte
	join, sync         parked
	// fresh is a member that did not get its first JoinGroup's answer: it may have gone, so that being parked does not prove it alive.
	fresh bool
	owes  bool // a SyncGroup for this generation
}

// parked is a request that waits for its answer, if held.
type parked struct {
	token Token
	held  bool
}

// newClassic is a group without members or history. It is small, since anybody can have many made.
func newClassic() *classic { return &classic{changed: -1} }

// to moves the group to its next phase.
func (c *classic) to(now time.Time, p classicPhase) {
	c.phase = p
	c.changed = now.UnixMilli()
}

// add takes mem in. Its id and instance id are not members'.
func (c *classic) add(mem *classicMember) {
	if c.members == nil {
		c.members, c.statics, c.supported = make(map[string]*classicMember), make(map[string]*classicMember), make(map[string]int)
	}
	if len(c.members) == 0 {
		c.leader = mem.id
	}
	c.members[mem.id] = mem
	c.order = append(c.order, mem)
	if mem.instance != nil {
		c.statics[*mem.instance] = mem
	}
	c.count(mem, 1)
	c.pending.remove(mem.id)
}

// remove takes mem out; the member that has been there longest takes over if it led. Nothing of mem is parked.
func (c *classic) remove(mem *classicMember) {
	delete(c.members, mem.id)
	c.order = slices.DeleteFunc(c.order, func(other *classicMember) bool { return other == mem })
	if mem.instance != nil {
		delete(c.statics, *mem.instance)
	}
	c.count(mem, -1)
	c.synced(mem)
	if c.leader != mem.id {
		return
	}
	c.leader = ""
	if len(c.order) > 0 {
		c.leader = c.order[0].id
	}
}

// replace puts next in the place of old, whose instance id it has: its age, leadership, assignment and what it owes.
func (c *classic) replace(old, next *classicMember) {
	delete(c.members, old.id)
	c.members[next.id] = next
	c.order[slices.Index(c.order, old)] = next
	c.statics[*next.instance] = next
	c.count(old, -1)
	c.count(next, 1)
	next.assignment, next.owes = old.assignment, old.owes
	if c.leader == old.id {
		c.leader = next.id
	}
}

// count notes that n more members have mem's protocols.
func (c *classic) count(mem *classicMember, n int) {
	for _, p := range mem.protocols {
		c.supported[p.Name] += n
		if c.supported[p.Name] == 0 {
			delete(c.supported, p.Name)
		}
	}
	c.topics = subscribedTopics{}
}

// owe makes mem owe a SyncGroup.
func (c *classic) owe(mem *classicMember) {
	if !mem.owes {
		mem.owes = true
		c.owing++
	}
}

// synced makes mem owe none.
func (c *classic) synced(mem *classicMember) {
	if mem.owes {
		mem.owes = false
		c.owing--
	}
}

// complete reports whether all have joined who are expected to.
func (c *classic) complete() bool { return c.joining == len(c.members) && c.pending.len() == 0 }

// rebalanceTimeout is the longest of the members'.
func (c *classic) rebalanceTimeout() (longest time.Duration) {
	for _, mem := range c.order {
		longest = max(longest, mem.rebalance)
	}
	return longest
}

// check says why id is not the member that it should be, with the instance id if it is a static one (ClassicGroup.validateMember).
func (c *classic) check(id string, instance *string) error {
	if instance != nil {
		switch mem := c.statics[*instance]; {
		case mem == nil:
			return kerr.UnknownMemberID
		case mem.id != id:
			return kerr.FencedInstanceID
		}
	}
	if c.members[id] == nil {
		return kerr.UnknownMemberID
	}
	return nil
}

// accepts reports whether a JoinGroup of id is taken when the group may have limit members (GroupMetadataManager.acceptJoiningMember). While
// members join, those who did count, not those who may not come back; so a group that is too large loses those who come last.
func (c *classic) accepts(id string, limit int) bool {
	mem := c.members[id]
	switch c.phase {
	case classicEmpty:
		return true
	case classicPreparing:
		return mem != nil && mem.join.held || c.joining < limit
	case classicCompleting, classicStable:
	}
	return mem != nil || len(c.members) < limit
}
