package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// DeleteRecords: v0 to v2.
//
// **Behaviour**
//
// Raises the start of partitions to an offset (-1: the high watermark), below which nothing is read any more, and says where it is
// then: the low watermark. A start that is higher already stays. Segments that end below it are deleted.
//
// Per partition: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE (above the high watermark, or below -1),
// POLICY_VIOLATION (cleanup.policy has no delete), INVALID_TOPIC_EXCEPTION (internal topics), KAFKA_STORAGE_ERROR.
//
// **Differences from Apache Kafka**
//
// A partition that is named twice is trimmed twice, in order; Kafka keeps the last.
//
// **Versions**
//
//	v0 KIP-107, v2 flexible

func (a *API) deleteRecords(_ context.Context, req *Request, m *kmsg.DeleteRecordsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteRecordsResponse()
	for i := range m.Topics {
		t := &m.Topics[i]
		if len(t.Partitions) == 0 {
			continue // as in Kafka
		}
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		for _, tp := range t.Partitions {
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = tp.Partition
			low, err := a.trim(t.Topic, tp.Partition, batch.Offset(tp.Offset))
			if err != nil {
				low = -1
			}
			rp.LowWatermark, rp.ErrorCode = int64(low), a.fault(req, err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// trim deletes a partition's records before an offset and returns the low watermark.
func (a *API) trim(name string, index int32, before batch.Offset) (batch.Offset, error) {
	p, err := a.node.Partition(name, index)
	if err != nil {
		return -1, err
	}
	if topic.IsInternal(name) {
		return -1, refuse(kerr.InvalidTopicException, "records of internal topic %s are not deleted", name)
	}
	return p.DeleteRecords(before)
}
