package api

import (
	"log/slog"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
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
// REQUEST_TIMED_OUT (see below), POLICY_VIOLATION (cleanup.policy has no delete), INVALID_TOPIC_EXCEPTION (internal topics), KAFKA_STORAGE_ERROR.
//
// An offset below the end of what was acknowledged is below the high watermark as soon as the sync under way returns; the
// answer waits for it, up to the request's timeout.
//
// **Differences from Apache Kafka**
//
// A partition that is named twice is trimmed twice, in order; Kafka keeps the last.
//
// **Versions**
//
//	v0 KIP-107, v2 flexible

// deleteReply waits until the records to be deleted are committed, and deletes them.
type deleteReply struct {
	asked   Asked
	request *kmsg.DeleteRecordsRequest
	audit   *Audit
	settling
}

// deleteRecords is stage one: it finds out which offsets are acknowledged and not committed yet.
func (a *API) deleteRecords(s *stage, req *Request, m *kmsg.DeleteRecordsRequest) (Reply, error) {
	r := &deleteReply{asked: a.Asked(req), request: m, audit: a.Audit(req)}
	r.deadline = s.now.Add(settleMax)
	if m.TimeoutMillis > 0 {
		r.deadline = s.now.Add(time.Duration(m.TimeoutMillis) * time.Millisecond)
	}
	for i := range m.Topics {
		for _, tp := range m.Topics[i].Partitions {
			p, err := a.node.Partition(m.Topics[i].Topic, tp.Partition)
			if err != nil {
				continue
			}
			if end := p.Promised(); tp.Offset == -1 {
				r.add(p, end)
			} else if batch.Offset(tp.Offset) <= end {
				r.add(p, batch.Offset(tp.Offset))
			}
		}
	}
	return r, nil
}

// Poll implements Reply.
func (r *deleteReply) Poll(now time.Time, w *partition.Waiter, out *Out) (bool, time.Time) {
	if !r.settled(w) {
		if now.Before(r.deadline) && !r.asked.api.Draining() {
			return false, r.deadline
		}
		r.expire(kerr.RequestTimedOut)
	}
	r.asked.Append(out, r.respond())
	r.Drop()
	return true, time.Time{}
}

// Held implements Reply.
func (r *deleteReply) Held() int {
	held := r.held()
	for i := range r.request.Topics {
		t := &r.request.Topics[i]
		held += len(t.Topic) + cap(t.Partitions)*int(unsafe.Sizeof(t.Partitions[0]))
	}
	return held
}

// Drop implements Reply.
func (r *deleteReply) Drop() { r.watch.stop() }

// respond deletes the records and makes the response.
func (r *deleteReply) respond() kmsg.Response {
	defer r.audit.Done()
	resp := kmsg.NewPtrDeleteRecordsResponse()
	for i := range r.request.Topics {
		t := &r.request.Topics[i]
		if len(t.Partitions) == 0 {
			continue // as in Kafka
		}
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		for _, tp := range t.Partitions {
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = tp.Partition
			low, err := r.trim(t.Topic, tp.Partition, batch.Offset(tp.Offset))
			if err != nil {
				low = -1
			}
			rp.LowWatermark, rp.ErrorCode = int64(low), r.asked.Code(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// trim deletes a partition's records before an offset and returns the low watermark.
func (r *deleteReply) trim(name string, index int32, before batch.Offset) (batch.Offset, error) {
	p, err := r.asked.api.node.Partition(name, index)
	switch {
	case err != nil:
		return -1, err
	case topic.IsInternal(name):
		return -1, refuse(kerr.InvalidTopicException, "records of internal topic %s are not deleted", name)
	case r.failed[p] != nil:
		return -1, r.failed[p]
	}
	was := p.Offsets().Start
	low, err := p.DeleteRecords(before)
	if err == nil && low > was {
		r.audit.Line("records deleted", slog.String("topic", name), slog.Any("partition", index), slog.Any("old", was), slog.Any("new", low))
	}
	return low, err
}
