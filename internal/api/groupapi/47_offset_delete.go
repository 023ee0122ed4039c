package groupapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// OffsetDelete: v0.
//
// **Behaviour**
//
// Deletes committed offsets of topics that no member of the group subscribes to.
//
// For the whole: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (of another protocol type than consumers'), COORDINATOR_LOAD_IN_PROGRESS,
// NOT_COORDINATOR. Per partition: UNKNOWN_TOPIC_OR_PARTITION (the topic does not exist), GROUP_SUBSCRIBED_TO_TOPIC.
//
// **Versions**
//
//	v0 KIP-496

func (f *family) offsetDelete(ctx context.Context, a *api.API, req *api.Request, m *kmsg.OffsetDeleteRequest) kmsg.Response {
	image := a.Image()
	in := group.DeleteOffsets{Caller: f.caller(req), Group: m.Group}
	var unknown []group.FetchTopic
	for i := range m.Topics {
		from := &m.Topics[i]
		t := group.FetchTopic{Topic: from.Topic, Partitions: make([]int32, len(from.Partitions))}
		for j := range from.Partitions {
			t.Partitions[j] = from.Partitions[j].Partition
		}
		if found := image.Topic(t.Topic); found != nil {
			t.ID = found.ID
			in.Topics = append(in.Topics, t)
		} else {
			unknown = append(unknown, t)
		}
	}
	r := result[group.DeleteOffsetsResult](f.groups.Ask(m.Group, in).Wait(ctx))
	resp := kmsg.NewPtrOffsetDeleteResponse()
	asked := a.Asked(req)
	if resp.ErrorCode = asked.Code(r.Err); r.Err != nil {
		return resp
	}
	for _, t := range unknown {
		gone := group.DeletedTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			gone.Partitions = append(gone.Partitions, group.DeletedPartition{Partition: p, Err: kerr.UnknownTopicOrPartition})
		}
		r.Topics = append(r.Topics, gone)
	}
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(r.Topics))
	for i := range r.Topics {
		from, to := &r.Topics[i], &resp.Topics[i]
		*to = kmsg.NewOffsetDeleteResponseTopic()
		to.Topic = from.Topic
		for _, p := range from.Partitions {
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, asked.Code(p.Err)
			to.Partitions = append(to.Partitions, rp)
		}
	}
	return resp
}
