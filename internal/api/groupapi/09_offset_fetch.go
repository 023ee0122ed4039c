package groupapi

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// OffsetFetch: v0 to v10.
//
// **Behaviour**
//
// Says what groups have committed, for the partitions that are named or (v2+, by null) for all. Where nothing is committed the offset
// is -1, without an error, whether or not the partition exists. All groups are asked before the first is waited for. What goes wrong with
// a group is said of each partition below v2 and of the group from then on.
//
// Per group: INVALID_GROUP_ID, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, UNKNOWN_MEMBER_ID and STALE_MEMBER_EPOCH (v9+, if a member says that it
// is one). Per partition: UNKNOWN_TOPIC_ID (v10), UNSTABLE_OFFSET_COMMIT (v7+, if the client wants stable offsets).
//
// In v0, which meant ZooKeeper, a partition without an offset gets UNKNOWN_TOPIC_OR_PARTITION, as it did.
//
// **Differences from Apache Kafka**
//
// Each offset is in a response once: a group that is named again gets INVALID_REQUEST, and a partition that is named again is left out. An epoch
// without a member gets UNKNOWN_MEMBER_ID; Kafka fails with UNKNOWN_SERVER_ERROR.
//
// **Versions**
//
//	v1 offsets of Kafka, v2 an error for the whole, and null for all; v3 throttle first, v5 leader epoch (KIP-320)
//	v6 flexible, v7 stable offsets (KIP-447), v8 many groups (KIP-709), v9 member and epoch (KIP-848), v10 topic ids (KIP-848)

func (f *family) offsetFetch(ctx context.Context, a *api.API, req *api.Request, m *kmsg.OffsetFetchRequest) kmsg.Response {
	image := a.Image()
	wants := fetchedGroups(m)
	calls := make([]Call, len(wants))
	for i := range wants {
		w := &wants[i]
		if w.refused == nil {
			w.in.Caller, w.in.RequireStable = f.caller(req), m.RequireStable
			w.resolve(image, m.Version)
			calls[i] = f.groups.Ask(w.in.Group, w.in)
		}
	}
	resp := kmsg.NewPtrOffsetFetchResponse()
	asked := a.Asked(req)
	for i := range wants {
		r := group.FetchResult{Err: wants[i].refused}
		if calls[i] != nil {
			r = result[group.FetchResult](calls[i].Wait(ctx))
		}
		if m.Version < 8 {
			wants[i].answerOne(&asked, r, resp)
		} else {
			resp.Groups = append(resp.Groups, wants[i].answer(&asked, image, r))
		}
	}
	return resp
}

// fetched is one group of an OffsetFetch.
type fetched struct {
	in      group.Fetch
	unknown []group.FetchTopic // by ids that nobody has
	refused error
}

// fetchedGroups are the groups of a request of any version.
func fetchedGroups(m *kmsg.OffsetFetchRequest) []fetched {
	if m.Version < 8 {
		one := fetched{in: group.Fetch{Group: m.Group, Epoch: -1}}
		if m.Topics != nil || m.Version < 2 { // these know no null
			one.in.Topics = make([]group.FetchTopic, len(m.Topics))
		}
		for i, t := range m.Topics {
			one.in.Topics[i] = group.FetchTopic{Topic: t.Topic, Partitions: t.Partitions}
		}
		one.once()
		return []fetched{one}
	}
	all := make([]fetched, len(m.Groups))
	named := make(map[string]bool, len(m.Groups))
	for i := range m.Groups {
		from := &m.Groups[i]
		all[i].in = group.Fetch{Group: from.Group, Member: from.MemberID, Epoch: from.MemberEpoch}
		if named[from.Group] {
			all[i].refused = api.Refuse(kerr.InvalidRequest, "group %q is named twice", from.Group)
		}
		named[from.Group] = true
		if from.Topics == nil {
			continue
		}
		all[i].in.Topics = make([]group.FetchTopic, len(from.Topics))
		for j, t := range from.Topics {
			all[i].in.Topics[j] = group.FetchTopic{Topic: t.Topic, ID: t.TopicID, Partitions: t.Partitions}
		}
		all[i].once()
	}
	return all
}

