package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// DescribeTopicPartitions: v0.
//
// **Behaviour**
//
// Describes topics in order of name, at most as many partitions as the client and max.request.partition.size.limit allow, and where to go
// on: a cursor names the topic and the first partition that were left out. No topics ask for all. From a cursor on, topics
// whose names are below it are left out, and its topic begins at its partition; if topics are named, its topic must be among them.
//
// Per topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, and INVALID_REQUEST for all that are named if the cursor is wrong.
// Partitions without a leader have LEADER_NOT_AVAILABLE, as in Metadata.
//
// **Differences from Apache Kafka**
//
// An empty name gets INVALID_TOPIC_EXCEPTION; Kafka fails the whole request with UNKNOWN_SERVER_ERROR.
//
// **Versions**
//
//	v0 KIP-966

// describedPartitionsMax is Kafka's default of max.request.partition.size.limit.
const describedPartitionsMax = 2000

func (a *API) describeTopicPartitions(_ context.Context, req *Request, m *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	if err := refuseCursor(m); err != nil {
		for _, t := range m.Topics {
			rt := describedTopic(t.Topic)
			rt.ErrorCode, rt.AuthorizedOperations = a.fault(req, err), noOperations
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	}
	image := a.node.Image()
	room := a.describedRoom(m.ResponsePartitionLimit)
	for _, name := range namesFrom(image, m) {
		if room == 0 {
			resp.NextCursor = nextCursor(name, 0)
			break
		}
		rt := describedTopic(name)
		t := image.Topic(name)
		if t == nil {
			rt.ErrorCode = code(missing(name))
			resp.Topics = append(resp.Topics, rt)
			continue
		}
		first := 0
		if m.Cursor != nil && m.Cursor.Topic == name {
			first = min(int(m.Cursor.Partition), len(t.Partitions))
		}
		end := min(first+room, len(t.Partitions))
		rt.TopicID, rt.IsInternal = t.ID, t.Internal
		for i := first; i < end; i++ {
			rt.Partitions = append(rt.Partitions, a.describedPartition(image, t, i))
		}
		resp.Topics = append(resp.Topics, rt)
		if end < len(t.Partitions) {
			resp.NextCursor = nextCursor(name, int32(end))
			break
		}
		room -= end - first
	}
	return resp
}

// describedRoom is how many partitions one response describes.
func (a *API) describedRoom(asked int32) int {
	most := a.opts.DescribedPartitionsMax
	if most <= 0 {
		most = describedPartitionsMax
	}
	return max(1, min(most, int(asked)))
}

// refuseCursor says what is wrong with a request's cursor.
func refuseCursor(m *kmsg.DescribeTopicPartitionsRequest) error {
	if m.Cursor == nil {
		return nil
	}
	named := func(t kmsg.DescribeTopicPartitionsRequestTopic) bool { return t.Topic == m.Cursor.Topic }
	if len(m.Topics) > 0 && !slices.ContainsFunc(m.Topics, named) {
		return refuse(kerr.InvalidRequest, "topic %q of the cursor is not among the topics", m.Cursor.Topic)
	}
	if m.Cursor.Partition < 0 {
		return refuse(kerr.InvalidRequest, "partition of the cursor is %d", m.Cursor.Partition)
	}
	return nil
}

// namesFrom are the names that the request asks for, from its cursor on, each once and in order.
func namesFrom(image *meta.Image, m *kmsg.DescribeTopicPartitionsRequest) []string {
	var names []string
	for _, t := range m.Topics {
		names = append(names, t.Topic)
	}
	if len(m.Topics) == 0 {
		for _, t := range image.Topics {
			names = append(names, t.Name)
		}
	}
	if m.Cursor != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return name < m.Cursor.Topic })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missing says why there is no topic of that name.
func missing(name string) error {
	if err := topic.Check(name); err != nil {
		return err
	}
	return kerr.UnknownTopicOrPartition
}

func nextCursor(name string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = name, partition
	return &c
}

func describedTopic(name string) kmsg.DescribeTopicPartitionsResponseTopic {
	rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
	rt.Topic, rt.AuthorizedOperations = &name, topicOperations
	return rt
}

func (a *API) describedPartition(image *meta.Image, t *meta.Topic, index int) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	p, gone := a.placed(image, t, index)
	rp := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	rp.Partition = int32(index)
	rp.LeaderID, rp.LeaderEpoch = p.Leader, int32(p.LeaderEpoch)
	rp.Replicas, rp.ISR, rp.OfflineReplicas = p.Replicas, p.ISR, gone
	// Null would say that nobody knows.
	rp.EligibleLeaderReplicas = append([]int32{}, p.ELR...)
	rp.LastKnownELR = append([]int32{}, p.LastKnownELR...)
	if p.Leader == meta.NoLeader {
		rp.ErrorCode = code(kerr.LeaderNotAvailable)
	}
	return rp
}
