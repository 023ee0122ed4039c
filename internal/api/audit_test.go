package api_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/configapi"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// audited is a node and the lines of its log.
type audited struct {
	*adminNode
	log bytes.Buffer
}

func newAudited(t *testing.T) *audited {
	a := &audited{}
	a.adminNode = newAdminNode(t, nil, func(o *api.Options, _ *configapi.Options) {
		o.Log, o.AutoCreateTopics = slog.New(slog.NewTextHandler(&a.log, nil)), true
	})
	return a
}

var auditNoise = regexp.MustCompile(`^time=\S+ level=INFO msg=|audit=true principal=User:ANONYMOUS client_id=test remote=127.0.0.1:40000 | id=\S{22}`)

// lines takes what was logged since the last call, without what is the same in each line.
func (a *audited) lines() []string {
	a.t.Helper()
	text := strings.TrimSpace(a.log.String())
	a.log.Reset()
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	for i, line := range all {
		if !strings.Contains(line, "client_id=") || !strings.Contains(line, "remote=127.0.0.1:40000") {
			a.t.Errorf("no client in %s", line)
		}
		all[i] = auditNoise.ReplaceAllString(line, "")
	}
	return all
}

// wants compares the lines since the last call.
func (a *audited) wants(what string, want ...string) {
	a.t.Helper()
	if got := a.lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		a.t.Errorf("%s: the log has\n%s\nexpected\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAuditTopics checks that each change of a topic has one line, with the client and both values,
// and that nothing else has.
func TestAuditTopics(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = append(create.Topics, newTopic("a", 2, 1, "retention.ms", "5000", "durability", "memory"), newTopic("b b", 1, 1), newTopic("c", 1, 1))
	create.ValidateOnly = true
	ask[*kmsg.CreateTopicsResponse](a.adminNode, 7, create)
	a.wants("validate only")
	create.ValidateOnly = false
	ask[*kmsg.CreateTopicsResponse](a.adminNode, 7, create)
	a.wants("create", `"topic created" topic=a partitions=2 replication_factor=1 configs="durability=memory retention.ms=5000" auto=false`,
		`"topic created" topic=c partitions=1 replication_factor=1 configs="" auto=false`)
	metadata := kmsg.NewPtrMetadataRequest()
	for _, name := range []string{"a", "wanted"} {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		metadata.Topics = append(metadata.Topics, rt)
	}
	metadata.AllowAutoTopicCreation = true
	ask[*kmsg.MetadataResponse](a.adminNode, 12, metadata)
	ask[*kmsg.MetadataResponse](a.adminNode, 12, metadata)
	a.wants("metadata", `"topic created" topic=wanted partitions=1 replication_factor=1 configs="" auto=true`)

	more := kmsg.NewPtrCreatePartitionsRequest()
	for _, name := range []string{"a", "nope"} {
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = name, 5
		more.Topics = append(more.Topics, rt)
	}
	more.ValidateOnly = true
	ask[*kmsg.CreatePartitionsResponse](a.adminNode, 3, more)
	more.ValidateOnly = false
	ask[*kmsg.CreatePartitionsResponse](a.adminNode, 3, more)
	a.wants("partitions", `"partitions created" topic=a old=2 new=5`)

	for range 3 {
		a.produce("a")
	}
	trim := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = "a"
	for i, offset := range []int64{2, -1, 7} {
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = int32(i), offset
		rt.Partitions = append(rt.Partitions, p)
	}
	trim.Topics = append(trim.Topics, rt)
	ask[*kmsg.DeleteRecordsResponse](a.adminNode, 2, trim)
	ask[*kmsg.DeleteRecordsResponse](a.adminNode, 2, trim)
	a.wants("trim", `"records deleted" topic=a partition=0 old=0 new=2`)

	gone := kmsg.NewPtrDeleteTopicsRequest()
	gone.TopicNames = []string{"a", "nope", "c"}
	ask[*kmsg.DeleteTopicsResponse](a.adminNode, 5, gone)
	a.wants("delete", `"topic deleted" topic=a partitions=5`, `"topic deleted" topic=c partitions=1`)
}

// TestAuditSettings checks the lines of settings: one for each that changed, with both values.
func TestAuditSettings(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	a.create("a", 1, "retention.ms", "5000")
	a.lines()
	alter := func(typ kmsg.ConfigResourceType, name string, changes ...string) {
		t.Helper()
		m := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = typ, name
		for i := 0; i+1 < len(changes); i += 2 {
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			if c.Name, c.Value = changes[i], &changes[i+1]; changes[i+1] == "delete" {
				c.Op, c.Value = kmsg.IncrementalAlterConfigOpDelete, nil
			}
			r.Configs = append(r.Configs, c)
		}
		m.Resources = append(m.Resources, r)
		m.ValidateOnly = true
		ask[*kmsg.IncrementalAlterConfigsResponse](a.adminNode, 1, m)
		if got := a.lines(); got != nil {
			t.Errorf("validate only: %s", got)
		}
		m.ValidateOnly = false
		if resp := ask[*kmsg.IncrementalAlterConfigsResponse](a.adminNode, 1, m); resp.Resources[0].ErrorCode != 0 {
			t.Logf("%s: %s", name, *resp.Resources[0].ErrorMessage)
		}
	}
	alter(kmsg.ConfigResourceTypeTopic, "a", "retention.ms", "6000", "max.message.bytes", "1000", "segment.bytes", "delete")
	a.wants("topic", `"setting changed" resource=topic name=a key=max.message.bytes old=(default) new=1000`,
		`"setting changed" resource=topic name=a key=retention.ms old=5000 new=6000`)
	alter(kmsg.ConfigResourceTypeTopic, "a", "retention.ms", "6000", "no.such", "1")
	a.wants("refused")
	alter(kmsg.ConfigResourceTypeBroker, "", "log.retention.ms", "7000")
	a.wants("brokers", `"setting changed" resource=broker name="" key=log.retention.ms old=(default) new=7000`)
	alter(kmsg.ConfigResourceTypeBroker, "1", "log.cleaner.threads", "delete")
	a.wants("nothing to delete")
	alter(kmsg.ConfigResourceType(meta.ResourceGroup), "g", "consumer.session.timeout.ms", "50000")
	a.wants("group", `"setting changed" resource=group name=g key=consumer.session.timeout.ms old=(default) new=50000`)
	alter(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "DEBUG")
	a.wants("logger", `"setting changed" resource=broker-logger name=1 key=root old=INFO new=DEBUG`)

	replace := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, "a"
	c, value := kmsg.NewAlterConfigsRequestResourceConfig(), "1000"
	c.Name, c.Value = "max.message.bytes", &value
	r.Configs = append(r.Configs, c)
	replace.Resources = append(replace.Resources, r)
	ask[*kmsg.AlterConfigsResponse](a.adminNode, 2, replace)
	a.wants("replace", `"setting changed" resource=topic name=a key=retention.ms old=6000 new=(default)`)
}

// TestAuditIsBounded checks that one request cannot fill the log: neither with many changes nor with
// long texts.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	m := kmsg.NewPtrCreateTopicsRequest()
	for i := range 250 {
		m.Topics = append(m.Topics, newTopic(fmt.Sprint("t", i), 1, 1))
	}
	ask[*kmsg.CreateTopicsResponse](a.adminNode, 7, m)
	got := a.lines()
	if len(got) != 101 || got[100] != `"more changes by the same request" count=150` {
		t.Errorf("%d lines, the last is %s", len(got), got[len(got)-1])
	}
	long := kmsg.NewPtrCreateTopicsRequest()
	long.Topics = append(long.Topics, newTopic("long", 1, 1))
	long.SetVersion(7)
	client := kmsg.NewRequestFormatter(kmsg.FormatterClientID("\n\"=é" + strings.Repeat("ü", 15_000)))
	if _, err := a.send(client.AppendRequest(nil, long, 7)[4:]); err != nil {
		t.Fatal(err)
	}
	line := a.log.String()
	if strings.Count(line, "\n") != 1 || len(line) > 2000 || !strings.Contains(line, `client_id="\n\"=éü`) || !strings.Contains(line, `ü..." remote`) {
		t.Errorf("%d bytes: %s", len(line), line)
	}
}
