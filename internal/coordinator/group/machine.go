package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/coordinator/offset"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Machine is the groups and offsets of one partition of __consumer_offsets.
type Machine struct {
	opts   Options
	image  *meta.Image
	groups map[string]*group
	// topics are those that some group has offsets of.
	topics offset.Topics
	timers timers
	index  *consumer.Index // which next-generation groups look at which topics
	// applied is the end of the newest record, and removed that of the newest tombstone.
	applied, removed batch.Offset
	live             bool // Loaded
	sweep            sweep
	removals         map[string]*removal // by group
	out              Effects             // of the Step that runs
}

// New returns a machine without groups.
func New(opts Options) *Machine {
	return &Machine{
		opts: opts, groups: make(map[string]*group), removals: make(map[string]*removal),
		index: consumer.NewIndex(opts.Consumer.Assignors, opts.RecordMax, opts.Match),
	}
}

// Next is when the machine wants a Tick; zero: never.
func (m *Machine) Next() time.Time { return m.timers.next() }

// Step decides what in leads to. A Tick takes every timer that is due.
func (m *Machine) Step(now time.Time, in Input) Effects {
	m.out = Effects{}
	if m.refuse(in) {
		return m.out
	}
	switch in := in.(type) {
	case Tick:
		m.tick(now)
	case Loaded:
		m.loaded(now)
	case NewImage:
		m.newImage(now, in.Image)
	case Commit:
		m.commit(now, in)
	case Fetch:
		m.fetch(in)
	case DeleteOffsets:
		m.deleteOffsets(now, in)
	case Delete:
		m.delete(now, in)
	case List:
		m.list(in)
	case Join:
		if g := m.consumerNamed(in.Group); g != nil {
			m.joinConsumer(now, g, in)
			break
		}
		m.join(now, in)
	case Sync:
		if g := m.consumerNamed(in.Group); g != nil {
			m.syncConsumer(now, g, in)
			break
		}
		m.sync(now, in)
	case Heartbeat:
		if g := m.consumerNamed(in.Group); g != nil {
			m.heartbeatConsumer(now, g, in)
			break
		}
		m.heartbeat(now, in)
	case Leave:
		if g := m.consumerNamed(in.Group); g != nil {
			m.leaveConsumer(now, g, in)
			break
		}
		m.leave(now, in)
	case Describe:
		m.describe(in)
	case ConsumerHeartbeat:
		m.consumerHeartbeat(now, in)
	case ConsumerDescribe:
		m.consumerDescribe(in)
	}
	return m.out
}

// tickMax bounds the timers of one Tick, so that its records fit one batch; the rest is due at the next.
const tickMax = 64

// tick does what is due. Of next-generation groups it is done by group, since a Step decides on a group once.
func (m *Machine) tick(now time.Time) { m.consumerLapsed(now, m.takeDue(now)) }

// takeDue takes the timers that are due. One that fills a batch has the Tick for itself. Those of next-generation groups it returns.
func (m *Machine) takeDue(now time.Time) (lapsed []timer) {
	for i := range tickMax {
		if i > 0 && (m.timers.large() || m.full()) {
			return lapsed
		}
		t, ok := m.timers.due(now)
		if !ok {
			return lapsed
		}
		switch t.kind {
		case expireOffsets:
			m.expire(now)
			return lapsed
		case removeOffsets:
			m.removeMore(now, t.group)
			return lapsed
		case classicJoin, classicSync, classicSession, classicPending:
			m.classicTimer(now, t)
		case consumerSession, consumerRebalance, consumerClassicJoin, consumerClassicSync:
			lapsed = append(lapsed, t)
		}
	}
	return lapsed
}

// full reports whether the Step's records leave less than half of a batch.
func (m *Machine) full() bool {
	return m.opts.RecordMax > 0 && sizeOf(m.out.Records) > m.opts.RecordMax/2
}

// tooLarge reports whether records do not fit one batch, so that a crash could leave a part of them.
func (m *Machine) tooLarge(records []record.Record) bool {
	return m.opts.RecordMax > 0 && sizeOf(records) > m.opts.RecordMax
}

