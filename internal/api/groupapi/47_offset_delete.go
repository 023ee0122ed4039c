package groupapi

import (
	"context"
	"log/slog"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// OffsetDelete: v0.
//
// **Behaviour**
//
// Deletes committed offsets of topics that no member of the group subscribes to. A group that loses its last offset stays, Empty, until
// offsets.retention.check.interval.ms is over next (GroupCoordinatorShard.cleanupGroupMetadata).
//
// For the whole: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (of another protocol type than consumers'), COORDINATOR_LOAD_IN_PROGRESS,
// NOT_COORDINATOR. Per partition: UNKNOWN_TOPIC_OR_PARTITION (it does not exist), GROUP_SUBSCRIBED_TO_TOPIC.
//
// **Differences from Apache Kafka**
//
// While a classic group rebalances, what those subscribe to who come and go counts at once; in Kafka, when the rebalance is over.
//
// **Versions**
//
//	v0 KIP-496

func (f *family) offsetDelete(ctx context.Context, a *api.API, req *api.Request, m *kmsg.OffsetDeleteRequest) kmsg.Response {
	m.Topics = slices.DeleteFunc(m.Topics, func(t kmsg.OffsetDeleteRequestTopic) bool { return len(t.Partitions) == 0 })
	image := a.Image()
	in := group.DeleteOffsets{Caller: f.caller(req), Group: m.Group}
	for i := range m.Topics {
		if t := existing(image, &m.Topics[i]); len(t.Partitions) > 0 {
			in.Topics = append(in.Topics, t)
		}
	}
	r := result[group.DeleteOffsetsResult](f.groups.Ask(m.Group, in).Wait(ctx))
	resp := kmsg.NewPtrOffsetDeleteResponse()
	asked := a.Asked(req)
	if resp.ErrorCode = asked.Code(r.Err); r.Err != nil {
		return resp
	}
	type place struct {
		topic     string
		partition int32
	}
	audit := a.Audit(req)
	defer audit.Done()
	deleted := make(map[place]error)
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			at := place{t.Topic, p.Partition}
			if _, again := deleted[at]; !again && p.Err == nil && p.Old >= 0 {
				audit.Line("committed offset deleted", slog.String("group", api.AuditText(m.Group)), slog.String("topic", t.Topic),
					slog.Any("partition", p.Partition), slog.Any("old", p.Old))
			}
			deleted[at] = p.Err
		}
	}
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(m.Topics))
	for i := range m.Topics {
		from, to := &m.Topics[i], &resp.Topics[i]
		*to = kmsg.NewOffsetDeleteResponseTopic()
		to.Topic = from.Topic
		for _, p := range from.Partitions {
			err, there := deleted[place{from.Topic, p.Partition}]
			if !there {
				err = kerr.UnknownTopicOrPartition
			}
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, asked.Code(err)
			to.Partitions = append(to.Partitions, rp)
		}
	}
	return resp
}

// existing is the partitions that from names and that there are.
func existing(image *meta.Image, from *kmsg.OffsetDeleteRequestTopic) group.FetchTopic {
	t := image.Topic(from.Topic)
	if t == nil {
		return group.FetchTopic{}
	}
	there := group.FetchTopic{Topic: t.Name, ID: t.ID}
	for i := range from.Partitions {
		if p := from.Partitions[i].Partition; p >= 0 && int(p) < len(t.Partitions) {
			there.Partitions = append(there.Partitions, p)
		}
	}
	return there
}
