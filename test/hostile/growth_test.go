package hostile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestManyPartitions: requests of 50 bytes that create 20,000 partitions each are refused before the memory of a cgroup of 256 MiB is full. Groups
// work all the same, and topics can be deleted.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	g := confine(t, 256<<20)
	b := g.start(t, t.TempDir(), "--log-level", "error")
	c := b.dial(t)
	create := func(name string) *kmsg.CreateTopicsResponse {
		m := kmsg.NewPtrCreateTopicsRequest()
		m.TimeoutMillis = 60_000
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 19_999, 1
		m.Topics = append(m.Topics, rt)
		return c.ask(at(5, m)).(*kmsg.CreateTopicsResponse)
	}
	made, before := 0, b.rss(t)
	for i := range 20 {
		rt := create(fmt.Sprint("big", i)).Topics[0]
		if rt.ErrorCode == 0 {
			made++
			continue
		}
		if err := kerr.ErrorForCode(rt.ErrorCode); !errors.Is(err, kerr.PolicyViolation) || !strings.Contains(*rt.ErrorMessage, "which memory is for") {
			t.Errorf("topic %d: %v, %v", i, err, rt.ErrorMessage)
		}
	}
	if made == 0 || made > 5 {
		t.Errorf("%d topics of 19,999 partitions in 256 MiB", made)
	}
	t.Logf("%d topics of 19,999 partitions take %d bytes each; the cgroup had %d MiB at most", made, (b.rss(t)-before)/int64(max(made, 1)*19_999), g.peak(t)>>20)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	if codes := codesOf(c.ask(find)); codes != "" {
		t.Errorf("no group can be used: %s", codes)
	}
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TimeoutMillis, remove.TopicNames = 60_000, []string{"big0"}
	if codes := codesOf(c.ask(at(3, remove))); codes != "" {
		t.Errorf("delete a topic: %s", codes)
	}
	if rt := create("again").Topics[0]; rt.ErrorCode != 0 {
		t.Errorf("after a topic was deleted: %v", kerr.ErrorForCode(rt.ErrorCode))
	}
	g.wantAlive(t, b)
}

// TestFilterWords: ListGroups with 100,000 words, each of which 2,000 groups were compared with.
func TestFilterWords(t *testing.T) {
	t.Parallel()
	b := startGroups(t, "--log-level", "error")
	c := b.dial(t)
	for i := range 2000 {
		m := kmsg.NewPtrOffsetCommitRequest()
		m.Group, m.Generation = fmt.Sprint("g", i), -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = "t"
		rt.Partitions = append(rt.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
		m.Topics = append(m.Topics, rt)
		if codes := codesOf(c.ask(at(7, m))); codes != "" {
			t.Fatal(codes)
		}
	}
	m := kmsg.NewPtrListGroupsRequest()
	for i := range 50_000 {
		m.StatesFilter = append(m.StatesFilter, fmt.Sprintf("word-of-twenty-%06d", i))
		m.TypesFilter = append(m.TypesFilter, fmt.Sprintf("word-of-twenty-%06d", i))
	}
	m.StatesFilter = append(m.StatesFilter, " eMPTY")
	m.TypesFilter = append(m.TypesFilter, "Classic")
	began := time.Now()
	resp := c.ask(at(5, m)).(*kmsg.ListGroupsResponse)
	if len(resp.Groups) != 2000 || resp.ErrorCode != 0 {
		t.Errorf("%d groups, %v", len(resp.Groups), kerr.ErrorForCode(resp.ErrorCode))
	}
	t.Logf("answered after %v", time.Since(began))
}

// TestQuotedNames: an error that quotes a name of 32 KiB fits the fields of every version.
func TestQuotedNames(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	c := b.dial(t)
	for _, name := range []string{strings.Repeat("x", 32_767), strings.Repeat("\x01", 32_767), strings.Repeat("ü", 16_000)} {
		alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
		describe := kmsg.NewPtrDescribeConfigsRequest()
		create := kmsg.NewPtrCreateTopicsRequest()
		for _, typ := range []kmsg.ConfigResourceType{2, 4, 8, 16, 99} {
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = typ, name
			cc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			cc.Name, cc.Value = name, &name
			r.Configs = append(r.Configs, cc)
			alter.Resources = append(alter.Resources, r)
			d := kmsg.NewDescribeConfigsRequestResource()
			d.ResourceType, d.ResourceName = typ, name
			describe.Resources = append(describe.Resources, d)
		}
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 1, 1
		create.Topics = append(create.Topics, rt)
		for _, m := range []kmsg.Request{at(0, alter), at(0, describe), at(2, create)} {
			if codes := codesOf(c.ask(m)); codes == "" { // ask decodes the response
				t.Errorf("%T takes a name of %d bytes", m, len(name))
			}
		}
	}
	b.serves(t)
}

// TestLongSoftware: a thousand connections whose clients call themselves by names of 32 KiB.
func TestLongSoftware(t *testing.T) {
	t.Parallel()
	lean.Store(t.Name(), "GOGC=10")
	b := start(t, t.TempDir())
	b.serves(t)
	before := b.rss(t)
	m := kmsg.NewPtrApiVersionsRequest()
	m.ClientSoftwareName, m.ClientSoftwareVersion = strings.Repeat("n", 32_000), strings.Repeat("1", 32_000)
	m.SetVersion(3)
	for range 1000 {
		c := b.dial(t)
		c.send(frame(m, 1))
		if _, _, err := c.reply(); err != nil {
			t.Fatal(err)
		}
	}
	if grown := b.settled(t, before, 40<<20); grown > 40<<20 {
		t.Errorf("1,000 connections cost %d KiB each", grown>>10/1000)
	}
}
