package group

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// checkClassic counts again, slowly, what a machine keeps counted of its classic groups, and says what is wrong. waiting are the tokens that
// no reply was given to.
func checkClassic(m *Machine, waiting map[Token]Input) error {
	parkedTokens := make(map[Token]bool)
	for _, g := range m.sorted() {
		if g.classic == nil {
			continue
		}
		if err := g.classic.checkCounts(parkedTokens); err != nil {
			return fmt.Errorf("group %q: %w", g.id, err)
		}
		if err := m.checkTimersOf(g); err != nil {
			return fmt.Errorf("group %q in %s: %w", g.id, g.classic.phase, err)
		}
	}
	for t := range m.timers.at {
		if !m.hasUse(t) {
			return fmt.Errorf("timer %+v is of nobody", t)
		}
	}
	for token, in := range waiting {
		if !parkedTokens[token] {
			return fmt.Errorf("%d is not answered and not parked: %+v", token, in)
		}
	}
	if len(parkedTokens) != len(waiting) {
		return fmt.Errorf("%d requests are parked, %d wait", len(parkedTokens), len(waiting))
	}
	return nil
}

// checkCounts checks what stands in c against its members.
func (c *classic) checkCounts(parkedTokens map[Token]bool) error {
	joining, owing, statics := 0, 0, 0
	supported := make(map[string]int)
	for _, mem := range c.order {
		for _, p := range []parked{mem.join, mem.sync} {
			if p.held && parkedTokens[p.token] {
				return fmt.Errorf("token %d is parked twice", p.token)
			}
			if p.held {
				parkedTokens[p.token] = true
			}
		}
		if mem.join.held {
			joining++
		}
		if mem.owes {
			owing++
		}
		if mem.instance != nil {
			statics++
			if c.statics[*mem.instance] != mem {
				return fmt.Errorf("instance %s is not %s", *mem.instance, mem.id)
			}
		}
		for _, p := range mem.protocols {
			supported[p.Name]++
		}
		switch {
		case c.members[mem.id] != mem:
			return fmt.Errorf("member %s is not found", mem.id)
		case c.pending.has(mem.id):
			return fmt.Errorf("member %s is pending", mem.id)
		case mem.join.held && c.phase != classicPreparing, mem.sync.held && c.phase != classicCompleting:
			return fmt.Errorf("member %s waits in %s", mem.id, c.phase)
		case c.supported[mem.vote(c)] != len(c.members):
			return fmt.Errorf("member %s has no protocol that all have", mem.id)
		case mem.fresh && !mem.join.held:
			return fmt.Errorf("member %s is new and waits for nothing", mem.id)
		}
	}
	switch {
	case joining != c.joining || owing != c.owing:
		return fmt.Errorf("%d joined and %d owe, counted are %d and %d", joining, owing, c.joining, c.owing)
	case !maps.Equal(supported, c.supported):
		return fmt.Errorf("protocols are %v, counted are %v", supported, c.supported)
	case len(c.order) != len(c.members) || statics != len(c.statics):
		return fmt.Errorf("%d members, %d of them static; found are %d and %d", len(c.order), statics, len(c.members), len(c.statics))
	case (c.leader == "") != (len(c.members) == 0) || c.leader != "" && c.members[c.leader] == nil:
		return fmt.Errorf("leader %q is no member", c.leader)
	case len(c.members) == 0 && c.phase != classicEmpty && c.phase != classicPreparing, len(c.members) > 0 && c.phase == classicEmpty:
		return fmt.Errorf("%d members in %s", len(c.members), c.phase)
	case owing > 0 && c.phase != classicCompleting && c.phase != classicStable:
		return fmt.Errorf("%d owe in %s", owing, c.phase)
	case c.emitted != 0:
		return fmt.Errorf("%d records are to be applied", c.emitted)
	}
	return nil
}

// checkTimersOf checks that nobody waits for what never comes.
func (m *Machine) checkTimersOf(g *group) error {
	c := g.classic
	if c.phase == classicPreparing != m.timers.armed(timer{group: g.id, kind: classicJoin}) {
		return fmt.Errorf("the end of the join phase is armed: %t", c.phase != classicPreparing)
	}
	if c.owing > 0 != m.timers.armed(timer{group: g.id, kind: classicSync}) {
		return fmt.Errorf("%d owe, and the end of the sync phase is armed: %t", c.owing, c.owing == 0)
	}
	for _, mem := range c.order {
		alive := !mem.fresh && (mem.join.held || mem.sync.held)
		if !alive && !m.timers.armed(timer{g.id, mem.id, classicSession}) {
			return fmt.Errorf("member %s has no session", mem.id)
		}
	}
	for _, id := range c.pending.all() {
		if !m.timers.armed(timer{g.id, id, classicPending}) {
			return fmt.Errorf("pending member %s stays for ever", id)
		}
	}
	if len(c.pending.queue) > 2*c.pending.len()+16 {
		return fmt.Errorf("%d pending members take %d places", c.pending.len(), len(c.pending.queue))
	}
	return nil
}

// hasUse reports whether there is something that t is for.
func (m *Machine) hasUse(t timer) bool {
	g := m.find(t.group)
	switch t.kind { //nolint:exhaustive // the others are not of classic groups
	case classicJoin, classicSync:
		return g != nil && g.classic != nil
	case classicSession:
		return g != nil && g.classic != nil && g.classic.members[t.member] != nil
	case classicPending:
		return g != nil && g.classic != nil && g.classic.pending.has(t.member)
	}
	return true
}

// differsFrom says where c, as it is after a record of it, is not what was made of records alone.
func (c *classic) differsFrom(replayed *classic) error {
	switch {
	case replayed == nil:
		return errors.New("it is not there")
	case c.phase != replayed.phase || c.generation != replayed.generation || c.kind != replayed.kind || c.protocol != replayed.protocol ||
		c.leader != replayed.leader || c.changed != replayed.changed:
		return fmt.Errorf("%s %d %s %s %s %d, replayed %s %d %s %s %s %d", c.phase, c.generation, c.kind, c.protocol, c.leader, c.changed,
			replayed.phase, replayed.generation, replayed.kind, replayed.protocol, replayed.leader, replayed.changed)
	case !slices.EqualFunc(c.order, replayed.order, func(a, b *classicMember) bool {
		return a.id == b.id && show(a.instance) == show(b.instance) && a.clientID == b.clientID && a.host == b.host && a.session == b.session &&
			a.rebalance == b.rebalance && bytes.Equal(a.metadata(c.protocol), b.metadata(c.protocol)) && bytes.Equal(a.assignment, b.assignment)
	}):
		return errors.New("members are others when replayed")
	}
	return nil
}