// sizeOf is no less than what records take in a batch, in bytes.
func sizeOf(records []record.Record) (size int) {
	for _, r := range records {
		size += len(r.Key) + len(r.Value) + recordCost
	}
	return size
}

// loaded begins sessions and the search for old offsets.
func (m *Machine) loaded(now time.Time) {
	m.live = true
	m.expireLater(now)
	for _, g := range m.sorted() {
		m.classicLoaded(now, g)
		m.consumerLoaded(now, g)
	}
}

// newImage follows the metadata: offsets of deleted topics go, and next-generation groups see the topics that came, grew or went.
func (m *Machine) newImage(now time.Time, image *meta.Image) {
	old := m.image
	m.image = image
	m.offsetImage(now, old)
	m.index.SetImage(image)
}

// Apply takes in a record at offset, whose batch has that timestamp (ms): a live one right after the Step that made it was appended, and
// each on replay, in order. Records of share and streams groups change nothing. An error is an ErrMalformed: nothing was changed.
func (m *Machine) Apply(offset batch.Offset, timestamp int64, key, value []byte) error {
	entry, err := record.Decode(key, value)
	if err != nil {
		return err
	}
	m.applied = max(m.applied, offset+1)
	if value == nil {
		m.removed = max(m.removed, offset+1)
	}
	switch e := entry.(type) {
	case record.Offset:
		m.applyOffset(offset, e)
	case record.Classic:
		m.applyClassic(offset, timestamp, e)
	case record.ConsumerGroup:
		m.applyConsumerGroup(offset, e)
	case record.ConsumerTopics:
		m.applyConsumerTopics(offset, e)
	case record.ConsumerMember:
		m.applyConsumerMember(offset, e)
	case record.TargetEpoch:
		m.applyTargetEpoch(offset, e)
	case record.TargetAssignment:
		m.applyTargetAssignment(offset, e)
	case record.CurrentAssignment:
		m.applyCurrentAssignment(offset, e)
	case record.Regex:
		m.applyRegex(offset, e)
	}
	return nil
}

// emit adds a record to the Step's effects.
func (m *Machine) emit(e record.Entry) { m.out.Records = append(m.out.Records, e.Record()) }

// answer adds a reply that shows nothing durable but what this Step emits.
func (m *Machine) answer(t Token, result any) { m.answerAfter(t, result, 0) }

// answerAfter adds a reply that shows what stands below wait.
func (m *Machine) answerAfter(t Token, result any, wait batch.Offset) {
	m.out.Replies = append(m.out.Replies, Reply{Token: t, Result: result, Wait: wait})
}

// Failed is the result that answers in with err, where the machine cannot be asked.
func Failed(in Input, err error) any {
	switch in := in.(type) {
	case Commit:
		return CommitResult{Topics: failCommits(in.Topics, err)}
	case Fetch:
		return FetchResult{Err: err}
	case DeleteOffsets:
		return DeleteOffsetsResult{Err: err}
	case Delete:
		return DeleteResult{Err: err}
	case List:
		return ListResult{Err: err}
	case Join:
		return JoinResult{Err: err, Generation: -1, Member: in.Member}
	case Sync:
		return SyncResult{Err: err}
	case Heartbeat:
		return HeartbeatResult{Err: err}
	case Leave:
		return LeaveResult{Err: err}
	case Describe:
		return DescribeResult{Err: err, Group: in.Group}
	case ConsumerHeartbeat:
		return ConsumerHeartbeatResult{Err: err, Member: in.Member}
	case ConsumerDescribe:
		return ConsumerDescribeResult{Err: err, Group: in.Group}
	}
	return nil
}

// failCommits is topics with err where nothing was wrong before.
func failCommits(topics []CommitTopic, err error) []CommitTopic {
	for i := range topics {
		for j := range topics[i].Partitions {
			if p := &topics[i].Partitions[j]; p.Err == nil {
				p.Err = err
			}
		}
	}
	return topics
}

// checkGroupID refuses ids that no group may have.
func checkGroupID(id string) error {
	if id == "" {
		return kerr.InvalidGroupID
	}
	return nil
}
