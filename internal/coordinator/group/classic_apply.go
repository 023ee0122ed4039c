package group

import (
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// emitClassic writes the group as it is now, and reports whether it can. What Apply will be given is what stands here already.
func (m *Machine) emitClassic(g *group) bool {
	r := g.classic.record(g.id).Record()
	if m.opts.RecordMax > 0 && len(r.Key)+len(r.Value) > m.opts.RecordMax {
		return false
	}
	m.out.Records = append(m.out.Records, r)
	g.classic.emitted++
	return true
}

// record is the group as it is written.
func (c *classic) record(id string) record.Classic {
	v := &record.ClassicValue{ProtocolType: c.kind, Generation: c.generation, Changed: c.changed}
	if len(c.order) > 0 {
		protocol, leader := c.protocol, c.leader
		v.Protocol, v.Leader = &protocol, &leader
	}
	for _, mem := range c.order {
		v.Members = append(v.Members, record.ClassicMember{
			ID: mem.id, InstanceID: mem.instance, ClientID: mem.clientID, ClientHost: mem.host,
			RebalanceTimeoutMs: int32(mem.rebalance.Milliseconds()), SessionTimeout: int32(mem.session.Milliseconds()), //nolint:gosec // they came as int32
			Subscription: mem.metadata(c.protocol), Assignment: mem.assignment,
		})
	}
	return record.Classic{Group: id, Value: v}
}

// applyClassic takes in a record of a classic group: of this machine's own, only where it stands in the log is new.
func (m *Machine) applyClassic(at batch.Offset, _ int64, e record.Classic) {
	if e.Value == nil {
		m.dropClassic(e.Group)
		return
	}
	g := m.ensure(e.Group)
	g.wrote(at)
	if g.classic != nil && g.classic.emitted > 0 {
		g.classic.emitted--
		g.classic.durable = true
		return
	}
	g.classic, g.consumer = loadClassic(e.Value), nil // a later record wins
}

// dropClassic takes in a tombstone, of a group of standalone consumers too.
func (m *Machine) dropClassic(id string) {
	g := m.find(id)
	if g == nil {
		return
	}
	if g.consumer == nil {
		g.kept = false
	}
	if g.classic == nil {
		m.forgetIfGone(g)
		return
	}
	for _, pending := range g.classic.pending.all() {
		m.forgetPending(g, pending)
	}
	for _, mem := range g.classic.order {
		m.timers.stop(timer{id, mem.id, classicSession})
	}
	m.timers.stop(timer{group: id, kind: classicJoin})
	m.timers.stop(timer{group: id, kind: classicSync})
	g.classic = nil
	m.forgetIfGone(g)
}

// loadClassic is the group that a record tells of. Of its members' protocols it has the chosen one.
func loadClassic(v *record.ClassicValue) *classic {
	c := newClassic()
	c.durable = true
	c.generation, c.kind, c.changed = v.Generation, v.ProtocolType, v.Changed
	if v.Protocol != nil {
		c.protocol = *v.Protocol
	}
	for i := range v.Members {
		mem := loadClassicMember(&v.Members[i], c.protocol)
		if taken := c.members[mem.id] != nil || mem.instance != nil && c.statics[*mem.instance] != nil; mem.id != "" && !taken {
			c.add(mem)
		}
	}
	if len(c.order) > 0 {
		c.phase, c.unled = classicStable, v.Leader == nil
	}
	if v.Leader != nil && c.members[*v.Leader] != nil {
		c.leader = *v.Leader
	}
	return c
}

func loadClassicMember(v *record.ClassicMember, protocol string) *classicMember {
	mem := &classicMember{
		id: v.ID, instance: v.InstanceID, clientID: v.ClientID, host: v.ClientHost, assignment: v.Assignment,
		session:   time.Duration(v.SessionTimeout) * time.Millisecond,
		rebalance: time.Duration(v.RebalanceTimeoutMs) * time.Millisecond,
		protocols: []record.Protocol{{Name: protocol, Metadata: v.Subscription}},
	}
	if v.RebalanceTimeoutMs < 0 {
		mem.rebalance = mem.session // of a record that is older than rebalance timeouts
	}
	return mem
}

// classicLoaded begins the sessions of a group that came from the log. One with more members than it may have now loses some.
func (m *Machine) classicLoaded(now time.Time, g *group) {
	c := g.classic
	if c == nil {
		return
	}
	for _, mem := range c.order {
		m.touch(now, g, mem)
	}
	switch {
	case c.unled:
		m.prepareRebalance(now, g, "downgrade", "the group was loaded as it was made of a next-generation one")
	case len(c.members) > m.opts.Classic.MaxSize:
		m.prepareRebalance(now, g, "size", "the group was loaded with more members than group.max.size allows")
	}
}

// classicRemove emits the tombstones of the group, and changes nothing itself (DeleteGroups and expiry: the group is empty).
func (m *Machine) classicRemove(g *group) { m.emit(record.Classic{Group: g.id}) }

// classicForget forgets a group that has no members and no record.
func (m *Machine) classicForget(g *group) {
	if c := g.classic; c != nil && c.phase == classicEmpty && c.pending.len() == 0 && !c.durable && c.emitted == 0 {
		g.classic = nil
		m.forgetIfGone(g)
	}
}
