package group

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// commit is OffsetCommit (OffsetMetadataManager.commitOffset). Offsets of a transaction would be kept apart from here on
// (commitTransactionalOffset), until their marker; there are no transactions yet.
func (m *Machine) commit(now time.Time, in Commit) {
	m.out.Retractable = true // a session that began anew was shown to be alive, whatever becomes of the records
	if !anyValid(in.Topics) {
		m.answer(in.Token, CommitResult{Topics: in.Topics})
		return
	}
	g := m.find(in.Group)
	if err := m.checkCommit(now, g, &in); err != nil {
		m.answerAfter(in.Token, CommitResult{Topics: failCommits(in.Topics, err)}, m.shown(g))
		return
	}
	var altered []AlteredOffset
	for i := range in.Topics {
		t := &in.Topics[i]
		id, err := m.commitID(t, in.Version)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if p.Err == nil {
				p.Err = err
			}
			if p.Err == nil {
				p.Err = m.commitOne(now, &in, t.Topic, id, p)
			}
			if p.Err == nil && in.Epoch < 0 && g != nil {
				altered = g.alters(altered, t.Topic, p)
			}
		}
	}
	m.answer(in.Token, CommitResult{Topics: in.Topics, Altered: altered})
}

// alters appends what p, from outside of the group, alters.
func (g *group) alters(to []AlteredOffset, name string, p *CommitPartition) []AlteredOffset {
	old := batch.Offset(-1)
	if c := g.offsets.Get(name, p.Partition); c != nil {
		old = c.Offset
	}
	hadMembers := g.classic != nil || g.consumer != nil
	if old == p.Offset || !hadMembers && old < p.Offset {
		return to
	}
	return append(to, AlteredOffset{Topic: name, Partition: p.Partition, Old: old, New: p.Offset})
}

func anyValid(topics []CommitTopic) bool {
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.Err == nil {
				return true
			}
		}
	}
	return false
}

// checkCommit says why in may not be taken now (OffsetMetadataManager.validateOffsetCommit). The empty group id may commit, as in Kafka, which
// keeps it for clients of old.
func (m *Machine) checkCommit(now time.Time, g *group, in *Commit) error {
	switch {
	case g != nil && g.classic != nil:
		return m.classicCheckCommit(now, g, in)
	case g != nil && g.consumer != nil:
		return m.consumerCheckCommit(now, g, in)
	case in.Epoch < 0: // a standalone consumer, or an administrator
		return nil
	case g != nil:
		return kerr.UnknownMemberID
	case in.Version >= 9:
		return kerr.GroupIDNotFound
	}
	return kerr.IllegalGeneration
}

// commitID is the id of a topic, as well as it is known. A topic that took the place of the one that the client means has no use for its offset.
func (m *Machine) commitID(t *CommitTopic, version int16) (topic.ID, error) {
	known := m.topicID(t.Topic)
	switch {
	case t.ID == (topic.ID{}):
		return known, nil
	case known == (topic.ID{}) || known == t.ID:
		return t.ID, nil
	case version >= 10:
		return t.ID, kerr.UnknownTopicID
	}
	return t.ID, kerr.UnknownTopicOrPartition
}

// topicID is the id of the topic of that name in the newest metadata; zero: there is none.
func (m *Machine) topicID(name string) topic.ID {
	if m.image == nil {
		return topic.ID{}
	}
	if t := m.image.Topic(name); t != nil {
		return t.ID
	}
	return topic.ID{}
}

// applyOffset takes in a committed offset or its tombstone.
func (m *Machine) applyOffset(at batch.Offset, e record.Offset) {
	g := m.find(e.Group)
	switch {
	case g == nil && e.Value == nil:
		return
	case g == nil:
		g = m.ensure(e.Group)
	}
	if e.Value != nil && !g.kept {
		g.kept = true
		if g.classic == nil && g.consumer == nil {
			g.wrote(at) // it shows by this record
		}
	}
	m.topics.Apply(&g.offsets, at, e)
	m.forgetIfGone(g)
}

// commitOne emits one offset, or says why not.
func (m *Machine) commitOne(now time.Time, in *Commit, name string, id topic.ID, p *CommitPartition) error {
	if longer(p.Metadata, m.opts.OffsetMetadataMax) {
		return kerr.OffsetMetadataTooLarge
	}
	v := record.OffsetValue{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, Committed: p.Timestamp, Expires: -1, TopicID: id}
	if v.Committed == -1 {
		v.Committed = now.UnixMilli()
	}
	if in.Retention != -1 {
		v.Expires = later(now.UnixMilli(), in.Retention)
	}
	r := record.Offset{Group: in.Group, Topic: name, Partition: p.Partition, Value: &v}.Record()
	if m.opts.RecordMax > 0 && len(r.Key)+len(r.Value) > m.opts.RecordMax {
		return kerr.InvalidCommitOffsetSize
	}
	m.out.Records = append(m.out.Records, r)
	return nil
}

// later is now plus retention, within the times there are.
func later(now, retention int64) int64 {
	if retention > math.MaxInt64-now {
		return math.MaxInt64
	}
	return max(now+retention, 0)
}

// longer reports whether s has more characters than limit, as Java counts them.
func longer(s string, limit int) bool {
	if len(s) <= limit {
		return false
	}
	n := 0
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n > limit
}
