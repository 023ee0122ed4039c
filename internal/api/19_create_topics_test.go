package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/configapi"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

func createTopics(n *adminNode, version int16, validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	n.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.ValidateOnly, req.TimeoutMillis = topics, validateOnly, 5000
	return ask[*kmsg.CreateTopicsResponse](n, version, req).Topics
}

// assigned gives a topic replicas by hand, one list for each partition from 0 on.
func assigned(rt kmsg.CreateTopicsRequestTopic, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
	for i, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), r
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, a)
	}
	return rt
}

func TestCreateTopicsVersions(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	for _, v := range versionsOf(t, kmsg.CreateTopics) {
		name := "t" + string(rune('0'+v))
		topics := createTopics(n, v, false, newTopic(name, 2, 1, "retention.ms", "1000"))
		if len(topics) != 1 || topics[0].Topic != name {
			t.Fatalf("v%d: %+v", v, topics)
		}
		wantCode(t, name, topics[0].ErrorCode, "")
		created := n.broker.Image().Topic(name)
		if created == nil || len(created.Partitions) != 2 || created.Partitions[0].Leader != 1 {
			t.Fatalf("v%d: topic is %+v", v, created)
		}
		if got := n.broker.Image().Config(meta.TopicResource(name))["retention.ms"]; got != "1000" {
			t.Errorf("v%d: retention.ms is %q", v, got)
		}
		if v >= 5 && (topics[0].NumPartitions != 2 || topics[0].ReplicationFactor != 1) {
			t.Errorf("v%d: %d partitions, factor %d", v, topics[0].NumPartitions, topics[0].ReplicationFactor)
		}
		if got, want := topics[0].TopicID != [16]byte{}, v >= 7; got != want || want && topics[0].TopicID != created.ID {
			t.Errorf("v%d: id is %x", v, topics[0].TopicID)
		}
		if _, err := n.broker.Partition(name, 1); err != nil {
			t.Errorf("v%d: a topic that was created is to be usable: %v", v, err)
		}
	}
}

// The response of v5 and up has all settings, with where they are from (KIP-525).
func TestCreateTopicsConfigs(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, map[string]string{"log.retention.hours": "100"}, nil)
	got := createTopics(n, 5, false, newTopic("a", 1, 1, "cleanup.policy", "compact, delete"))[0].Configs
	for _, want := range []struct {
		name, value string
		source      kmsg.ConfigSource
	}{
		{"cleanup.policy", "compact,delete", kmsg.ConfigSourceDynamicTopicConfig},
		{"retention.ms", "360000000", kmsg.ConfigSourceStaticBrokerConfig},
		{"segment.bytes", "1073741824", kmsg.ConfigSourceDefaultConfig},
	} {
		at := slices.IndexFunc(got, func(c kmsg.CreateTopicsResponseTopicConfig) bool { return c.Name == want.name })
		if at < 0 || got[at].Value == nil || *got[at].Value != want.value || got[at].Source != int8(want.source) {
			t.Errorf("%s is to be %s from %v, in %+v", want.name, want.value, want.source, got)
		}
	}
	refused := createTopics(n, 5, false, newTopic("a", 1, 1))[0]
	wantCode(t, "again", refused.ErrorCode, "TOPIC_ALREADY_EXISTS")
	if refused.Configs == nil || len(refused.Configs) > 0 || refused.NumPartitions != -1 || refused.ReplicationFactor != -1 {
		t.Errorf("a topic that was refused has %+v", refused)
	}
}

// A default factor is lowered to the one broker that there is.
func TestCreateTopicsDefaults(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, map[string]string{"num.partitions": "3", "default.replication.factor": "3"}, nil)
	got := createTopics(n, 7, false, newTopic("a", -1, -1))[0]
	if got.ErrorCode != 0 || got.NumPartitions != 3 || got.ReplicationFactor != 1 {
		t.Errorf("with defaults: %+v", got)
	}
}

func TestCreateTopicsByHand(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	got := createTopics(n, 7, false, assigned(newTopic("a", -1, -1), []int32{1}, []int32{1}))[0]
	if got.ErrorCode != 0 || got.NumPartitions != 2 || got.ReplicationFactor != 1 {
		t.Errorf("by hand: %+v", got)
	}
}

