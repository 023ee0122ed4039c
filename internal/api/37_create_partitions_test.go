package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func grow(n *adminNode, version int16, validateOnly bool, topics ...kmsg.CreatePartitionsRequestTopic) []kmsg.CreatePartitionsResponseTopic {
	n.t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics, req.ValidateOnly, req.TimeoutMillis = topics, validateOnly, 5000
	return ask[*kmsg.CreatePartitionsResponse](n, version, req).Topics
}

func more(name string, count int32, replicas ...[]int32) kmsg.CreatePartitionsRequestTopic {
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = name, count
	for _, r := range replicas {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = r
		rt.Assignment = append(rt.Assignment, a)
	}
	return rt
}

func TestCreatePartitionsVersions(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	for _, v := range versionsOf(t, kmsg.CreatePartitions) {
		count := 2 + int32(v)
		got := grow(n, v, false, more("a", count), more("none", 5))
		wantCode(t, "a", got[0].ErrorCode, "")
		wantCode(t, "none", got[1].ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
		if have := len(n.broker.Image().Topic("a").Partitions); have != int(count) {
			t.Errorf("v%d: %d partitions, expected %d", v, have, count)
		}
		if _, err := n.broker.Partition("a", count-1); err != nil {
			t.Errorf("v%d: a partition that was added is to be usable: %v", v, err)
		}
	}
}

func TestCreatePartitionsRefused(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 2)
	n.create("b", 2)
	n.create("__consumer_offsets", 2)
	for _, c := range []struct {
		what  string
		topic kmsg.CreatePartitionsRequestTopic
		code  string
	}{
		{"as many", more("a", 2), "INVALID_PARTITIONS"},
		{"fewer", more("a", 1), "INVALID_PARTITIONS"},
		{"negative", more("a", -1), "INVALID_PARTITIONS"},
		{"too many", more("a", 20_003), "POLICY_VIOLATION"},
		{"fewer assignments", more("a", 4, []int32{1}), "INVALID_REPLICA_ASSIGNMENT"},
		{"unknown broker", more("a", 3, []int32{9}), "INVALID_REPLICA_ASSIGNMENT"},
		{"broker twice", more("a", 3, []int32{1, 1}), "INVALID_REPLICA_ASSIGNMENT"},
		{"no broker", more("a", 3, []int32{}), "INVALID_REPLICA_ASSIGNMENT"},
		{"no name", more("", 3), "UNKNOWN_TOPIC_OR_PARTITION"},
		{"where groups are", more("__consumer_offsets", 3), "INVALID_TOPIC_EXCEPTION"},
	} {
		got := grow(n, 3, false, c.topic)[0]
		wantCode(t, c.what, got.ErrorCode, c.code)
		if got.ErrorMessage == nil {
			t.Errorf("%s: no message", c.what)
		}
	}
	twice := grow(n, 3, false, more("a", 3), more("b", 3), more("a", 4))
	if len(twice) != 2 {
		t.Fatalf("%d results for 2 names", len(twice))
	}
	wantCode(t, "named twice", twice[0].ErrorCode, "INVALID_REQUEST")
	wantCode(t, "beside it", twice[1].ErrorCode, "")
	if have := len(n.broker.Image().Topic("a").Partitions); have != 2 {
		t.Errorf("a has %d partitions, expected 2", have)
	}
}

func TestCreatePartitionsByHandAndValidateOnly(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	wantCode(t, "validate only", grow(n, 3, true, more("a", 3))[0].ErrorCode, "")
	if have := len(n.broker.Image().Topic("a").Partitions); have != 1 {
		t.Errorf("validate_only left %d partitions", have)
	}
	wantCode(t, "by hand", grow(n, 3, false, more("a", 3, []int32{1}, []int32{1}))[0].ErrorCode, "")
	if have := len(n.broker.Image().Topic("a").Partitions); have != 3 {
		t.Errorf("%d partitions, expected 3", have)
	}
}

// Two topics that each stay below the limit are over it together.
func TestCreatePartitionsMany(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	n.create("b", 1)
	for _, validateOnly := range []bool{true, false} {
		for _, rt := range grow(n, 3, validateOnly, more("a", 15_000), more("b", 15_000)) {
			wantCode(t, rt.Topic, rt.ErrorCode, "POLICY_VIOLATION")
		}
	}
}
