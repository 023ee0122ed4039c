package group

import (
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
)

const (
	// freshTimeout is how long a new member waits in JoinGroup before it has to ask again: nothing tells that it is still there (Kafka's
	// CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS).
	freshTimeout = 5 * time.Minute
	// reasonMax is the most characters of a client's reason that are kept (JoinGroupRequest.maybeTruncateReason).
	reasonMax = 255
	// memberPrefixMax is the most bytes of a client or instance id that begin a member id.
	memberPrefixMax = 255
	// protocolsMax is how many protocols one member may bring, and protocolsSize how many records' worth. Only one of them is ever written.
	// Clients have a few.
	protocolsMax  = 1_000
	protocolsSize = 4
)

// join decides on a JoinGroup: it is refused, answered with what is, or parked until the rebalance that it is part of is over
// (GroupMetadataManager.classicGroupJoin).
func (m *Machine) join(now time.Time, in Join) {
	if err := m.checkJoin(in); err != nil {
		m.refuseJoin(in, err, in.Member)
		return
	}
	g := m.find(in.Group)
	switch {
	case g != nil && g.consumer != nil:
		m.refuseJoin(in, kerr.InconsistentGroupProtocol, "")
	case in.Member != "" && (g == nil || g.classic == nil):
		m.refuseJoin(in, kerr.UnknownMemberID, in.Member)
	case in.Member != "":
		m.joinKnown(now, g, in)
	default:
		g = m.ensure(in.Group)
		if g.classic == nil {
			g.classic = newClassic()
		}
		m.joinNew(now, g, in)
		m.classicForget(g)
	}
}

// checkJoin says what is wrong with in whatever the group is like.
func (m *Machine) checkJoin(in Join) error {
	if err := checkGroupID(in.Group); err != nil {
		return err
	}
	if in.Session < m.opts.Classic.MinSession || in.Session > m.opts.Classic.MaxSession {
		return kerr.InvalidSessionTimeout
	}
	if len(in.Protocols) > protocolsMax {
		return kerr.InvalidRequest
	}
	size := 0
	for _, p := range in.Protocols {
		size += len(p.Name) + len(p.Metadata)
	}
	if m.opts.RecordMax > 0 && size > protocolsSize*m.opts.RecordMax {
		// Kafka takes it, and fails when it cannot write the group, with the same error.
		return kerr.UnknownServerError
	}
	return nil
}

// refuseJoin answers in with an error.
func (m *Machine) refuseJoin(in Join, err error, member string) {
	m.answer(in.Token, JoinResult{Err: err, Generation: -1, Member: member})
}

// joinNew takes a client in that has no member id.
func (m *Machine) joinNew(now time.Time, g *group, in Join) {
	c := g.classic
	switch {
	case !c.accepts("", m.opts.Classic.MaxSize):
		m.refuseJoin(in, kerr.GroupMaxSizeReached, "")
	case !c.supports(in.ProtocolType, in.Protocols):
		m.refuseJoin(in, kerr.InconsistentGroupProtocol, "")
	case in.InstanceID != nil && c.statics[*in.InstanceID] != nil:
		m.joinInPlace(now, g, c.statics[*in.InstanceID], in)
	case in.InstanceID == nil && in.NeedsKnownID:
		m.joinLater(now, g, in)
	default:
		m.addMember(now, g, freshMemberID(in), in)
	}
}

