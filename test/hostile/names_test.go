package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// badNames are no topic names.
func badNames() []string {
	return []string{
		"", ".", "..", "../x", "../../x", "/etc", "/", "a/b", "a/../b", `a\b`, "a\x00b", "\x00", "a b", "a\nb", "a:b", "a%2fb", "-\xff\xfe", "ünïcode", "日本",
		"a*", "$(id)", strings.Repeat("a", 250), strings.Repeat("a", 32000), strings.Repeat("../", 80), "con\u202egnp.exe",
	}
}

// TestBadNames puts each name into every request that has one. No request creates anything, and each answers with an error of Kafka's.
func TestBadNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	b := start(t, dir)
	b.create(t, "good", 1)
	before := tree(t, filepath.Dir(dir))
	c := b.dial(t)
	for _, name := range badNames() {
		for request, got := range askAll(c, name) {
			want := []int16{kerr.InvalidTopicException.Code, kerr.UnknownTopicOrPartition.Code, kerr.InvalidRequest.Code}
			if !slices.Contains(want, got) {
				t.Errorf("%s of %.40q: error %d, want one of %d", request, name, got, want)
			}
		}
		b.alive(t)
	}
	if after := tree(t, filepath.Dir(dir)); !slices.Equal(before, after) {
		t.Errorf("the names made or removed files: before %q, after %q", before, after)
	}
	b.serves(t)
}

// askAll sends every request that has a topic's name and returns the error codes for it.
func askAll(c conn, name string) map[string]int16 {
	got := map[string]int16{}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(7)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	create.Topics = []kmsg.CreateTopicsRequestTopic{topic}
	got["CreateTopics"] = c.ask(create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode

	meta := kmsg.NewPtrMetadataRequest()
	meta.SetVersion(9)
	meta.AllowAutoTopicCreation = true
	meta.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	got["Metadata"] = c.ask(meta).(*kmsg.MetadataResponse).Topics[0].ErrorCode

	got["Produce"] = c.ask(produceOf(name, 0, simpleBatch("v"))).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
	fetch := c.ask(fetchOf(name, 0, 0)).(*kmsg.FetchResponse)
	got["Fetch"] = fetch.Topics[0].Partitions[0].ErrorCode

	offsets := kmsg.NewPtrListOffsetsRequest()
	offsets.SetVersion(7)
	offsets.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{CurrentLeaderEpoch: -1, Timestamp: -1}}}}
	got["ListOffsets"] = c.ask(offsets).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode

	epochs := kmsg.NewPtrOffsetForLeaderEpochRequest()
	epochs.SetVersion(4)
	epochs.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: name, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{CurrentLeaderEpoch: -1}}}}
	got["OffsetForLeaderEpoch"] = c.ask(epochs).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0].ErrorCode

	records := kmsg.NewPtrDeleteRecordsRequest()
	records.SetVersion(2)
	records.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: -1}}}}
	got["DeleteRecords"] = c.ask(records).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode

	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.SetVersion(5)
	remove.TopicNames = []string{name}
	got["DeleteTopics"] = c.ask(remove).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode

	parts := kmsg.NewPtrCreatePartitionsRequest()
	parts.SetVersion(3)
	parts.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name, Count: 3}}
	got["CreatePartitions"] = c.ask(parts).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode

	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.SetVersion(4)
	describe.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name}}
	got["DescribeConfigs"] = c.ask(describe).(*kmsg.DescribeConfigsResponse).Resources[0].ErrorCode

	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.SetVersion(1)
	value := "1000"
	alter.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &value}},
	}}
	got["IncrementalAlterConfigs"] = c.ask(alter).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode

	topics := kmsg.NewPtrDescribeTopicPartitionsRequest()
	topics.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: name}}
	topics.ResponsePartitionLimit = 10
	got["DescribeTopicPartitions"] = c.ask(topics).(*kmsg.DescribeTopicPartitionsResponse).Topics[0].ErrorCode
	return got
}

