package api

import (
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// ListOffsets: v0 to v11.
//
// **Behaviour**
//
// Finds offsets by time: the latest (the high watermark, or the last stable offset for read_committed) with the leader's epoch,
// the earliest, the record with the largest timestamp, or the first record whose timestamp is at least the one given.
// Where there is none, offset, timestamp and epoch are -1. Earliest local is the earliest; latest tiered and earliest
// pending upload are -1, since nothing is tiered. A partition that is named twice gets INVALID_REQUEST; a special timestamp
// below the version that brought it, or one that nobody knows, UNSUPPORTED_VERSION. The client's leader epoch is checked (KIP-320).
//
// A record that was acknowledged before the request came is found: the answer waits for the sync under way. If that takes
// longer than the request's timeout, or 5 s, the partition gets OFFSET_NOT_AVAILABLE (below v5: LEADER_NOT_AVAILABLE), and
// KAFKA_STORAGE_ERROR if the sync fails. Earlier offsets do not wait.
//
// **Differences from Apache Kafka**
//
// A batch that cannot be decompressed is passed over by a search: no client gets a record of it (Kafka: UNKNOWN_SERVER_ERROR). The
// largest timestamp is that of a record which a consumer can fetch; Kafka answers none if a batch that compaction emptied has it.
// v0 answers a time with the first record at or after it and the log's start; Kafka listed starts of segments by the age of their files,
// and since 4.0 closes the connection. An unknown isolation level is read_uncommitted; Kafka answers UNKNOWN_SERVER_ERROR.
//
// **Versions**
//
//	v0  a list of at most max_num_offsets offsets
//	v1  one offset and its timestamp (KIP-79), v2 isolation level (KIP-98)
//	v4  leader epochs (KIP-320), v6 flexible
//	v7  max timestamp (KIP-734), v8 earliest local (KIP-405), v9 latest tiered (KIP-1005)
//	v10 timeout (KIP-1075), v11 earliest pending upload (KIP-1023)

// The special timestamps, and the first version of each.
const (
	latestTimestamp             = -1 // v0
	earliestTimestamp           = -2 // v0
	maxTimestamp                = -3 // v7
	earliestLocal               = -4 // v8
	latestTiered                = -5 // v9
	earliestPendingUpload       = -6 // v11
	unknownOffset               = -1
	unknownTimestamp      int64 = -1
)

// timestampSince is the first version that knows ts.
func timestampSince(ts int64) (version int16, known bool) {
	switch ts {
	case latestTimestamp, earliestTimestamp:
		return 0, true
	case maxTimestamp:
		return 7, true
	case earliestLocal:
		return 8, true
	case latestTiered:
		return 9, true
	case earliestPendingUpload:
		return 11, true
	}
	return 0, ts >= 0
}

// found is an offset and what is known of it; -1 where it is not.
type found struct {
	offset    batch.Offset
	timestamp int64
	epoch     batch.Epoch
}

var nothingFound = found{unknownOffset, unknownTimestamp, batch.NoEpoch}

// offsetsReply waits until what was acknowledged can be found, and finds it.
type offsetsReply struct {
	asked   Asked
	request *kmsg.ListOffsetsRequest
	settling
}

// listOffsets is stage one: it finds out which partitions have acknowledged records that are not committed yet.
func (a *API) listOffsets(s *stage, req *Request, m *kmsg.ListOffsetsRequest) (Reply, error) {
	r := &offsetsReply{asked: a.Asked(req), request: m}
	r.deadline = s.now.Add(settleMax)
	if m.TimeoutMillis > 0 {
		r.deadline = s.now.Add(min(settleMax, time.Duration(m.TimeoutMillis)*time.Millisecond))
	}
	for i := range m.Topics {
		for _, tp := range m.Topics[i].Partitions {
			if tp.Timestamp < maxTimestamp || tp.Timestamp == earliestTimestamp {
				continue // the start of a log does not depend on its newest records
			}
			if p, err := a.node.Partition(m.Topics[i].Topic, tp.Partition); err == nil {
				r.add(p, p.Promised())
			}
		}
	}
	return r, nil
}

// Poll implements Reply.
func (r *offsetsReply) Poll(now time.Time, w *partition.Waiter, out *Out) (bool, time.Time) {
	if !r.settled(w) {
		if now.Before(r.deadline) && !r.asked.api.Draining() {
			return false, r.deadline
		}
		r.expire(r.late())
	}
	r.asked.Append(out, r.respond())
	r.Drop()
	return true, time.Time{}
}

// late returns the code for records that are not committed in time, which every client retries (KIP-207).
func (r *offsetsReply) late() *kerr.Error {
	if r.asked.Version() < 5 {
		return kerr.LeaderNotAvailable
	}
	return kerr.OffsetNotAvailable
}

// Held implements Reply.
func (r *offsetsReply) Held() int {
	held := r.held()
	for i := range r.request.Topics {
		t := &r.request.Topics[i]
		held += len(t.Topic) + cap(t.Partitions)*int(unsafe.Sizeof(t.Partitions[0]))
	}
	return held
}

// Drop implements Reply.
func (r *offsetsReply) Drop() { r.watch.stop() }

// respond makes the response.
func (r *offsetsReply) respond() kmsg.Response {
	m := r.request
	resp := kmsg.NewPtrListOffsetsResponse()
	seen := make(map[partKey]int)
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			seen[partKey{name: m.Topics[i].Topic, index: m.Topics[i].Partitions[j].Partition}]++
		}
	}
	for i := range m.Topics {
		t := &m.Topics[i]
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			tp := &t.Partitions[j]
			var rp kmsg.ListOffsetsResponseTopicPartition
			if n := seen[partKey{name: t.Topic, index: tp.Partition}]; n > 1 {
				rp = r.listed(tp, nothingFound, refuse(kerr.InvalidRequest, "%s-%d is named %d times", t.Topic, tp.Partition, n))
			} else {
				rp = r.list(t.Topic, tp)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// list answers one partition.
func (r *offsetsReply) list(topic string, tp *kmsg.ListOffsetsRequestTopicPartition) kmsg.ListOffsetsResponseTopicPartition {
	version := r.asked.Version()
	since, known := timestampSince(tp.Timestamp)
	if !known || version < since {
		return r.listed(tp, nothingFound, refuse(kerr.UnsupportedVersion, "timestamp %d is not known to v%d", tp.Timestamp, version))
	}
	p, err := r.asked.api.node.Partition(topic, tp.Partition)
	if err == nil {
		err = p.CheckEpoch(batch.Epoch(tp.CurrentLeaderEpoch))
	}
	if err == nil {
		err = r.failed[p]
	}
	if err != nil {
		return r.listed(tp, nothingFound, err)
	}
	at, err := findOffset(p, tp.Timestamp, partition.Isolation(r.request.IsolationLevel))
	rp := r.listed(tp, at, err)
	if version == 0 && err == nil {
		rp.OldStyleOffsets = oldStyleOffsets(p, tp, at)
	}
	return rp
}

// listed makes a response of an answer or an error.
func (r *offsetsReply) listed(tp *kmsg.ListOffsetsRequestTopicPartition, at found, err error) kmsg.ListOffsetsResponseTopicPartition {
	rp := kmsg.NewListOffsetsResponseTopicPartition()
	rp.Partition = tp.Partition
	rp.ErrorCode = r.asked.Code(err)
	if err != nil {
		at = nothingFound
	}
	rp.Offset, rp.Timestamp, rp.LeaderEpoch = int64(at.offset), at.timestamp, int32(at.epoch)
	return rp
}

// findOffset finds what ts stands for.
func findOffset(p *partition.Partition, ts int64, iso partition.Isolation) (found, error) {
	marks := p.Offsets()
	switch ts {
	case latestTimestamp:
		end := marks.HighWatermark
		if iso == partition.ReadCommitted {
			end = marks.LastStable
		}
		return found{end, unknownTimestamp, p.LeaderEpoch()}, nil
	case earliestTimestamp, earliestLocal:
		return found{marks.Start, unknownTimestamp, p.EpochOf(marks.Start)}, nil
	case latestTiered, earliestPendingUpload:
		return nothingFound, nil
	case maxTimestamp:
		at, ok, err := p.MaxTimestamp(iso)
		if err != nil || !ok {
			return nothingFound, err
		}
		return found{at.Offset, at.Timestamp, at.Epoch}, nil
	}
	at, ok, err := p.FindTimestamp(ts, iso)
	if err != nil || !ok {
		return nothingFound, err
	}
	return found{at.Offset, at.Timestamp, at.Epoch}, nil
}

// oldStyleOffsets are the offsets of v0, largest first.
func oldStyleOffsets(p *partition.Partition, tp *kmsg.ListOffsetsRequestTopicPartition, at found) []int64 {
	offsets := []int64{}
	if tp.MaxNumOffsets < 1 {
		return offsets
	}
	marks := p.Offsets()
	if at.offset == unknownOffset { // all records are older
		at.offset = marks.HighWatermark
	}
	offsets = append(offsets, int64(at.offset))
	if tp.MaxNumOffsets > 1 && at.offset > marks.Start {
		offsets = append(offsets, int64(marks.Start))
	}
	return offsets
}
