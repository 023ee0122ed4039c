package group

import "slices"

// pendingMax bounds the member ids that one group has given out and waits for, whatever group.max.size is. A client comes back with its id at
// once.
const pendingMax = 10_000

// pendingMembers are member ids that were given out to clients that are to join with them (KIP-394), oldest first. The zero value has none.
type pendingMembers struct {
	since map[string]uint64
	queue []pendingMember // those of since, and some that have gone
	next  uint64
}

type pendingMember struct {
	id    string
	since uint64
}

func (p *pendingMembers) len() int           { return len(p.since) }
func (p *pendingMembers) has(id string) bool { _, ok := p.since[id]; return ok }
func (p *pendingMembers) gone(e pendingMember) bool {
	since, ok := p.since[e.id]
	return !ok || since != e.since
}

// add notes id as given out.
func (p *pendingMembers) add(id string) {
	if p.since == nil {
		p.since = make(map[string]uint64)
	}
	p.next++
	p.since[id] = p.next
	p.queue = append(p.queue, pendingMember{id: id, since: p.next})
	p.compact()
}

// remove forgets id; it may not be there.
func (p *pendingMembers) remove(id string) {
	delete(p.since, id)
	if len(p.since) == 0 {
		p.since, p.queue = nil, nil
		return
	}
	p.compact()
}

// compact keeps the queue within twice what is in it.
func (p *pendingMembers) compact() {
	if len(p.queue) > 2*len(p.since)+16 {
		p.queue = slices.DeleteFunc(p.queue, p.gone)
	}
}

// oldest is the id that was given out first; there is one.
func (p *pendingMembers) oldest() string {
	for p.gone(p.queue[0]) {
		p.queue = p.queue[1:]
	}
	return p.queue[0].id
}

// all is the ids, oldest first.
func (p *pendingMembers) all() []string {
	ids := make([]string, 0, len(p.since))
	for _, e := range p.queue {
		if !p.gone(e) {
			ids = append(ids, e.id)
		}
	}
	return ids
}