// TestCreateTopicsRefused: traps.md rule 14, a bad config is INVALID_CONFIG, a bad name INVALID_TOPIC_EXCEPTION; each topic fails by itself
// and says with what and why.
func TestCreateTopicsRefused(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("have.it", 1)
	hole := newTopic("hole", -1, -1)
	hole.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 1, Replicas: []int32{1}}}
	for _, c := range []struct {
		topic kmsg.CreateTopicsRequestTopic
		code  string
		says  string // a part of the message
	}{
		{newTopic("have.it", 1, 1), "TOPIC_ALREADY_EXISTS", "have.it"},
		{newTopic("have_it", 1, 1), "INVALID_TOPIC_EXCEPTION", "have.it"},
		{newTopic("", 1, 1), "INVALID_TOPIC_EXCEPTION", "empty"},
		{newTopic("..", 1, 1), "INVALID_TOPIC_EXCEPTION", `".."`},
		{newTopic("a/b", 1, 1), "INVALID_TOPIC_EXCEPTION", `"/"`},
		{newTopic("a\x00b", 1, 1), "INVALID_TOPIC_EXCEPTION", `\x00`},
		{newTopic(strings.Repeat("x", 250), 1, 1), "INVALID_TOPIC_EXCEPTION", "249"},
		{newTopic("__cluster_metadata", 1, 1), "INVALID_REQUEST", "__cluster_metadata"},
		{newTopic("none", 0, 1), "INVALID_PARTITIONS", ""},
		{newTopic("negative", -2, 1), "INVALID_PARTITIONS", ""},
		{newTopic("many", 20_001, 1), "POLICY_VIOLATION", "20001"},
		{newTopic("factor", 1, 0), "INVALID_REPLICATION_FACTOR", ""},
		{newTopic("factor", 1, -2), "INVALID_REPLICATION_FACTOR", ""},
		{newTopic("factor", 1, 3), "INVALID_REPLICATION_FACTOR", "1 broker"},
		{newTopic("config", 1, 1, "no.such", "1"), "INVALID_CONFIG", "no.such"},
		{newTopic("config", 1, 1, "retention.ms", "soon"), "INVALID_CONFIG", "soon"},
		{newTopic("config", 1, 1, "segment.bytes", "10"), "INVALID_CONFIG", "1048576"},
		{newTopic("config", 1, 1, "cleanup.policy", "shred"), "INVALID_CONFIG", "shred"},
		{newTopic("config", 1, 1, "retention.ms", "null"), "INVALID_CONFIG", "retention.ms"},
		{newTopic("config", 1, 1, "min.compaction.lag.ms", "10", "max.compaction.lag.ms", "5"), "INVALID_CONFIG", "max.compaction.lag.ms"},
		{assigned(newTopic("hand", 1, -1), []int32{1}), "INVALID_REQUEST", "numPartitions"},
		{assigned(newTopic("hand", -1, 1), []int32{1}), "INVALID_REQUEST", "replication factor"},
		{assigned(newTopic("hand", -1, -1), []int32{9}), "INVALID_REPLICA_ASSIGNMENT", "broker 9"},
		{assigned(newTopic("hand", -1, -1), []int32{1, 1}), "INVALID_REPLICA_ASSIGNMENT", "more than once"},
		{assigned(newTopic("hand", -1, -1), []int32{}), "INVALID_REPLICA_ASSIGNMENT", "empty"},
		{hole, "INVALID_REPLICA_ASSIGNMENT", "consecutive"},
	} {
		got := createTopics(n, 7, false, c.topic, newTopic("fine", 1, 1))
		if len(got) != 2 {
			t.Fatalf("%d results for 2 topics", len(got))
		}
		wantCode(t, c.topic.Topic, got[0].ErrorCode, c.code)
		if got[0].ErrorMessage == nil || !strings.Contains(*got[0].ErrorMessage, c.says) {
			t.Errorf("%s: message is %v, expected %q in it", c.topic.Topic, got[0].ErrorMessage, c.says)
		}
		if n.broker.Image().Topic("fine") == nil {
			t.Errorf("%s: the topic beside it was not created", c.topic.Topic)
		}
		if c.topic.Topic != "have.it" && n.broker.Image().Topic(c.topic.Topic) != nil {
			t.Errorf("%s was created", c.topic.Topic)
		}
	}
}

func TestCreateTopicsTwice(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	got := createTopics(n, 7, false, newTopic("twice", 1, 1), newTopic("once", 1, 1), newTopic("twice", 2, 1))
	if len(got) != 2 {
		t.Fatalf("%d results for 2 names", len(got))
	}
	wantCode(t, "twice", got[0].ErrorCode, "INVALID_REQUEST")
	wantCode(t, "once", got[1].ErrorCode, "")
	if n.broker.Image().Topic("twice") != nil {
		t.Error("a topic that is named twice was created")
	}
}

func TestCreateTopicsValidateOnly(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	got := createTopics(n, 7, true, newTopic("a", 3, 1, "segment.bytes", "1048576"), newTopic("b", 1, 1, "no.such", "1"))
	wantCode(t, "a", got[0].ErrorCode, "")
	if got[0].NumPartitions != 3 || len(got[0].Configs) == 0 {
		t.Errorf("a would be %+v", got[0])
	}
	wantCode(t, "b", got[1].ErrorCode, "INVALID_CONFIG")
	if len(n.broker.Image().Topics) != 0 {
		t.Error("validate_only created a topic")
	}
}

// Without a table of settings nothing is shown, and nothing breaks.
func TestCreateTopicsWithoutTable(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, func(o *api.Options, c *configapi.Options) { o.Configs, c.Configs = nil, nil })
	got := createTopics(n, 7, false, newTopic("a", 1, 1))[0]
	if got.ErrorCode != 0 || len(got.Configs) != 0 {
		t.Errorf("%+v", got)
	}
}

// A small request must not claim memory without end: not for partitions, and not for settings, whether it only validates or not.
func TestCreateTopicsMany(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	var large, small []kmsg.CreateTopicsRequestTopic
	for i := range 1001 {
		large = append(large, newTopic(fmt.Sprint("large", i), 19_000, 1))
		small = append(small, newTopic(fmt.Sprint("small", i), 1, 1))
	}
	for _, validateOnly := range []bool{true, false} {
		for _, rt := range createTopics(n, 7, validateOnly, large...) {
			wantCode(t, rt.Topic, rt.ErrorCode, "POLICY_VIOLATION")
		}
	}
	got := createTopics(n, 7, true, small...)
	if first := got[999]; first.ErrorCode != 0 || len(first.Configs) == 0 || first.ConfigErrorCode != 0 {
		t.Errorf("the 1000th topic: %+v", first)
	}
	if last := got[1000]; last.ErrorCode != 0 || len(last.Configs) != 0 {
		t.Errorf("the 1001st topic: %+v", last)
	} else {
		wantCode(t, "its configs", last.ConfigErrorCode, "POLICY_VIOLATION")
	}
}
