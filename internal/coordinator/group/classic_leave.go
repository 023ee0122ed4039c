package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// leave decides on a LeaveGroup, for each member that it names (GroupMetadataManager.classicGroupLeave, KIP-345).
func (m *Machine) leave(now time.Time, in Leave) {
	if err := checkGroupID(in.Group); err != nil {
		m.answer(in.Token, LeaveResult{Err: err})
		return
	}
	members := slices.Clone(in.Members)
	g := m.find(in.Group)
	left := 0
	why := ""
	for i := range members {
		l := &members[i]
		if g == nil || g.classic == nil {
			l.Err = kerr.UnknownMemberID
			continue
		}
		if l.Err = m.leaveOne(g, l); l.Err == nil {
			left++
			why = reason(l.Reason)
		}
	}
	if left > 0 {
		if g.classic.phase != classicEmpty {
			m.rebalance(now, g, "leave", fmt.Sprintf("members that leave: %d, the last with: %s", left, why))
		}
		m.classicForget(g)
	}
	m.answer(in.Token, LeaveResult{Members: members})
}

// leaveOne takes one member or pending one out, and says why not.
func (m *Machine) leaveOne(g *group, l *LeavingMember) error {
	c, id := g.classic, l.Member
	switch {
	case id == "" && (l.InstanceID == nil || c.statics[*l.InstanceID] == nil):
		return kerr.UnknownMemberID
	case id == "":
		// The administrator names the instance.
		id = c.statics[*l.InstanceID].id
	case c.pending.has(id):
		m.forgetPending(g, id)
		return nil
	}
	if err := c.check(id, l.InstanceID); err != nil {
		return err
	}
	m.removeMember(g, c.members[id], kerr.UnknownMemberID)
	return nil
}
