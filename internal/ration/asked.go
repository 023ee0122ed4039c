package ration

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Grows reports whether replies to requests of key are not bounded by the requests: a few bytes ask for all topics, or all members of a group.
// All of these keys only read (Metadata may create topics, which a second time does nothing), so that they can be answered twice.
func Grows(key kmsg.Key) bool {
	switch key { //nolint:exhaustive // the replies to all other keys are bounded by their requests
	case kmsg.Metadata, kmsg.DescribeConfigs, kmsg.DescribeLogDirs, kmsg.ListConfigResources, kmsg.ListGroups, kmsg.DescribeGroups,
		kmsg.ConsumerGroupDescribe, kmsg.OffsetFetch:
		return true
	}
	return false
}

// Requests that ask for no more than this are answered without a place among the builders, where a thousand clients may stand that ask for all.
const (
	// ModestBody is the largest body of such a request, in bytes: a decoded body is some times as large.
	ModestBody       = 4 << 10
	modestPartitions = 1000
	modestNames      = 10
)

// Modest reports whether m asks for so little that its response is small while it is built. partitions counts those of a topic
// that is named, or has the id.
func Modest(m kmsg.Request, partitions func(name *string, id topic.ID) int) bool {
	switch m := m.(type) {
	case *kmsg.MetadataRequest:
		n := len(m.Topics)
		for i := range m.Topics {
			n += partitions(m.Topics[i].Topic, m.Topics[i].TopicID)
		}
		return len(m.Topics) > 0 && n <= modestPartitions
	case *kmsg.DescribeConfigsRequest:
		return len(m.Resources) <= modestNames
	case *kmsg.DescribeLogDirsRequest:
		return m.Topics != nil && len(m.Topics) <= modestNames
	case *kmsg.DescribeGroupsRequest:
		return len(m.Groups) <= modestNames
	case *kmsg.ConsumerGroupDescribeRequest:
		return len(m.Groups) <= modestNames
	case *kmsg.OffsetFetchRequest:
		return len(m.Groups) <= modestNames
	}
	return false
}

// CreatedReply guesses how many bytes the reply to a CreateTopics has whose body has that many: from v5 on it has the settings of each topic, of
// at most topicsMax. It is 0 for a small reply, and for other keys.
func CreatedReply(key kmsg.Key, version int16, body, topicsMax int) int {
	const topic, settings = 8, 2 << 10
	if size := min(body/topic, topicsMax) * settings; key == kmsg.CreateTopics && version >= 5 && size > FreeReply {
		return size
	}
	return 0
}
