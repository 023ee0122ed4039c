package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/broker"
)

// DescribeLogDirs: v0 to v5.
//
// **Behaviour**
//
// Lists this broker's log directories by their absolute paths, with the size of each partition, and from v4 on the size of the volume and
// what is free on it. Null topics ask for all; what is named and not here is left out. A directory that is offline has
// KAFKA_STORAGE_ERROR and no partitions. Every partition is the current one of its name, led here, so its lag is 0 and it is no future one.
//
// **Differences from Apache Kafka**
//
// A broker has one log directory. It is never cordoned.
//
// **Versions**
//
//	v0 KIP-113, v2 flexible, v3 an error for the whole
//	v4 total and usable bytes (KIP-827), v5 cordoned directories (KIP-1066)

func (a *API) describeLogDirs(_ context.Context, req *Request, m *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	dirs := a.nodes.LogDirs(wanted(m))
	for i := range dirs {
		d := &dirs[i]
		rd := kmsg.NewDescribeLogDirsResponseDir()
		rd.Dir = d.Path
		rd.TotalBytes, rd.UsableBytes = d.Total, d.Free
		if d.Err != nil {
			rd.ErrorCode = a.fault(req, d.Err)
			rd.TotalBytes, rd.UsableBytes = -1, -1
		} else {
			rd.Topics = logDirTopics(d.Partitions)
		}
		resp.Dirs = append(resp.Dirs, rd)
	}
	return resp
}

// wanted says which partitions a request asks for; nil: all.
func wanted(m *kmsg.DescribeLogDirsRequest) func(topic string, index int32) bool {
	if m.Topics == nil {
		return nil
	}
	asked := make(map[partKey]bool)
	for _, t := range m.Topics {
		for _, index := range t.Partitions {
			asked[partKey{name: t.Topic, index: index}] = true
		}
	}
	return func(topic string, index int32) bool { return asked[partKey{name: topic, index: index}] }
}

// logDirTopics groups partitions, which are ordered by topic.
func logDirTopics(partitions []broker.LogDirPartition) (topics []kmsg.DescribeLogDirsResponseDirTopic) {
	for _, p := range partitions {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = p.Topic
			topics = append(topics, t)
		}
		rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		rp.Partition, rp.Size = p.Index, p.Size
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, rp)
	}
	return topics
}