// freshMemberID is a member id that nobody has.
func freshMemberID(in Join) string {
	prefix := in.ClientID
	if in.InstanceID != nil {
		prefix = *in.InstanceID
	}
	if len(prefix) > memberPrefixMax {
		prefix = prefix[:memberPrefixMax]
		for !utf8.ValidString(prefix) && prefix != "" {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix + "-" + in.FreshID
}

// joinLater gives a member id out, with which the client is to join (KIP-394). Who does not is forgotten after its session, or when so many
// others ask that the bound is met: a flood costs no more than that, and locks nobody out.
func (m *Machine) joinLater(now time.Time, g *group, in Join) {
	c, id := g.classic, freshMemberID(in)
	if c.pending.len() >= max(min(m.opts.Classic.MaxSize, pendingMax), 1) {
		m.forgetPending(g, c.pending.oldest())
	}
	c.pending.add(id)
	m.timers.set(timer{g.id, id, classicPending}, now.Add(in.Session))
	m.refuseJoin(in, kerr.MemberIDRequired, id)
}

// forgetPending forgets an id that was given out.
func (m *Machine) forgetPending(g *group, id string) {
	g.classic.pending.remove(id)
	m.timers.stop(timer{g.id, id, classicPending})
}

// joinKnown decides on a JoinGroup with a member id.
func (m *Machine) joinKnown(now time.Time, g *group, in Join) {
	c := g.classic
	if !c.accepts(in.Member, m.opts.Classic.MaxSize) {
		m.turnAway(now, g, in)
		return
	}
	if !c.supports(in.ProtocolType, in.Protocols) {
		m.refuseJoin(in, kerr.InconsistentGroupProtocol, in.Member)
		return
	}
	if c.pending.has(in.Member) && in.InstanceID == nil {
		m.addMember(now, g, in.Member, in)
		return
	}
	if err := c.check(in.Member, in.InstanceID); err != nil {
		m.refuseJoin(in, err, in.Member)
		return
	}
	switch mem := c.members[in.Member]; {
	case c.phase == classicPreparing:
		m.rejoin(now, g, mem, in, "rejoin")
	case c.phase == classicStable && c.leader == mem.id:
		// What the leader assigns by may have changed without anybody's metadata: partitions of topics.
		m.rejoin(now, g, mem, in, "leader")
	case !mem.matches(in.Protocols):
		m.rejoin(now, g, mem, in, "metadata")
	default:
		// It did not get the answer of its JoinGroup, or comes back without need.
		m.touch(now, g, mem)
		m.answerAfter(in.Token, c.joined(mem), g.written)
	}
}

// turnAway refuses a member or pending one because the group is full, and forgets it.
func (m *Machine) turnAway(now time.Time, g *group, in Join) {
	c := g.classic
	m.refuseJoin(in, kerr.GroupMaxSizeReached, "")
	m.forgetPending(g, in.Member)
	if mem := c.members[in.Member]; mem != nil {
		m.removeMember(g, mem, kerr.GroupMaxSizeReached)
	}
	m.maybeCompleteJoin(now, g)
}

// addMember takes a new member in and parks its JoinGroup.
func (m *Machine) addMember(now time.Time, g *group, id string, in Join) {
	c := g.classic
	m.forgetPending(g, id)
	mem := newClassicMember(id, in)
	mem.fresh = true
	if len(c.members) == 0 {
		c.kind = in.ProtocolType
	}
	c.add(mem)
	m.prolongInitial(now, g)
	m.parkJoin(mem, c, in.Token)
	m.timers.set(timer{g.id, id, classicSession}, now.Add(freshTimeout))
	m.rebalance(now, g, "join", "member "+id+" joins: "+reason(in.Reason))
}

func newClassicMember(id string, in Join) *classicMember {
	return &classicMember{
		id: id, instance: in.InstanceID, clientID: in.ClientID, host: in.Host,
		session: in.Session, rebalance: max(in.Rebalance, 0), protocols: keepProtocols(in.Protocols),
	}
}

// rejoin takes what a member brings and parks its JoinGroup.
func (m *Machine) rejoin(now time.Time, g *group, mem *classicMember, in Join, why string) {
	c := g.classic
	c.count(mem, -1)
	mem.protocols = keepProtocols(in.Protocols)
	mem.session, mem.rebalance = in.Session, max(in.Rebalance, 0)
	c.count(mem, 1)
	m.parkJoin(mem, c, in.Token)
	m.rebalance(now, g, why, "member "+mem.id+" joins again in "+c.phase.String()+": "+reason(in.Reason))
}

// parkJoin parks a JoinGroup of mem; one that was parked before belongs to a connection that was given up.
func (m *Machine) parkJoin(mem *classicMember, c *classic, t Token) {
	if mem.join.held {
		m.answer(mem.join.token, JoinResult{Err: kerr.RebalanceInProgress, Generation: -1, Member: mem.id})
	} else {
		c.joining++
	}
	mem.join = parked{token: t, held: true}
}

// answerJoin answers mem's JoinGroup if it is parked.
func (m *Machine) answerJoin(mem *classicMember, c *classic, result JoinResult) {
	if mem.join.held {
		m.answer(mem.join.token, result)
		mem.join = parked{}
		c.joining--
	}
}

// joined is what mem learns of its generation.
func (c *classic) joined(mem *classicMember) JoinResult {
	kind, protocol := c.kind, c.protocol
	result := JoinResult{
		Generation: c.generation, ProtocolType: &kind, Protocol: &protocol, Leader: c.leader, Member: mem.id,
	}
	if c.leader == mem.id {
		result.Members = c.roster()
	}
	return result
}

// roster is the members as the leader sees them.
func (c *classic) roster() []JoinedMember {
	all := make([]JoinedMember, 0, len(c.order))
	for _, mem := range c.order {
		all = append(all, JoinedMember{Member: mem.id, InstanceID: mem.instance, Metadata: mem.metadata(c.protocol)})
	}
	return all
}

// reason is what a client says why it joins or leaves, cut to what is shown of it (KIP-800).
func reason(text string) string {
	if text == "" {
		return "no reason given"
	}
	n := 0
	for i := range text {
		if n++; n > reasonMax {
			return text[:i]
		}
	}
	return text
}
