package consumer

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// The states of a member, as records keep them (Kafka's MemberState).
const (
	Stable     int8 = 0
	Unrevoked  int8 = 1 // it has to give up the partitions in Revoking
	Unreleased int8 = 2 // it waits for partitions that others have not given up yet
)

// Member epochs of requests, and of a static member that is away for a while.
const (
	LeaveEpoch int32 = -1
	AwayEpoch  int32 = -2
)

// Group is a next-generation group (Kafka's ConsumerGroup). All of it is made by records but what is said to be soft.
type Group struct {
	ID          string
	Epoch       int32
	TargetEpoch int32 // of the target assignment

	index      *Index
	detached   bool  // it is not followed by the index
	hash       int64 // of the metadata of the subscribed topics at Epoch
	targetTime int64 // when the target assignment was computed, ms; 0: not known
	members    map[string]*Member
	ids        []string          // of members, ascending
	static     map[string]string // member ids by instance id
	target     map[string]Partitions
	owners     map[TopicPartition]string // who has been told that it owns a partition and has not given it up yet
	topics     map[string]int            // how many members subscribe to a topic by its name
	regexes    map[string]*regex
	assignors  map[string]int // how many members ask for a server-side assignor
	oldTopics  bool           // there is a ConsumerTopics record to be removed

	// Soft: topics that the group subscribes to, or could by its patterns, have changed since Epoch.
	stale, staleRegexes bool
	// Soft, of a detached group: the classic group left an assignment that must be computed anew (Upgrade).
	unsettled bool
}

// regex is a pattern that members subscribe to.
type regex struct {
	members  int
	resolved bool
	topics   []string // ascending
}

// Member is a member (Kafka's ConsumerGroupMember). It is never written after it was made: changes are made to copies.
type Member struct {
	ID                 string
	Info               record.ConsumerMemberValue
	Epoch              int32
	State              int8
	Assigned, Revoking Partitions

	previous int32 // its last epoch
}

// New is a group without members that index follows.
func New(id string, index *Index) *Group { return newGroup(id, index, 0) }

// NewDetached is a group that is not there yet: nothing finds it. Its epochs go on from epoch.
func NewDetached(id string, index *Index, epoch int32) *Group {
	g := newGroup(id, index, epoch)
	g.detached = true
	return g
}

func newGroup(id string, index *Index, epoch int32) *Group {
	return &Group{
		ID: id, index: index, Epoch: epoch, TargetEpoch: epoch,
		members: make(map[string]*Member), static: make(map[string]string), target: make(map[string]Partitions),
		owners: make(map[TopicPartition]string), topics: make(map[string]int), regexes: make(map[string]*regex),
		assignors: make(map[string]int),
	}
}

// Len is how many members there are.
func (g *Group) Len() int { return len(g.ids) }

// IDs is those of the members, ascending. It must not be written.
func (g *Group) IDs() []string { return g.ids }

// Member is the member with that id, or nil.
func (g *Group) Member(id string) *Member { return g.members[id] }

// Static is the member with that instance id, or nil.
func (g *Group) Static(instance *string) *Member {
	if instance == nil {
		return nil
	}
	return g.members[g.static[*instance]]
}

// Target is a member's target assignment.
func (g *Group) Target(id string) Partitions { return g.target[id] }

// Owner is who has been told that it owns p and has not given it up yet; empty: nobody.
func (g *Group) Owner(p TopicPartition) string { return g.owners[p] }

// Assignor is the server-side assignor that the group's assignments are made by.
func (g *Group) Assignor() string { return preferred(g.assignors, g.index.assignors) }

// Classic reports whether the member speaks the classic protocol.
func (m *Member) Classic() bool { return m.Info.Classic != nil }

// Held is what the member has, and what it has to give up.
func (m *Member) Held() Partitions { return m.Assigned.union(m.Revoking) }

// reconciled reports whether the member has all of its target assignment of that epoch.
func (m *Member) reconciled(targetEpoch int32) bool {
	return m.State == Stable && m.Epoch == targetEpoch
}