// once leaves out what is asked for a second time: each answer may have a text of offset.metadata.max.bytes, and a partition takes four bytes to
// name.
func (w *fetched) once() {
	type one struct {
		topic     string
		id        topic.ID
		partition int32
	}
	seen := make(map[one]bool)
	for i := range w.in.Topics {
		t := &w.in.Topics[i]
		t.Partitions = slices.DeleteFunc(t.Partitions, func(p int32) bool {
			key := one{t.Topic, t.ID, p}
			again := seen[key]
			seen[key] = true
			return again
		})
	}
}

// resolve gives topics that are named by id their names, and takes those out that have none.
func (w *fetched) resolve(image *meta.Image, version int16) {
	if version < 10 || w.in.Topics == nil {
		return
	}
	known := make([]group.FetchTopic, 0, len(w.in.Topics))
	for _, t := range w.in.Topics {
		if found := image.TopicByID(t.ID); found != nil {
			t.Topic = found.Name
			known = append(known, t)
		} else {
			w.unknown = append(w.unknown, t)
		}
	}
	w.in.Topics = known
}

// answerOne fills the response of a version with one group.
func (w *fetched) answerOne(q *api.Asked, r group.FetchResult, resp *kmsg.OffsetFetchResponse) {
	if r.Err != nil {
		if resp.ErrorCode = q.Code(r.Err); q.Version() >= 2 {
			return
		}
		r.Topics = failed(w.in.Topics, r.Err)
	}
	resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(r.Topics))
	for i := range r.Topics {
		from, to := &r.Topics[i], &resp.Topics[i]
		*to = kmsg.NewOffsetFetchResponseTopic()
		to.Topic = from.Topic
		to.Partitions = make([]kmsg.OffsetFetchResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			p := &from.Partitions[j]
			if q.Version() == 0 && p.Err == nil && p.Offset < 0 {
				p.Err = kerr.UnknownTopicOrPartition
			}
			rp := kmsg.NewOffsetFetchResponseTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch = p.Partition, int64(p.Offset), int32(p.LeaderEpoch)
			rp.Metadata, rp.ErrorCode = &p.Metadata, q.Code(p.Err)
			to.Partitions[j] = rp
		}
	}
}

// answer is a group of the response of a version with many.
func (w *fetched) answer(q *api.Asked, image *meta.Image, r group.FetchResult) kmsg.OffsetFetchResponseGroup {
	rg := kmsg.NewOffsetFetchResponseGroup()
	rg.Group = w.in.Group
	if rg.ErrorCode = q.Code(r.Err); r.Err != nil {
		return rg
	}
	topics := slices.Concat(r.Topics, failed(w.unknown, kerr.UnknownTopicID))
	rg.Topics = make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(topics))
	for i := range topics {
		from := &topics[i]
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		if rt.Topic, rt.TopicID = from.Topic, from.ID; q.Version() >= 10 && from.ID == (topic.ID{}) && from.Topic != "" {
			t := image.Topic(from.Topic)
			if t == nil {
				continue // it cannot be named, as in Kafka
			}
			rt.TopicID = t.ID
		}
		rt.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			p := &from.Partitions[j]
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch = p.Partition, int64(p.Offset), int32(p.LeaderEpoch)
			rp.Metadata, rp.ErrorCode = &p.Metadata, q.Code(p.Err)
			rt.Partitions[j] = rp
		}
		rg.Topics = append(rg.Topics, rt)
	}
	return rg
}

// failed is topics with err for each partition.
func failed(topics []group.FetchTopic, err error) []group.FetchedTopic {
	all := make([]group.FetchedTopic, len(topics))
	for i, t := range topics {
		all[i] = group.FetchedTopic{Topic: t.Topic, ID: t.ID, Partitions: make([]group.FetchedPartition, len(t.Partitions))}
		for j, p := range t.Partitions {
			all[i].Partitions[j] = group.FetchedPartition{Partition: p, Offset: -1, LeaderEpoch: batch.NoEpoch, Err: err}
		}
	}
	return all
}
