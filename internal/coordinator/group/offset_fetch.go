package group

import (
	"github.com/ottla-io/ottla/internal/coordinator/offset"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// fetch is OffsetFetch (OffsetMetadataManager.fetchOffsets and fetchAllOffsets). Kafka answers from the state of the last commit; here the
// newest state answers, and the reply waits for it. With require-stable, a partition of an open transaction would answer
// UNSTABLE_OFFSET_COMMIT in fetchOne; there are no transactions yet, so all that is committed is stable.
func (m *Machine) fetch(in Fetch) {
	m.out.Retractable = true
	g := m.find(in.Group)
	if g != nil && g.consumer != nil {
		if err := m.consumerCheckFetch(g, &in); err != nil {
			m.answerAfter(in.Token, FetchResult{Err: err}, m.shown(g))
			return
		}
	}
	f := fetching{m: m}
	if g != nil {
		f.offsets = &g.offsets
	}
	var topics []FetchedTopic
	if in.Topics == nil {
		topics = f.all()
	} else {
		topics = f.some(in.Topics)
	}
	m.answerAfter(in.Token, FetchResult{Topics: topics}, f.wait)
}

// fetching is an answer that is being made.
type fetching struct {
	m       *Machine
	offsets *offset.Set  // nil: there are none
	wait    batch.Offset // the end of what it shows
}

// some is what is committed for these partitions.
func (f *fetching) some(topics []FetchTopic) []FetchedTopic {
	list := make([]FetchedTopic, 0, len(topics))
	for _, t := range topics {
		if (t.ID == topic.ID{}) {
			t.ID = f.m.topicID(t.Topic)
		}
		ft := FetchedTopic{Topic: t.Topic, ID: t.ID, Partitions: make([]FetchedPartition, 0, len(t.Partitions))}
		for _, p := range t.Partitions {
			ft.Partitions = append(ft.Partitions, f.one(t.Topic, t.ID, p))
		}
		list = append(list, ft)
	}
	return list
}

func (f *fetching) one(name string, id topic.ID, partition int32) FetchedPartition {
	if f.offsets != nil {
		if c := f.offsets.Get(name, partition); c != nil {
			f.saw(c)
			if c.Of(id) {
				return fetched(c)
			}
		}
	}
	f.wait = max(f.wait, f.m.removed)
	return FetchedPartition{Partition: partition, Offset: -1, LeaderEpoch: batch.NoEpoch}
}

// all is everything that is committed.
func (f *fetching) all() []FetchedTopic {
	f.wait = f.m.removed
	list := []FetchedTopic{}
	if f.offsets == nil {
		return list
	}
	var topicName string
	var id topic.ID
	for name, c := range f.offsets.All() {
		f.saw(c)
		if name != topicName {
			topicName, id = name, f.m.topicID(name)
		}
		if !c.Of(id) {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Topic != name {
			list = append(list, FetchedTopic{Topic: name, ID: id})
		}
		last := &list[len(list)-1]
		last.Partitions = append(last.Partitions, fetched(c))
	}
	return list
}

func (f *fetching) saw(c *offset.Committed) { f.wait = max(f.wait, c.Logged+1) }

func fetched(c *offset.Committed) FetchedPartition {
	return FetchedPartition{Partition: c.Partition, Offset: c.Offset, LeaderEpoch: c.Epoch, Metadata: c.Metadata}
}
