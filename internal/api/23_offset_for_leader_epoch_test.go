package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOffsetForLeaderEpoch(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1, "durability", "memory")
	for range 3 {
		n.produce("a")
	}
	for _, c := range []struct {
		what                     string
		topic                    string
		partition, current, asks int32
		epoch                    int32
		end                      int64
		code                     string
	}{
		{"the leader's own", "a", 0, -1, 0, 0, 3, ""},
		{"with the leader's epoch", "a", 0, 0, 0, 0, 3, ""},
		{"a negative one", "a", 0, -1, -1, -1, -1, ""},
		{"one to come", "a", 0, -1, 7, -1, -1, ""},
		{"from one who is ahead", "a", 0, 5, 0, -1, -1, "UNKNOWN_LEADER_EPOCH"},
		{"from one who is behind", "a", 0, -2, 0, -1, -1, "FENCED_LEADER_EPOCH"},
		{"no such partition", "a", 1, -1, 0, -1, -1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"a negative partition", "a", -1, -1, 0, -1, -1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"no such topic", "none", 0, -1, 0, -1, -1, "UNKNOWN_TOPIC_OR_PARTITION"},
	} {
		for _, v := range versionsOf(t, kmsg.OffsetForLeaderEpoch) {
			if v < 2 && c.current != -1 {
				continue // it is not in the request
			}
			for _, replica := range []int32{-1, -2, 3} {
				req := kmsg.NewPtrOffsetForLeaderEpochRequest()
				req.ReplicaID = replica
				rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = c.partition, c.current, c.asks
				rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
				rt.Topic, rt.Partitions = c.topic, append(rt.Partitions, rp)
				req.Topics = append(req.Topics, rt)
				got := ask[*kmsg.OffsetForLeaderEpochResponse](n, v, req).Topics[0].Partitions[0]
				wantCode(t, c.what, got.ErrorCode, c.code)
				if got.EndOffset != c.end || got.Partition != c.partition || v >= 1 && got.LeaderEpoch != c.epoch {
					t.Errorf("v%d: %s: %+v, expected epoch %d and end %d", v, c.what, got, c.epoch, c.end)
				}
			}
		}
	}
}
