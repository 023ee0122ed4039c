package ration

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// TestModest: what asks for all, or for large topics, stands among the builders; what a client usually asks for does not.
func TestModest(t *testing.T) {
	t.Parallel()
	partitions := func(name *string, _ topic.ID) int { return len(*name) * 100 }
	metadata := func(names ...string) *kmsg.MetadataRequest {
		m := &kmsg.MetadataRequest{}
		for i := range names {
			m.Topics = append(m.Topics, kmsg.MetadataRequestTopic{Topic: &names[i]})
		}
		return m
	}
	for _, c := range []struct {
		m    kmsg.Request
		want bool
	}{
		{metadata(), false},
		{metadata("a", "bb"), true},
		{metadata("aaaaa", "bbbbb"), false},
		{&kmsg.DescribeConfigsRequest{Resources: make([]kmsg.DescribeConfigsRequestResource, 10)}, true},
		{&kmsg.DescribeConfigsRequest{Resources: make([]kmsg.DescribeConfigsRequestResource, 11)}, false},
		{&kmsg.DescribeLogDirsRequest{}, false},
		{&kmsg.DescribeLogDirsRequest{Topics: make([]kmsg.DescribeLogDirsRequestTopic, 1)}, true},
		{&kmsg.DescribeGroupsRequest{Groups: make([]string, 11)}, false},
		{&kmsg.ConsumerGroupDescribeRequest{Groups: make([]string, 1)}, true},
		{&kmsg.OffsetFetchRequest{}, true},
		{&kmsg.ListGroupsRequest{}, false},
	} {
		if got := Modest(c.m, partitions); got != c.want {
			t.Errorf("%T %+v: modest is %v", c.m, c.m, got)
		}
	}
	for _, c := range []struct {
		version int16
		body    int
		want    int
	}{{4, 1 << 20, 0}, {5, 100, 0}, {5, 1000, 125 * 2048}, {7, 1 << 20, 1000 * 2048}} {
		if got := CreatedReply(kmsg.CreateTopics, c.version, c.body, 1000); got != c.want {
			t.Errorf("CreateTopics v%d of %d bytes: %d, expected %d", c.version, c.body, got, c.want)
		}
	}
}
