package api

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	m := kmsg.NewPtrMetadataRequest()
	m.Version = version
	m.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		m.Topics = append(m.Topics, t)
	}
	return m
}

func (a *testAPI) metadataOf(m *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	a.t.Helper()
	return a.call(m).(*kmsg.MetadataResponse)
}

// TestMetadataAll: traps.md trap 5, an empty list means all topics in v0 and none from v1 on, where null means all.
func TestMetadataAll(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("a", 1)
	a.node.create("b", 2)
	row, _ := wire.Lookup(kmsg.Metadata)
	for v := row.Served; v <= row.Max; v++ {
		empty := a.metadataOf(metadataRequest(v))
		want := 0
		if v == 0 {
			want = 2
		}
		if len(empty.Topics) != want {
			t.Errorf("v%d: an empty list got %d topics, expected %d", v, len(empty.Topics), want)
		}
		all := metadataRequest(v)
		if v > 0 {
			all.Topics = nil
		}
		resp := a.metadataOf(all)
		if len(resp.Topics) != 2 || *resp.Topics[1].Topic != "b" || len(resp.Topics[1].Partitions) != 2 {
			t.Fatalf("v%d: %+v", v, resp)
		}
		p := resp.Topics[1].Partitions[1]
		if p.Leader != 0 || p.Partition != 1 || !slices.Equal(p.Replicas, []int32{0}) || !slices.Equal(p.ISR, []int32{0}) || len(p.OfflineReplicas) != 0 {
			t.Errorf("v%d: partition %+v", v, p)
		}
		if resp.Topics[1].AuthorizedOperations != noOperations || resp.AuthorizedOperations != noOperations {
			t.Errorf("v%d: operations nobody asked for", v)
		}
		if v >= 2 && (resp.ClusterID == nil || *resp.ClusterID != "cluster") {
			t.Errorf("v%d: cluster id %v", v, resp.ClusterID)
		}
		if v >= 1 && resp.ControllerID != 0 {
			t.Errorf("v%d: controller %d", v, resp.ControllerID)
		}
	}
}

// TestMetadataOffline: a partition that this node cannot serve has no leader and an offline replica, in Metadata and in
// DescribeTopicPartitions; the others are as they were.
func TestMetadataOffline(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("a", 2)
	a.node.dead = map[string]bool{"a-1": true}
	ps := a.metadataOf(metadataRequest(12, "a")).Topics[0].Partitions
	if ps[0].Leader != 0 || ps[0].ErrorCode != 0 || len(ps[0].OfflineReplicas) != 0 {
		t.Errorf("partition 0: %+v", ps[0])
	}
	if p := ps[1]; p.Leader != -1 || p.ErrorCode != kerr.LeaderNotAvailable.Code || !slices.Equal(p.OfflineReplicas, []int32{0}) || !slices.Equal(p.Replicas, []int32{0}) {
		t.Errorf("partition 1: %+v", p)
	}
	m := kmsg.NewPtrDescribeTopicPartitionsRequest()
	m.ResponsePartitionLimit = 10
	ds := a.call(m).(*kmsg.DescribeTopicPartitionsResponse).Topics[0].Partitions
	if ds[0].LeaderID != 0 || ds[1].LeaderID != -1 || ds[1].ErrorCode != kerr.LeaderNotAvailable.Code || !slices.Equal(ds[1].OfflineReplicas, []int32{0}) {
		t.Errorf("described: %+v", ds)
	}
	if a.node.Image().Topic("a").Partitions[1].Leader != 0 {
		t.Error("the metadata itself was changed")
	}
}

// TestMetadataAddress: brokers are where they say on the client's listener; where they say nothing, at the address that the client reached.
func TestMetadataAddress(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	for listener, want := range map[string]struct {
		host string
		port int32
	}{"PLAINTEXT": {"192.0.2.7", 9092}, "OUTSIDE": {"kafka.example.org", 9094}, "unknown": {"192.0.2.7", 9092}} {
		a.conn.Listener = listener
		b := a.metadataOf(metadataRequest(9)).Brokers
		if len(b) != 1 || b[0].Host != want.host || b[0].Port != want.port || b[0].NodeID != 0 {
			t.Errorf("on %s: %+v, expected %v", listener, b, want)
		}
	}
}