// current is the member's CurrentAssignment.
func (m *Member) current(group string) record.CurrentAssignment {
	return record.CurrentAssignment{Group: group, Member: m.ID, Value: &record.CurrentAssignmentValue{
		Epoch: m.Epoch, PreviousEpoch: m.previous, State: m.State, Assigned: m.Assigned, Revoking: m.Revoking,
	}}
}

// sameProgress reports whether both have the same CurrentAssignment.
func (m *Member) sameProgress(o *Member) bool {
	return m.Epoch == o.Epoch && m.previous == o.previous && m.State == o.State && m.Assigned.equal(o.Assigned) && m.Revoking.equal(o.Revoking)
}

// State is Kafka's word: Empty, Assigning, Reconciling, Stable.
func (g *Group) State() string {
	switch {
	case len(g.members) == 0:
		return "Empty"
	case g.Epoch > g.TargetEpoch:
		return "Assigning"
	}
	for _, id := range g.ids {
		if !g.members[id].reconciled(g.TargetEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// Subscribes reports whether members of the group subscribe to topic, by its name or by a pattern.
func (g *Group) Subscribes(topic string) bool {
	if g.topics[topic] > 0 {
		return true
	}
	for r := range maps.Values(g.regexes) {
		if _, ok := slices.BinarySearch(r.topics, topic); ok && r.members > 0 {
			return true
		}
	}
	return false
}

// put adds m, in place of what had its id.
func (g *Group) put(m *Member) {
	if g.members[m.ID] == nil {
		i, _ := slices.BinarySearch(g.ids, m.ID)
		g.ids = slices.Insert(g.ids, i, m.ID)
	}
	g.members[m.ID] = m
}

// drop removes the member with that id.
func (g *Group) drop(id string) {
	delete(g.members, id)
	if i, ok := slices.BinarySearch(g.ids, id); ok {
		g.ids = slices.Delete(g.ids, i, i+1)
	}
}

// own notes what m owns or still has to give up; disown forgets it.
func (g *Group) own(m *Member) {
	for _, set := range []Partitions{m.Assigned, m.Revoking} {
		for p := range set.All() {
			g.owners[p] = m.ID
		}
	}
}

func (g *Group) disown(m *Member) {
	for _, set := range []Partitions{m.Assigned, m.Revoking} {
		for p := range set.All() {
			if g.owners[p] == m.ID {
				delete(g.owners, p)
			}
		}
	}
}

// count adds by to the counts of what m subscribes to and asks for (m may be nil).
func (g *Group) count(m *Member, by int) {
	if m == nil {
		return
	}
	for _, t := range m.Info.Topics {
		if before := g.topics[t]; before == 0 || before+by == 0 {
			g.follow([]string{t}, by)
		}
		add(g.topics, t, by)
	}
	if p := m.Info.Regex; p != nil {
		g.countRegex(*p, by)
	}
	if a := m.Info.Assignor; a != nil {
		add(g.assignors, *a, by)
	}
	if i := m.Info.InstanceID; i != nil {
		if by > 0 {
			g.static[*i] = m.ID
		} else if g.static[*i] == m.ID {
			delete(g.static, *i)
		}
	}
}

func (g *Group) countRegex(pattern string, by int) {
	r := g.regexes[pattern]
	if r == nil {
		r = &regex{}
		g.regexes[pattern] = r
	}
	if !g.detached && (r.members == 0 || r.members+by == 0) {
		g.index.pattern(g, pattern, by)
	}
	if r.members += by; r.members == 0 && !r.resolved {
		delete(g.regexes, pattern)
	}
}

// follow notes that the group looks at topics once more, or once less.
func (g *Group) follow(topics []string, by int) {
	if !g.detached {
		g.index.topics(g, topics, by)
	}
}

// add adds by to counts[key], and removes a count of zero.
func add(counts map[string]int, key string, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}
