package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// manyTopics makes n topics of parts partitions, whose names begin with t and a number of five digits.
func (b *broker) manyTopics(t *testing.T, n, parts int, suffix ...string) (names []string) {
	t.Helper()
	c := b.dial(t)
	for len(names) < n {
		m := kmsg.NewPtrCreateTopicsRequest()
		m.TimeoutMillis = 60_000
		for range min(1000, n-len(names)) {
			rt := kmsg.NewCreateTopicsRequestTopic()
			rt.Topic, rt.NumPartitions, rt.ReplicationFactor = fmt.Sprintf("t%05d", len(names))+strings.Join(suffix, ""), int32(parts), 1
			names = append(names, rt.Topic)
			m.Topics = append(m.Topics, rt)
		}
		if codes := codesOf(c.ask(at(5, m))); codes != "" {
			t.Fatalf("create topics: %s", codes)
		}
	}
	return names
}

// dearReplies are small requests whose replies are large, with 3,000 topics.
func dearReplies(names []string) map[string]kmsg.Request {
	metadata := at(9, kmsg.NewPtrMetadataRequest())
	configs := kmsg.NewPtrDescribeConfigsRequest()
	configs.IncludeDocumentation, configs.IncludeSynonyms = true, true
	for _, name := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		configs.Resources = append(configs.Resources, r)
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.ValidateOnly = true
	for i := range 1000 {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = fmt.Sprint("new", i), 1, 1
		create.Topics = append(create.Topics, rt)
	}
	return map[string]kmsg.Request{
		"CreateTopics that validates": at(5, create),
		"Metadata of all topics":      metadata, "DescribeConfigs of all topics": at(4, configs), "DescribeLogDirs": at(4, kmsg.NewPtrDescribeLogDirsRequest()),
	}
}

// TestUnreadReplies: 1,000 connections ask for large replies, again and again, and take none. What others ask for is answered meanwhile.
func TestUnreadReplies(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"Metadata of all topics", "DescribeConfigs of all topics", "DescribeLogDirs", "CreateTopics that validates"} {
		t.Run(what, func(t *testing.T) {
			g := confine(t, 512<<20)
			b := g.start(t, t.TempDir(), "--log-level", "error")
			names := b.manyTopics(t, 3000, 3)
			req := dearReplies(names)[what]
			c := b.dial(t)
			c.send(frame(req, 1))
			_, body, err := c.reply()
			t.Logf("a request of %d bytes has a reply of %d KiB, %v; the cgroup had %d MiB at most", len(frame(req, 1)), len(body)>>10, err, g.peak(t)>>20)
			many := frame(req, 1)
			for len(many) < 8<<10 { // as many as a socket takes at once
				many = append(many, frame(req, 1)...)
			}
			for range 1000 {
				b.dial(t).send(many)
			}
			c = b.dial(t)
			for i := range 100 { // meanwhile, one that reads is served
				m := kmsg.NewPtrMetadataRequest()
				rt := kmsg.NewMetadataRequestTopic()
				rt.Topic = &names[i]
				m.Topics = append(m.Topics, rt)
				c.ask(at(9, m))
			}
			t.Logf("the cgroup had %d MiB at most", g.peak(t)>>20)
			g.wantAlive(t, b)
		})
	}
}
