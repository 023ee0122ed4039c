package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// joinInPlace lets a static member that came back without its member id take the place of what it was (KIP-345;
// GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin). Who still uses the old member id is fenced.
func (m *Machine) joinInPlace(now time.Time, g *group, old *classicMember, in Join) {
	c, leader := g.classic, g.classic.leader
	next := newClassicMember(freshMemberID(in), in)
	c.replace(old, next)
	// In a stable group whose protocol is still right the assignment holds as it is; but the new id has to be known after a replay.
	stays := c.phase == classicStable && c.elect() == c.protocol
	if stays && !m.emitClassic(g) {
		c.replace(next, old)
		m.refuseJoin(in, kerr.UnknownServerError, "")
		return
	}
	m.answerJoin(old, c, JoinResult{Err: kerr.FencedInstanceID, Generation: -1, Member: old.id})
	m.answerSync(now, g, old, SyncResult{Err: kerr.FencedInstanceID})
	m.timers.stop(timer{g.id, old.id, classicSession})
	m.touch(now, g, next)
	if stays {
		m.answer(in.Token, c.joinedInPlace(next, leader, in.KnowsSkipAssignment))
		return
	}
	m.parkJoin(next, c, in.Token)
	m.rebalance(now, g, "static", "instance "+*in.InstanceID+" is member "+next.id+" now: "+reason(in.Reason))
}

// joinedInPlace is what a static member learns that took its place in a stable group. One that leads is told so only if it knows that it must
// not assign (KIP-814): it is shown the former leader, itself under its old id, otherwise, and takes its old assignment as a follower.
func (c *classic) joinedInPlace(mem *classicMember, leader string, knowsSkip bool) JoinResult {
	result := c.joined(mem)
	if knowsSkip {
		result.SkipAssignment = c.leader == mem.id
		return result
	}
	result.Leader, result.Members = leader, nil
	return result
}