// tree lists the names of directories below dir, and the files at its top.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && (d.IsDir() || filepath.Dir(path) == dir) {
			names = append(names, path)
		}
		return nil // what vanishes meanwhile is not ours
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestImpossibleConfigs: each is refused with INVALID_CONFIG, by CreateTopics and by both alterations, and changes nothing.
func TestImpossibleConfigs(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.create(t, "kept", 1, "retention.ms", "5000")
	c := b.dial(t)
	for _, bad := range [][2]string{
		{"retention.ms", "-2"},
		{"retention.ms", "soon"},
		{"retention.ms", ""},
		{"retention.ms", "99999999999999999999"},
		{"segment.bytes", "0"},
		{"segment.bytes", "13"},
		{"segment.bytes", "2147483648"},
		{"segment.ms", "0"},
		{"max.message.bytes", "-1"},
		{"cleanup.policy", "burn"},
		{"cleanup.policy", "delete,burn"},
		{"compression.type", "rar"},
		{"min.insync.replicas", "0"},
		{"message.timestamp.type", "Never"},
		{"durability", "hope"},
		{"index.interval.bytes", "-1"},
		{"flush.messages", "0"},
		{"no.such.config", "1"},
		{"retention.ms\x00", "1"},
		{"min.cleanable.dirty.ratio", "1.5"},
		{"min.cleanable.dirty.ratio", "NaN"},
		{"preallocate", "maybe"},
		{strings.Repeat("a", 20000), "1"},
		{"retention.ms", strings.Repeat("9", 30000)},
	} {
		name, value := bad[0], bad[1]
		create := kmsg.NewPtrCreateTopicsRequest()
		create.SetVersion(7)
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "new", 1, 1
		topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: name, Value: &value}}
		create.Topics = []kmsg.CreateTopicsRequestTopic{topic}
		one := kmsg.NewPtrIncrementalAlterConfigsRequest()
		one.SetVersion(1)
		one.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "kept",
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: name, Value: &value}},
		}}
		all := kmsg.NewPtrAlterConfigsRequest()
		all.SetVersion(2)
		all.Resources = []kmsg.AlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "kept",
			Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: name, Value: &value}},
		}}
		for request, got := range map[string]int16{
			"CreateTopics":            c.ask(create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode,
			"IncrementalAlterConfigs": c.ask(one).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode,
			"AlterConfigs":            c.ask(all).(*kmsg.AlterConfigsResponse).Resources[0].ErrorCode,
		} {
			if got != kerr.InvalidConfig.Code {
				t.Errorf("%s with %.30q=%.30q: error %d, want INVALID_CONFIG", request, name, value, got)
			}
		}
	}
	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.SetVersion(4)
	describe.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "kept", ConfigNames: []string{"retention.ms"}}}
	if got := c.ask(describe).(*kmsg.DescribeConfigsResponse).Resources[0].Configs[0]; got.Value == nil || *got.Value != "5000" {
		t.Errorf("retention.ms is %v after the refusals, want 5000", got.Value)
	}
	for _, impossible := range []struct {
		partitions  int32
		replication int16
		code        int16
	}{
		{0, 1, kerr.InvalidPartitions.Code},
		{-2, 1, kerr.InvalidPartitions.Code},
		{1, 0, kerr.InvalidReplicationFactor.Code},
		{1, 2, kerr.InvalidReplicationFactor.Code},
		{1, -2, kerr.InvalidReplicationFactor.Code},
		{1 << 30, 1, kerr.InvalidPartitions.Code},
	} {
		create := kmsg.NewPtrCreateTopicsRequest()
		create.SetVersion(7)
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "new", impossible.partitions, impossible.replication
		create.Topics = []kmsg.CreateTopicsRequestTopic{topic}
		got := c.ask(create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode
		if got != impossible.code && (impossible.partitions <= 1 || got != kerr.PolicyViolation.Code) {
			t.Errorf("%d partitions, replication %d: error %d, want %d", impossible.partitions, impossible.replication, got, impossible.code)
		}
	}
	b.serves(t)
}
