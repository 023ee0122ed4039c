package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// heartbeat decides on a Heartbeat (GroupMetadataManager.classicGroupHeartbeat).
func (m *Machine) heartbeat(now time.Time, in Heartbeat) {
	m.answer(in.Token, HeartbeatResult{Err: m.beat(now, in)})
}

// beat is the answer to a Heartbeat.
func (m *Machine) beat(now time.Time, in Heartbeat) error {
	if err := checkGroupID(in.Group); err != nil {
		return err
	}
	g := m.find(in.Group)
	if g == nil || g.classic == nil {
		return kerr.UnknownMemberID
	}
	c := g.classic
	if err := c.check(in.Member, in.InstanceID); err != nil {
		return err
	}
	if in.Generation != c.generation {
		return kerr.IllegalGeneration
	}
	m.touch(now, g, c.members[in.Member])
	if c.phase == classicPreparing {
		return kerr.RebalanceInProgress
	}
	return nil
}

// touch begins mem's session anew.
func (m *Machine) touch(now time.Time, g *group, mem *classicMember) {
	m.timers.set(timer{g.id, mem.id, classicSession}, now.Add(mem.session))
}

// classicTimer does what was due at t.
func (m *Machine) classicTimer(now time.Time, t timer) {
	g := m.find(t.group)
	if g == nil || g.classic == nil {
		return
	}
	switch t.kind { //nolint:exhaustive // the others are not of classic groups
	case classicJoin:
		m.joinTimeout(now, g)
	case classicSync:
		m.syncTimeout(now, g)
	case classicSession:
		m.sessionTimeout(now, g, t.member)
	case classicPending:
		g.classic.pending.remove(t.member)
		m.maybeCompleteJoin(now, g)
		m.classicForget(g)
	}
}

// sessionTimeout removes a member that was not heard of. One that waits for an answer is alive, unless it is new: its client may have gone
// and joined again as another.
func (m *Machine) sessionTimeout(now time.Time, g *group, id string) {
	mem := g.classic.members[id]
	if mem == nil || !mem.fresh && (mem.join.held || mem.sync.held) {
		return
	}
	m.removeMember(g, mem, kerr.UnknownMemberID)
	m.rebalance(now, g, "session", "member "+id+" was not heard of for its session timeout")
}

// classicCheckCommit says why a commit of in may not be taken from this group now; a member that commits is alive: its session begins anew
// (ClassicGroup.validateOffsetCommit). Who is no member may commit while there are none.
func (m *Machine) classicCheckCommit(now time.Time, g *group, in *Commit) error {
	c := g.classic
	if in.Epoch < 0 && (c == nil || c.phase == classicEmpty) {
		return nil
	}
	if c == nil || in.Epoch < 0 && in.Member == "" && in.InstanceID == nil {
		return kerr.UnknownMemberID
	}
	if err := c.check(in.Member, in.InstanceID); err != nil {
		return err
	}
	if in.Epoch != c.generation {
		return kerr.IllegalGeneration
	}
	m.touch(now, g, c.members[in.Member])
	if c.phase == classicCompleting {
		// It knows its generation, and not yet what it owns.
		return kerr.RebalanceInProgress
	}
	return nil
}
