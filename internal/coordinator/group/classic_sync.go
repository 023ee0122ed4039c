package group

import (
	"bytes"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// sync decides on a SyncGroup: followers are parked until the leader's comes, whose assignment is written and handed out
// (GroupMetadataManager.classicGroupSync).
func (m *Machine) sync(now time.Time, in Sync) {
	g, mem, err := m.checkSync(in)
	if err != nil {
		m.answer(in.Token, SyncResult{Err: err})
		return
	}
	c := g.classic
	if c.phase == classicPreparing {
		m.answer(in.Token, SyncResult{Err: kerr.RebalanceInProgress})
		return
	}
	c.synced(mem)
	if c.owing == 0 {
		m.timers.stop(timer{group: g.id, kind: classicSync})
	}
	if c.phase == classicStable {
		m.touch(now, g, mem)
		m.answerAfter(in.Token, c.assigned(mem), g.written)
		return
	}
	if mem.sync.held {
		// It belongs to a connection that was given up.
		m.answer(mem.sync.token, SyncResult{Err: kerr.RebalanceInProgress})
	}
	mem.sync = parked{token: in.Token, held: true}
	if c.leader == mem.id {
		m.assign(now, g, in.Assignments)
	}
}

// checkSync says why in is not a member's of this generation.
func (m *Machine) checkSync(in Sync) (*group, *classicMember, error) {
	if err := checkGroupID(in.Group); err != nil {
		return nil, nil, err
	}
	g := m.find(in.Group)
	if g == nil || g.classic == nil {
		return nil, nil, kerr.UnknownMemberID
	}
	c := g.classic
	if err := c.check(in.Member, in.InstanceID); err != nil {
		return nil, nil, err
	}
	if in.Generation != c.generation {
		return nil, nil, kerr.IllegalGeneration
	}
	if differs(in.ProtocolType, c.kind) || differs(in.Protocol, c.protocol) {
		return nil, nil, kerr.InconsistentGroupProtocol
	}
	return g, c.members[in.Member], nil
}

// differs reports whether a member said something else than what is, as far as both are known.
func differs(said *string, is string) bool { return said != nil && is != "" && *said != is }

// assign takes the leader's assignment: the group is stable with it, once it is written. Members that it leaves out get nothing; who is no
// member is left out.
func (m *Machine) assign(now time.Time, g *group, given []Assigned) {
	c := g.classic
	for _, mem := range c.order {
		mem.assignment = nil
	}
	for _, a := range given {
		if mem := c.members[a.Member]; mem != nil {
			mem.assignment = bytes.Clone(a.Assignment)
		}
	}
	c.to(now, classicStable)
	if !m.emitClassic(g) {
		m.withdraw(now, g, kerr.UnknownServerError)
		m.prepareRebalance(now, g, "record", "the group with its assignment is larger than a record may be")
		return
	}
	for _, mem := range c.order {
		m.answerSync(now, g, mem, c.assigned(mem))
	}
}

// withdraw takes all assignments back and answers who waits for one.
func (m *Machine) withdraw(now time.Time, g *group, err error) {
	for _, mem := range g.classic.order {
		mem.assignment = nil
		m.answerSync(now, g, mem, SyncResult{Err: err})
	}
}

// answerSync answers mem's SyncGroup if it is parked; the member was alive by that, and has its session from now on.
func (m *Machine) answerSync(now time.Time, g *group, mem *classicMember, result SyncResult) {
	if mem.sync.held {
		m.answer(mem.sync.token, result)
		mem.sync = parked{}
		m.touch(now, g, mem)
	}
}

// assigned is what mem learns of its assignment.
func (c *classic) assigned(mem *classicMember) SyncResult {
	kind, protocol := c.kind, c.protocol
	return SyncResult{ProtocolType: &kind, Protocol: &protocol, Assignment: mem.assignment}
}