// TestMetadataCreates: traps.md rule 10, a topic that a client asks for is there, with leaders, in the very answer.
func TestMetadataCreates(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	one := func(m *kmsg.MetadataRequest) kmsg.MetadataResponseTopic { return a.metadataOf(m).Topics[0] }
	no := metadataRequest(4, "new")
	if rt := one(no); rt.ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("created though the client does not want it: %+v", rt)
	}
	if rt := one(metadataRequest(3, "new")); rt.ErrorCode != 0 || len(rt.Partitions) != 2 {
		t.Errorf("below v4 topics are created: %+v", rt)
	}
	yes := metadataRequest(9, "other", "other")
	yes.AllowAutoTopicCreation = true
	if resp := a.metadataOf(yes); len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		t.Errorf("response %+v", resp)
	}
	for _, bad := range []string{"", ".", "..", "a/b", "a\x00b", strings.Repeat("x", 250)} {
		if rt := one(metadataRequest(3, bad)); rt.ErrorCode != kerr.InvalidTopicException.Code {
			t.Errorf("%q: %v", bad, kerr.ErrorForCode(rt.ErrorCode))
		}
	}
	if rt := one(metadataRequest(3, topic.ConsumerOffsets)); rt.ErrorCode != kerr.UnknownTopicOrPartition.Code || !rt.IsInternal {
		t.Errorf("internal topic: %+v", rt)
	}
	a.opts.AutoCreateTopics = false
	if rt := one(metadataRequest(3, "third")); rt.ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("created though the broker does not allow it: %+v", rt)
	}
}

// TestMetadataByID: traps.md rule 13.
func TestMetadataByID(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	name := "t"
	for _, c := range []struct {
		version int16
		id      topic.ID
		name    *string
		want    *kerr.Error
	}{
		{12, id, nil, nil},
		{12, topic.ID{8}, nil, kerr.UnknownTopicID},
		{12, id, &name, nil},
		{12, topic.ID{8}, &name, kerr.UnknownTopicID},
		{10, id, nil, kerr.InvalidRequest},
		{12, topic.ID{}, &name, nil},
	} {
		m := kmsg.NewPtrMetadataRequest()
		m.Version = c.version
		rq := kmsg.NewMetadataRequestTopic()
		rq.TopicID, rq.Topic = c.id, c.name
		m.Topics = append(m.Topics, rq)
		if c.version < 12 {
			rq.Topic = new(string)
			m.Topics[0] = rq
		}
		rt := a.metadataOf(m).Topics[0]
		if got := kerr.ErrorForCode(rt.ErrorCode); c.want == nil && (got != nil || rt.Topic == nil || *rt.Topic != "t") || c.want != nil && !errors.Is(got, c.want) {
			t.Errorf("v%d, id %v, name %v: %v, %+v", c.version, c.id, c.name, got, rt)
		}
	}
}

// TestApiVersions: traps.md traps 1 and 2; which versions clients look for is in wire.
func TestApiVersions(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	ask := func(version int16, software string) *kmsg.ApiVersionsResponse {
		m := kmsg.NewPtrApiVersionsRequest()
		m.Version, m.ClientSoftwareName, m.ClientSoftwareVersion = version, software, "1.2.3-rc.1"
		return a.call(m).(*kmsg.ApiVersionsResponse)
	}
	for v := range int16(6) {
		resp := ask(v, "apache-kafka-java")
		if resp.ErrorCode != 0 || len(resp.ApiKeys) != len(wire.APIs()) || resp.ApiKeys[0].MinVersion != 0 {
			t.Errorf("v%d: %+v", v, resp)
		}
		if v >= 3 && (len(resp.FinalizedFeatures) != 1 || resp.FinalizedFeatures[0].MaxVersionLevel != 27) {
			t.Errorf("v%d: features %+v", v, resp.FinalizedFeatures)
		}
	}
	if a.conn.Software != "apache-kafka-java" || a.conn.SoftwareVersion != "1.2.3-rc.1" {
		t.Errorf("the client's software is %q %q", a.conn.Software, a.conn.SoftwareVersion)
	}
	for _, bad := range []string{"", "-x", "x.", "a b", "ü", "a\nb"} {
		if resp := ask(3, bad); resp.ErrorCode != kerr.InvalidRequest.Code {
			t.Errorf("software %q: %+v", bad, resp)
		}
	}
}

