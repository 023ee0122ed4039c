package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// produce writes a batch of one record to partition 0, acks=1, and returns its offset.
func (n *adminNode) produce(topic string) int64 {
	n.t.Helper()
	var w batch.Builder
	f := batch.NewFields(0)
	w.Reset(f)
	w.Append(batch.Record{Sequence: batch.NoSequence, Timestamp: adminNow.UnixMilli(), Key: []byte("key"), Value: []byte("value")})
	b, err := w.Build()
	if err != nil {
		n.t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = 1, 1000
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Records = b
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	got := ask[*kmsg.ProduceResponse](n, 8, req).Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		n.t.Fatalf("produce to %s: error %d", topic, got.ErrorCode)
	}
	return got.BaseOffset
}

// trim asks for partition, offset, partition, offset ... of a topic.
func trim(n *adminNode, version int16, topic string, offsets ...int64) []kmsg.DeleteRecordsResponseTopic {
	n.t.Helper()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	for i := 0; i+1 < len(offsets); i += 2 {
		rp := kmsg.NewDeleteRecordsRequestTopicPartition()
		rp.Partition, rp.Offset = int32(offsets[i]), offsets[i+1]
		rt.Partitions = append(rt.Partitions, rp)
	}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 5000
	return ask[*kmsg.DeleteRecordsResponse](n, version, req).Topics
}

func TestDeleteRecordsVersions(t *testing.T) {
	t.Parallel()
	for _, v := range versionsOf(t, kmsg.DeleteRecords) {
		n := newAdminNode(t, nil, nil)
		n.create("a", 2, "durability", "memory")
		for range 5 {
			n.produce("a")
		}
		for _, c := range []struct {
			partition, before int64
			low               int64
			code              string
		}{
			{0, 0, 0, ""},
			{0, 3, 3, ""},
			{0, 2, 3, ""}, // a start that is higher already stays
			{0, 6, -1, "OFFSET_OUT_OF_RANGE"},
			{0, -2, -1, "OFFSET_OUT_OF_RANGE"},
			{0, -1, 5, ""},
			{1, -1, 0, ""},
			{2, 0, -1, "UNKNOWN_TOPIC_OR_PARTITION"},
			{-1, 0, -1, "UNKNOWN_TOPIC_OR_PARTITION"},
		} {
			got := trim(n, v, "a", c.partition, c.before)[0].Partitions[0]
			wantCode(t, "a", got.ErrorCode, c.code)
			if got.LowWatermark != c.low || int64(got.Partition) != c.partition {
				t.Errorf("v%d: partition %d before %d: %+v, expected low watermark %d", v, c.partition, c.before, got, c.low)
			}
		}
	}
}

func TestDeleteRecordsRefused(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("compacted", 1, "cleanup.policy", "compact")
	n.create("__consumer_offsets", 1)
	for _, c := range []struct{ topic, code string }{
		{"none", "UNKNOWN_TOPIC_OR_PARTITION"},
		{"", "UNKNOWN_TOPIC_OR_PARTITION"},
		{"../x", "UNKNOWN_TOPIC_OR_PARTITION"},
		{"compacted", "POLICY_VIOLATION"},
		{"__consumer_offsets", "INVALID_TOPIC_EXCEPTION"},
	} {
		got := trim(n, 2, c.topic, 0, 0)[0].Partitions[0]
		wantCode(t, c.topic, got.ErrorCode, c.code)
		if got.LowWatermark != -1 {
			t.Errorf("%s: low watermark is %d", c.topic, got.LowWatermark)
		}
	}
	if got := trim(n, 2, "compacted"); len(got) != 0 {
		t.Errorf("a topic without partitions: %+v", got)
	}
}
