package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// retryJoin is the least time between two attempts to end a join phase to which nobody came.
const retryJoin = time.Second

// rebalance begins one if none runs; if one does, it may be over by what has just happened.
func (m *Machine) rebalance(now time.Time, g *group, why, detail string) {
	if g.classic.phase == classicPreparing {
		m.maybeCompleteJoin(now, g)
		return
	}
	m.prepareRebalance(now, g, why, detail)
}

// prepareRebalance begins the join phase: all members are to join again (GroupMetadataManager.prepareRebalance).
func (m *Machine) prepareRebalance(now time.Time, g *group, why, detail string) {
	c := g.classic
	if c.phase == classicCompleting {
		m.withdraw(now, g, kerr.RebalanceInProgress)
	}
	m.stopSyncPhase(g)
	m.out.Rebalances = append(m.out.Rebalances, Rebalance{Group: g.id, Reason: why, Detail: detail})
	if c.phase == classicEmpty {
		c.initial = initialRebalance{running: true, until: now.Add(max(c.rebalanceTimeout(), m.opts.Classic.InitialDelay))}
		m.prolongInitial(now, g)
		c.to(now, classicPreparing)
		return
	}
	c.to(now, classicPreparing)
	m.timers.set(timer{group: g.id, kind: classicJoin}, now.Add(c.rebalanceTimeout()))
	m.maybeCompleteJoin(now, g)
}

// maybeCompleteJoin ends the join phase if all have joined. The first of a group ends by time only.
func (m *Machine) maybeCompleteJoin(now time.Time, g *group) {
	if c := g.classic; c.phase == classicPreparing && !c.initial.running && c.complete() {
		m.completeJoin(now, g)
	}
}

// prolongInitial has the first rebalance of a group wait for more members from now on.
func (m *Machine) prolongInitial(now time.Time, g *group) {
	i := &g.classic.initial
	if !i.running {
		return
	}
	at := now.Add(m.opts.Classic.InitialDelay)
	if at.After(i.until) {
		at = i.until
	}
	m.timers.set(timer{group: g.id, kind: classicJoin}, at)
}

// joinTimeout ends the join phase.
func (m *Machine) joinTimeout(now time.Time, g *group) {
	if g.classic.phase == classicPreparing {
		m.completeJoin(now, g)
	}
}

// completeJoin ends the join phase with those who joined: a generation begins (GroupMetadataManager.completeClassicGroupJoin). Static
// members keep their place until their session ends.
func (m *Machine) completeJoin(now time.Time, g *group) {
	c := g.classic
	c.initial = initialRebalance{}
	m.removeAbsent(g)
	if len(c.members) > 0 && c.joining == 0 {
		// Nobody came: those who are left are static and away. The next who comes may lead, or their sessions end.
		m.timers.set(timer{group: g.id, kind: classicJoin}, now.Add(max(c.rebalanceTimeout(), retryJoin)))
		return
	}
	m.timers.stop(timer{group: g.id, kind: classicJoin})
	c.generation++
	if len(c.members) == 0 {
		c.protocol = ""
		c.to(now, classicEmpty)
		m.emitClassic(g)
		return
	}
	c.leadByPresent()
	c.protocol = c.elect()
	c.to(now, classicCompleting)
	m.beginSyncPhase(now, g)
}

// removeAbsent removes the dynamic members that did not join.
func (m *Machine) removeAbsent(g *group) {
	for _, mem := range slices.Clone(g.classic.order) {
		if !mem.join.held && mem.instance == nil {
			m.removeMember(g, mem, kerr.UnknownMemberID)
		}
	}
}

// leadByPresent makes the leader one who has joined.
func (c *classic) leadByPresent() {
	if c.members[c.leader].join.held {
		return
	}
	for _, mem := range c.order {
		if mem.join.held {
			c.leader = mem.id
			return
		}
	}
}

// beginSyncPhase tells all who joined their generation, and gives them and those who are away the rebalance timeout to sync (KAFKA-9752).
func (m *Machine) beginSyncPhase(now time.Time, g *group) {
	c := g.classic
	for _, mem := range c.order {
		m.answerJoin(mem, c, c.joined(mem))
		mem.fresh = false
		m.touch(now, g, mem)
		c.owe(mem)
	}
	m.timers.set(timer{group: g.id, kind: classicSync}, now.Add(c.rebalanceTimeout()))
}

// stopSyncPhase forgets who did not sync.
func (m *Machine) stopSyncPhase(g *group) {
	for _, mem := range g.classic.order {
		g.classic.synced(mem)
	}
	m.timers.stop(timer{group: g.id, kind: classicSync})
}

// syncTimeout removes the members that did not sync, so that a leader that is stuck does not keep the others from their work.
func (m *Machine) syncTimeout(now time.Time, g *group) {
	c := g.classic
	if c.owing == 0 {
		return
	}
	for _, mem := range slices.Clone(c.order) {
		if mem.owes {
			m.removeMember(g, mem, kerr.UnknownMemberID)
		}
	}
	m.rebalance(now, g, "sync", "members did not sync in time")
}

// removeMember takes mem out of the group and answers with err what it has parked.
func (m *Machine) removeMember(g *group, mem *classicMember, err error) {
	c := g.classic
	m.answerJoin(mem, c, JoinResult{Err: err, Generation: -1})
	if mem.sync.held {
		m.answer(mem.sync.token, SyncResult{Err: err})
		mem.sync = parked{}
	}
	m.timers.stop(timer{g.id, mem.id, classicSession})
	c.remove(mem)
}
