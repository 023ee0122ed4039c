package consumer

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/assignor"
	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// assign is the target assignment of members, in their order, by the assignor that most of them ask for.
func (ch *Change) assign(members []*Member) []Partitions {
	topics := ch.subscribedTopics()
	in := assignor.Input{Members: make([]assignor.Member, 0, len(members)), Topics: make([]assignor.Topic, 0, len(topics))}
	racks := false
	for _, m := range members {
		ids := ch.topicIDs(m)
		slices.SortFunc(ids, compareIDs)
		in.Members = append(in.Members, assignor.Member{
			ID: m.ID, InstanceID: m.Info.InstanceID, Rack: m.Info.RackID, Topics: slices.Compact(ids), Owned: ch.targetOf(m.ID).byTopic(),
		})
		racks = racks || m.Info.RackID != nil
	}
	for _, t := range topics {
		in.Topics = append(in.Topics, assignor.Topic{
			ID: t.ID, Partitions: int32(len(t.Partitions)), Racks: ch.x.topicRacks(t, racks),
		})
	}
	assign := assignor.Uniform
	if ch.assignor() == assignor.RangeName {
		assign = assignor.Range
	}
	targets := make([]Partitions, 0, len(members))
	for _, t := range assign(in) {
		targets = append(targets, targetOf(t))
	}
	return targets
}

// topicRacks is the racks of each partition's replicas, or nil where nobody needs them.
func (x *Index) topicRacks(t *meta.Topic, needed bool) [][]string {
	if !needed || len(x.racks) == 0 {
		return nil
	}
	racks := make([][]string, len(t.Partitions))
	for i := range t.Partitions {
		racks[i] = x.partitionRacks(&t.Partitions[i])
	}
	return racks
}

// byTopic is the set as assignors take it.
func (ps Partitions) byTopic() assignor.Partitions {
	by := make(assignor.Partitions, len(ps))
	for _, t := range ps {
		by[t.Topic] = t.Partitions
	}
	return by
}

// targetOf is what an assignor gave as a set.
func targetOf(by assignor.Partitions) Partitions {
	set := make(Partitions, 0, len(by))
	for _, id := range slices.SortedFunc(maps.Keys(by), compareIDs) {
		if len(by[id]) > 0 {
			set = append(set, record.TopicPartitions{Topic: id, Partitions: by[id]})
		}
	}
	return set
}
