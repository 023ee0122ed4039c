//go:build linux

package main

import (
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

const topicName = "bench"

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))

// produceFrame is produceFrameAt now.
func produceFrame(partition int32, acks int16, batchBytes, recordBytes int) []byte {
	return produceFrameAt(now(), partition, acks, batchBytes, recordBytes)
}

// produceFrameAt is a whole produce request (version 9) of one batch with that timestamp, made of records of recordBytes
// each, that is about batchBytes long.
func produceFrameAt(at time.Time, partition int32, acks int16, batchBytes, recordBytes int) []byte {
	req := kmsg.NewProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acks, 30_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, recordBatch(at, batchBytes, recordBytes)
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topicName, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return formatter.AppendRequest(nil, &req, 0)
}

// recordBatch builds an uncompressed batch; its values are not compressible by accident, but nobody tries.
func recordBatch(at time.Time, batchBytes, recordBytes int) []byte {
	b := kmsg.NewRecordBatch()
	b.PartitionLeaderEpoch, b.Magic = -1, 2
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1
	b.FirstTimestamp, b.MaxTimestamp = at.UnixMilli(), at.UnixMilli()
	value := make([]byte, recordBytes)
	for i := range value {
		value[i] = byte('a' + i*7%26)
	}
	for n := 0; len(b.Records)+recordBytes+16 <= max(batchBytes-batch.HeaderSize, recordBytes+16); n++ {
		b.Records = appendRecord(b.Records, n, value)
		b.NumRecords = int32(n + 1)
	}
	b.LastOffsetDelta = b.NumRecords - 1
	b.Length = int32(batch.HeaderSize - batch.LogOverhead + len(b.Records))
	out := b.AppendTo(nil)
	view, _, err := batch.Next(out)
	if err != nil {
		panic(err)
	}
	binary.BigEndian.PutUint32(out[17:], view.ComputeCRC())
	return out
}

func appendRecord(dst []byte, delta int, value []byte) []byte {
	body := []byte{0, 0} // attributes, timestamp delta
	body = binary.AppendVarint(body, int64(delta))
	body = binary.AppendVarint(body, -1)
	body = binary.AppendVarint(body, int64(len(value)))
	body = append(body, value...)
	body = append(body, 0) // no headers
	dst = binary.AppendVarint(dst, int64(len(body)))
	return append(dst, body...)
}

// fetchFrame is a whole fetch request (version 11) of one partition from an offset on.
func fetchFrame(partition int32, offset int64, minBytes, maxBytes int32) []byte {
	req := kmsg.NewFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 11, 5_000, minBytes, maxBytes
	req.SessionEpoch = -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, maxBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topicName, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return formatter.AppendRequest(nil, &req, 0)
}