// TestApiVersionsFallback: traps.md rule 2, a version of the future gets a v0 body with error 35 and the table, under a v0 header.
func TestApiVersionsFallback(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	req := &Request{Header: wire.Header{Key: kmsg.ApiVersions, Version: 99, CorrelationID: 77}, Body: []byte{1, 2, 3}, Conn: a.conn}
	replies := make([]Reply, 1)
	if _, err := a.Begin(t.Context(), a.now, []*Request{req}, replies); err != nil {
		t.Fatal(err)
	}
	m := kmsg.NewPtrApiVersionsRequest()
	resp := a.poll(m, replies[0], nil).(*kmsg.ApiVersionsResponse)
	if resp.ErrorCode != kerr.UnsupportedVersion.Code || len(resp.ApiKeys) == 0 {
		t.Errorf("response %+v", resp)
	}
}

// TestApiVersionsMeant: KIP-1242, a client that means another cluster or broker starts again.
func TestApiVersionsMeant(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	for _, c := range []struct {
		cluster string
		node    int32
		want    int16
	}{{"cluster", 0, 0}, {"cluster", -1, 0}, {"other", 0, kerr.RebootstrapRequired.Code}, {"cluster", 3, kerr.RebootstrapRequired.Code}} {
		m := kmsg.NewPtrApiVersionsRequest()
		m.Version, m.ClientSoftwareName, m.ClientSoftwareVersion = 5, "x", "1"
		m.ClusterID, m.NodeID = &c.cluster, c.node
		if resp := a.call(m).(*kmsg.ApiVersionsResponse); resp.ErrorCode != c.want {
			t.Errorf("%s, node %d: error %d, expected %d", c.cluster, c.node, resp.ErrorCode, c.want)
		}
	}
}

// TestInitProducerID: traps.md rule 6, a producer that shows its id (KIP-360) gets a fresh one.
func TestInitProducerID(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	empty, txn := "", "txn"
	for _, c := range []struct {
		version int16
		txn     *string
		id      int64
		epoch   int16
		want    *kerr.Error
	}{
		{0, nil, -1, -1, nil},
		{5, nil, -1, -1, nil},
		{5, nil, 7, 3, nil},
		{5, &empty, -1, -1, kerr.InvalidRequest},
		{5, nil, 7, -1, kerr.InvalidRequest},
		{5, &txn, -1, -1, kerr.TransactionalIDAuthorizationFailed},
	} {
		m := kmsg.NewPtrInitProducerIDRequest()
		m.Version, m.TransactionalID, m.ProducerID, m.ProducerEpoch = c.version, c.txn, c.id, c.epoch
		resp := a.call(m).(*kmsg.InitProducerIDResponse)
		if c.want == nil && (resp.ErrorCode != 0 || resp.ProducerID < 1000 || resp.ProducerEpoch != 0) ||
			c.want != nil && (resp.ErrorCode != c.want.Code || resp.ProducerID != -1 || resp.ProducerEpoch != -1) {
			t.Errorf("%+v: %+v", c, resp)
		}
	}
}

