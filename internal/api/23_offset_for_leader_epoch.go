package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// OffsetForLeaderEpoch: v0 to v4.
//
// **Behaviour**
//
// Says where a leader epoch ends in the leader's log: the largest epoch that is not above the one asked for, and the offset after its
// last record. Consumers and followers that come from another leader find with it where their log and this one part. An epoch
// that the leader cannot know (negative, or newer than its own) gets -1 and -1, without an error. The caller's own view of the
// leader's epoch is checked (v2+): FENCED_LEADER_EPOCH if it is old, UNKNOWN_LEADER_EPOCH if it is new. Only leaders answer,
// whichever replica asks; the replica id changes nothing.
//
// Per partition: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, KAFKA_STORAGE_ERROR.
//
// **Differences from Apache Kafka**
//
// v0 and v1 are served; Kafka 4 begins at v2.
//
// **Versions**
//
//	v0 KIP-101, v1 the epoch in the response (KIP-279)
//	v2 the caller's leader epoch (KIP-320), v3 replica id (KIP-392), v4 flexible

func (a *API) offsetForLeaderEpoch(_ context.Context, req *Request, m *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range m.Topics {
		t := &m.Topics[i]
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			tp := &t.Partitions[j]
			epoch, end, err := a.epochEnd(t.Topic, tp)
			if err != nil {
				epoch, end = batch.NoEpoch, -1
			}
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.ErrorCode = tp.Partition, a.fault(req, err)
			rp.LeaderEpoch, rp.EndOffset = int32(epoch), int64(end)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// epochEnd answers one partition.
func (a *API) epochEnd(name string, tp *kmsg.OffsetForLeaderEpochRequestTopicPartition) (batch.Epoch, batch.Offset, error) {
	p, err := a.node.Partition(name, tp.Partition)
	if err != nil {
		return batch.NoEpoch, -1, err
	}
	if err := p.CheckEpoch(batch.Epoch(tp.CurrentLeaderEpoch)); err != nil {
		return batch.NoEpoch, -1, err
	}
	if tp.LeaderEpoch < 0 {
		return batch.NoEpoch, -1, nil
	}
	epoch, end := p.EpochEnd(batch.Epoch(tp.LeaderEpoch))
	return epoch, end, nil
}
