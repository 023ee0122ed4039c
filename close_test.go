package ottla_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/ottlatest"
)

// TestCloseBesideLongPoll: a fetch that would wait for an hour is answered when the broker closes.
func TestCloseBesideLongPoll(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t)
	ctx := deadline(t)
	if _, err := kadm.NewClient(newClient(t, s)).CreateTopic(ctx, 1, 1, nil, "sign"); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, s, kgo.ConsumeTopics("sign"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	format := kmsg.NewRequestFormatter()
	poll := kmsg.NewPtrFetchRequest()
	poll.Version, poll.ReplicaID, poll.MaxWaitMillis, poll.MinBytes, poll.MaxBytes = 12, -1, int32(time.Hour/time.Millisecond), 1<<20, 1<<20
	frames := append(format.AppendRequest(nil, poll, 1), format.AppendRequest(nil, unanswered(t, "sign"), 2)...)
	if _, err := conn.Write(frames); err != nil {
		t.Fatal(err)
	}
	if got := client.PollFetches(ctx).Records(); len(got) != 1 { // the second request was begun, so the first was too
		t.Fatalf("read %v", got)
	}
	client.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || len(all) < 8 || binary.BigEndian.Uint32(all[4:]) != 1 {
		t.Errorf("the long poll ended with %x, %v, want a response", all, err)
	}
}

// TestCloseBesideJoin: a member that waits for others to join is told to look for another coordinator when the broker closes.
func TestCloseBesideJoin(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t, ottlatest.Set("group.initial.rebalance.delay.ms", "3600000"))
	ctx := deadline(t)
	client := newClient(t, s)
	admin := kadm.NewClient(client)
	if err := admin.FindGroupCoordinators(ctx, "g").Error(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 3, "g", "consumer", 10_000, 3_600_000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, join, 1)); err != nil {
		t.Fatal(err)
	}
	for state := ""; state != "PreparingRebalance"; {
		described, err := admin.DescribeGroups(ctx, "g")
		if err != nil {
			t.Fatal(err)
		}
		state = described["g"].State
	}
	client.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || len(all) < 14 || binary.BigEndian.Uint32(all[4:]) != 1 {
		t.Fatalf("the join ended with %x, %v, want a response", all, err)
	}
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version = 3
	if err := resp.ReadFrom(all[8:]); err != nil || resp.ErrorCode != kerr.NotCoordinator.Code {
		t.Errorf("%+v, %v", resp, err)
	}
}

// unanswered is a produce of a record with acks=0.
func unanswered(t *testing.T, topic string) *kmsg.ProduceRequest {
	t.Helper()
	var b batch.Builder
	b.Reset(batch.NewFields(0))
	b.Append(batch.Record{Timestamp: time.Now().UnixMilli(), Value: []byte("v")})
	records, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	m := kmsg.NewPtrProduceRequest()
	m.Version, m.TimeoutMillis = 9, 1000
	of := kmsg.NewProduceRequestTopic()
	of.Topic = topic
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = bytes.Clone(records)
	of.Partitions = append(of.Partitions, part)
	m.Topics = append(m.Topics, of)
	return m
}