// TestListOffsets: traps.md rule 11, every special timestamp at the version that has it, with leader epochs.
func TestListOffsets(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 2)
	a.produceOne("t", records(t, 0, 5, 10)) // at testNow, testNow+1, ...
	at := testNow.UnixMilli()
	for name, c := range map[string]struct {
		version int16
		ts      int64
		offset  int64
		found   int64 // timestamp
		epoch   int32
		err     *kerr.Error
	}{
		"latest":            {4, -1, 5, -1, 5, nil},
		"earliest":          {4, -2, 0, -1, 5, nil},
		"earliest v1":       {1, -2, 0, -1, -1, nil},
		"max":               {7, -3, 4, at + 4, 5, nil},
		"max too early":     {6, -3, -1, -1, -1, kerr.UnsupportedVersion},
		"local":             {8, -4, 0, -1, 5, nil},
		"local too early":   {7, -4, -1, -1, -1, kerr.UnsupportedVersion},
		"tiered":            {9, -5, -1, -1, -1, nil},
		"pending":           {11, -6, -1, -1, -1, nil},
		"pending too early": {10, -6, -1, -1, -1, kerr.UnsupportedVersion},
		"unknown":           {11, -7, -1, -1, -1, kerr.UnsupportedVersion},
		"first":             {4, 0, 0, at, 5, nil},
		"between":           {4, at + 2, 2, at + 2, 5, nil},
		"after":             {4, at + 5, -1, -1, -1, nil},
	} {
		m := kmsg.NewPtrListOffsetsRequest()
		m.Version = c.version
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = "t"
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Timestamp = c.ts
		rt.Partitions = append(rt.Partitions, rp)
		m.Topics = append(m.Topics, rt)
		got := a.call(m).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(got.ErrorCode); err != nil && !errors.Is(err, c.err) || err == nil && c.err != nil {
			t.Errorf("%s: error %v, expected %v", name, err, c.err)
		}
		if got.Offset != c.offset || got.Timestamp != c.found || got.LeaderEpoch != c.epoch {
			t.Errorf("%s: %+v, expected offset %d, timestamp %d, epoch %d", name, got, c.offset, c.found, c.epoch)
		}
	}
}

func TestListOffsetsRefused(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 1)
	m := kmsg.NewPtrListOffsetsRequest()
	m.Version = 4
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = "t"
	rt.Partitions = append(rt.Partitions, []kmsg.ListOffsetsRequestTopicPartition{
		{Partition: 0, CurrentLeaderEpoch: 4, Timestamp: -1},
		{Partition: 1, CurrentLeaderEpoch: -1, Timestamp: -1},
		{Partition: 2, CurrentLeaderEpoch: -1, Timestamp: -1},
		{Partition: 2, CurrentLeaderEpoch: -1, Timestamp: -2},
	}...)
	m.Topics = append(m.Topics, rt)
	want := []*kerr.Error{kerr.FencedLeaderEpoch, kerr.UnknownTopicOrPartition, kerr.InvalidRequest, kerr.InvalidRequest}
	for i, p := range a.call(m).(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
		if !errors.Is(kerr.ErrorForCode(p.ErrorCode), want[i]) || p.Offset != -1 {
			t.Errorf("partition %d: %+v, expected %v", i, p, want[i])
		}
	}
}

// TestListOffsetsOldStyle: traps.md rule 11, v0 has lists of offsets.
func TestListOffsetsOldStyle(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 1)
	a.produceOne("t", records(t, batch.CodecNone, 5, 10))
	for _, c := range []struct {
		ts   int64
		max  int32
		want []int64
	}{{-1, 1, []int64{5}}, {-1, 2, []int64{5, 0}}, {-2, 5, []int64{0}}, {-1, 0, nil}, {testNow.UnixMilli() + 9, 9, []int64{5, 0}}} {
		m := kmsg.NewPtrListOffsetsRequest()
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = "t"
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Timestamp, rp.MaxNumOffsets = c.ts, c.max
		rt.Partitions = append(rt.Partitions, rp)
		m.Topics = append(m.Topics, rt)
		if got := a.call(m).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].OldStyleOffsets; !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
