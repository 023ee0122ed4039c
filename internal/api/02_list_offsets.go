package api

import (
	"context"

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
// **Differences from Apache Kafka**
//
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

func (a *API) listOffsets(_ context.Context, req *Request, m *kmsg.ListOffsetsRequest) kmsg.Response {
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
				rp = a.listedOffset(req, tp, nothingFound, refuse(kerr.InvalidRequest, "%s-%d is named %d times", t.Topic, tp.Partition, n))
			} else {
				rp = a.listOffset(req, m, t.Topic, tp)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// listOffset answers one partition.
func (a *API) listOffset(req *Request, m *kmsg.ListOffsetsRequest, topic string, tp *kmsg.ListOffsetsRequestTopicPartition) kmsg.ListOffsetsResponseTopicPartition {
	since, known := timestampSince(tp.Timestamp)
	if !known || req.Version < since {
		return a.listedOffset(req, tp, nothingFound, refuse(kerr.UnsupportedVersion, "timestamp %d is not known to v%d", tp.Timestamp, req.Version))
	}
	p, err := a.node.Partition(topic, tp.Partition)
	if err == nil {
		err = p.CheckEpoch(batch.Epoch(tp.CurrentLeaderEpoch))
	}
	if err != nil {
		return a.listedOffset(req, tp, nothingFound, err)
	}
	at, err := findOffset(p, tp.Timestamp, partition.Isolation(m.IsolationLevel))
	rp := a.listedOffset(req, tp, at, err)
	if req.Version == 0 && err == nil {
		rp.OldStyleOffsets = oldStyleOffsets(p, tp, at)
	}
	return rp
}

// listedOffset makes a response of an answer or an error.
func (a *API) listedOffset(req *Request, tp *kmsg.ListOffsetsRequestTopicPartition, at found, err error) kmsg.ListOffsetsResponseTopicPartition {
	rp := kmsg.NewListOffsetsResponseTopicPartition()
	rp.Partition = tp.Partition
	rp.ErrorCode = a.fault(req, err)
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
