package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// A step's tombstones fit one batch. So what removes more than that takes several steps, with a pause between them, in which others are
// served; this keeps memory and the time under the lock small where a group with a million offsets is deleted. Meanwhile the group answers
// COORDINATOR_LOAD_IN_PROGRESS, which every client tries again: nobody sees, joins or commits to half of a group. If the broker dies on
// the way, the rest is still there, and so is the group: whoever deleted it had no answer, and deletes it again.
const (
	removeMax   = 1_000 // tombstones of a step
	visitMax    = 50_000
	recordCost  = 64 // more than a record takes in a batch beside its key and value
	removePause = time.Millisecond
)

// removal is what is to be removed for a request, which is answered when all is.
type removal struct {
	token  Token
	group  string
	result any
	wait   batch.Offset // the end of what result shows
	todo   []place
	whole  bool // all of its offsets, then the group, in place of todo
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// delete is DeleteGroups for one group (GroupCoordinatorShard.deleteGroups). The empty id may be deleted, as in Kafka.
func (m *Machine) delete(now time.Time, in Delete) {
	g := m.find(in.Group)
	err := error(nil)
	switch {
	case g == nil:
		err = kerr.GroupIDNotFound
	case g.state() != stateEmpty:
		err = kerr.NonEmptyGroup
	}
	if err != nil {
		m.out.Retractable = true
		m.answerAfter(in.Token, DeleteResult{Err: err}, m.shown(g))
		return
	}
	m.remove(now, removal{token: in.Token, group: in.Group, result: DeleteResult{}, wait: g.written, whole: true})
}

// remove does all of r in this step, or begins to.
func (m *Machine) remove(now time.Time, r removal) {
	if m.removeSome(&r) {
		m.out.Retractable = true
		return
	}
	m.removals[r.group] = &r
	m.timers.set(timer{group: r.group, kind: removeOffsets}, now.Add(removePause))
}

// removeMore goes on with the removal of a group's offsets.
func (m *Machine) removeMore(now time.Time, id string) {
	r := m.removals[id]
	if r == nil {
		return
	}
	if m.removeSome(r) {
		delete(m.removals, id)
		return
	}
	m.timers.set(timer{group: id, kind: removeOffsets}, now.Add(removePause))
}

// removeSome emits what fits this step, and reports whether that was the rest; then it answers.
func (m *Machine) removeSome(r *removal) bool {
	var b budget
	g := m.find(r.group)
	if g != nil && r.whole {
		for name, c := range g.offsets.All() {
			if !m.tombstone(&b, r.group, name, c.Partition) {
				return false
			}
		}
		if !m.removeWithin(&b, g) {
			return false
		}
	}
	for ; g != nil && len(r.todo) > 0; r.todo = r.todo[1:] {
		at := r.todo[0]
		if g.offsets.Get(at.topic, at.partition) != nil && !m.tombstone(&b, r.group, at.topic, at.partition) {
			return false
		}
	}
	m.answerAfter(r.token, r.result, max(r.wait, m.removed))
	return true
}

// removeGroup emits the tombstones of an empty group itself. One of standalone consumers has that of a classic group, as in Kafka
// (ClassicGroup.createGroupTombstoneRecords).
func (m *Machine) removeGroup(g *group) {
	if g.consumer != nil {
		m.consumerRemove(g)
		return
	}
	m.classicRemove(g)
}

// budget is what a step has used of what it may.
type budget struct{ records, bytes, visits int }

// tombstone emits the tombstone of an offset, unless the step has no room for it.
func (m *Machine) tombstone(b *budget, groupID, name string, partition int32) bool {
	r := record.Offset{Group: groupID, Topic: name, Partition: partition}.Record()
	if !m.fits(b, 1, len(r.Key)+recordCost) {
		return false
	}
	m.out.Records = append(m.out.Records, r)
	return true
}

// removeWithin is removeGroup, unless the step has no room for it.
func (m *Machine) removeWithin(b *budget, g *group) bool {
	had := len(m.out.Records)
	m.removeGroup(g)
	if added := m.out.Records[had:]; !m.fits(b, len(added), sizeOf(added)) {
		m.out.Records = m.out.Records[:had]
		return false
	}
	return true
}

// fits takes room for records from the budget, if it is there. The first records of a step always fit.
func (m *Machine) fits(b *budget, records, size int) bool {
	if b.records > 0 && (b.records+records > removeMax || m.opts.RecordMax > 0 && b.bytes+size > m.opts.RecordMax) {
		return false
	}
	b.records += records
	b.bytes += size
	return true
}

// refuse answers in if its group is being removed.
func (m *Machine) refuse(in Input) bool {
	if len(m.removals) == 0 {
		return false
	}
	id, ok := groupOf(in)
	if !ok || m.removals[id] == nil {
		return false
	}
	m.answer(in.token(), Failed(in, kerr.CoordinatorLoadInProgress))
	return true
}

// groupOf is the group that an input is about.
func groupOf(in Input) (string, bool) {
	switch in := in.(type) {
	case Commit:
		return in.Group, true
	case Fetch:
		return in.Group, true
	case DeleteOffsets:
		return in.Group, true
	case Delete:
		return in.Group, true
	case Join:
		return in.Group, true
	case Sync:
		return in.Group, true
	case Heartbeat:
		return in.Group, true
	case Leave:
		return in.Group, true
	case Describe:
		return in.Group, true
	case ConsumerHeartbeat:
		return in.Group, true
	case ConsumerDescribe:
		return in.Group, true
	}
	return "", false
}
