package record

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// golden are the records of testdata/kafka-4.4.txt, by what Kafka's dump tool says of each.
func golden(t testing.TB) (dumps []string, records []Record) {
	t.Helper()
	all, err := os.ReadFile("testdata/kafka-4.4.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(all)), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "# key: ") {
			continue // the head of the file
		}
		var r Record
		if r.Key, err = hex.DecodeString(lines[1]); err != nil {
			t.Fatal(err)
		}
		if lines[2] != "null" {
			if r.Value, err = hex.DecodeString(lines[2]); err != nil {
				t.Fatal(err)
			}
		}
		dumps, records = append(dumps, lines[0]), append(records, r)
	}
	if len(records) < 30 {
		t.Fatalf("%d records in the file, expected more", len(records))
	}
	return dumps, records
}

// What Kafka wrote is what we write, byte for byte.
func TestKafkaRecords(t *testing.T) {
	t.Parallel()
	dumps, records := golden(t)
	for i, want := range records {
		e, err := Decode(want.Key, want.Value)
		if err != nil {
			t.Errorf("%s: %v", dumps[i], err)
			continue
		}
		if got := e.Record(); !bytes.Equal(got.Key, want.Key) || !bytes.Equal(got.Value, want.Value) || (got.Value == nil) != (want.Value == nil) {
			t.Errorf("%s:\n got %x %x\nwant %x %x", dumps[i], got.Key, got.Value, want.Key, want.Value)
		}
		want.Key[0] ^= 0x7f // nothing that was decoded may alias it
		clear(want.Value)
		if again, err := Decode(e.Record().Key, e.Record().Value); err != nil || same(e, again) != "" {
			t.Errorf("%s: changed with the bytes it was read from: %v", dumps[i], err)
		}
	}
}

// One of each type, and what it says.
func TestKafkaMeanings(t *testing.T) {
	t.Parallel()
	orders := topic.ID{0x7e, 0xbd, 0x5b, 0x97, 0x95, 0xbc, 0x4d, 0x9b, 0xa3, 0xbc, 0x5e, 0xf6, 0x65, 0x44, 0x1c, 0x70}
	trips := topic.ID{0xb0, 0x64, 0x15, 0x41, 0x71, 0xd0, 0x4d, 0x1e, 0x85, 0x61, 0xa2, 0x38, 0x39, 0x31, 0xe3, 0x56}
	const first, second, old, static = "y94P7_TpRdqqwq1axojrCg", "Jl0MOQ5FS3mUrXGj8EIZXA", "_gS7BNwoTQOkWdSWWDsmkg", "i-1-1a174e8b-dcc0-498e-a87c-e7a343724a2d"
	want := map[int]Entry{
		2: Offset{"classic", "orders", 1, &OffsetValue{Offset: 15, Metadata: static, Committed: 1795993503156, Expires: -1, TopicID: orders}},
		5: Offset{"simple", "orders", 1, &OffsetValue{Offset: 42, LeaderEpoch: batch.NoEpoch, Metadata: "note", Committed: 1795993508730, Expires: 1796079908730}},
		6: Offset{"classic2", "trips", 0, nil},
		1: Classic{"classic", &ClassicValue{
			ProtocolType: "consumer", Generation: 1, Protocol: new("cooperative-sticky"), Leader: new(static), Changed: 1795993502944,
			Members: []ClassicMember{{
				ID: static, InstanceID: new("i-1"), ClientID: "c-1", ClientHost: "/127.0.0.1", RebalanceTimeoutMs: 60000, SessionTimeout: 45000,
				Subscription: []byte("\x00\x03\x00\x00\x00\x01\x00\x06orders\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff"),
				Assignment:   []byte("\x00\x00\x00\x00\x00\x01\x00\x06orders\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\xff\xff\xff\xff"),
			}},
		}},
		4:  Classic{"classic2", &ClassicValue{ProtocolType: "consumer", Generation: 2, Changed: 1795993508701, Members: []ClassicMember{}}},
		9:  ConsumerGroup{"next", &ConsumerGroupValue{2, 8594276869212771846}},
		24: ConsumerGroup{"regex", &ConsumerGroupValue{3, 0}},
		8: ConsumerMember{"next", first, &ConsumerMemberValue{
			RackID: new("r1"), ClientID: "console-consumer", ClientHost: "/127.0.0.1", Topics: []string{"orders"}, Regex: new(""), RebalanceTimeout: 300000,
		}},
		20: ConsumerMember{"next", old, &ConsumerMemberValue{
			ClientID: "old", ClientHost: "/127.0.0.1", Topics: []string{"trips"}, Regex: new(""), RebalanceTimeout: 300000,
			Classic: &ClassicProtocols{45000, []Protocol{
				{"range", []byte("\x00\x03\x00\x00\x00\x01\x00\x05trips\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff")},
				{"cooperative-sticky", []byte("\x00\x03\x00\x00\x00\x01\x00\x05trips\x00\x00\x00\x04\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff")},
			}},
		}},
		21: ConsumerMember{"next", old, nil},
		11: TargetEpoch{"next", &TargetEpochValue{2, 1795993526458}},
		15: TargetAssignment{"next", second, &TargetAssignmentValue{[]TopicPartitions{
			{Topic: trips, Partitions: []int32{0, 1, 2}}, {Topic: orders, Partitions: []int32{0, 1}},
		}}},
		16: CurrentAssignment{"next", first, &CurrentAssignmentValue{
			Epoch: 2, PreviousEpoch: 2, State: 1,
			Assigned: []TopicPartitions{{orders, []int32{2}, []int32{2}}}, Revoking: []TopicPartitions{{orders, []int32{0, 1}, []int32{2, 2}}},
		}},
		18: Regex{"regex", "or.*", &RegexValue{[]string{"orders"}, 109, 1795993532464}},
	}
	dumps, records := golden(t)
	for i, want := range want {
		got, err := Decode(records[i].Key, records[i].Value)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("record %d, %s: %v\n%s", i, dumps[i], err, diff)
		}
	}
}

// Older Kafkas' values, as kmsg writes them.
func TestOldVersions(t *testing.T) {
	t.Parallel()
	for version := range int16(5) {
		key := kmsg.OffsetCommitKey{Version: min(version, 1), Group: "g", Topic: "t", Partition: 7}
		value := kmsg.OffsetCommitValue{Version: version, Offset: 5, LeaderEpoch: 3, Metadata: "m", CommitTimestamp: 11, ExpireTimestamp: 13}
		want := Offset{"g", "t", 7, &OffsetValue{Offset: 5, LeaderEpoch: batch.NoEpoch, Metadata: "m", Committed: 11, Expires: -1}}
		if version == 1 {
			want.Value.Expires = 13
		}
		if version >= 3 {
			want.Value.LeaderEpoch = 3
		}
		decodes(t, key.AppendTo(nil), value.AppendTo(nil), want)

		member := kmsg.GroupMetadataValueMember{
			MemberID: "m", InstanceID: new("i"), ClientID: "c", ClientHost: "h", RebalanceTimeoutMillis: 17, SessionTimeoutMillis: 19,
			Subscription: []byte("s"), Assignment: []byte("a"),
		}
		group := kmsg.GroupMetadataValue{
			Version: version, ProtocolType: "consumer", Generation: 4, Protocol: new("range"), Leader: new("m"), CurrentStateTimestamp: 23,
			Members: []kmsg.GroupMetadataValueMember{member},
		}
		classic := ClassicMember{
			ID: "m", ClientID: "c", ClientHost: "h", RebalanceTimeoutMs: 19, SessionTimeout: 19, Subscription: []byte("s"), Assignment: []byte("a"),
		}
		state := &ClassicValue{ProtocolType: "consumer", Generation: 4, Protocol: new("range"), Leader: new("m"), Changed: -1}
		if version >= 1 {
			classic.RebalanceTimeoutMs = 17
		}
		if version >= 2 {
			state.Changed = 23
		}
		if version >= 3 {
			classic.InstanceID = new("i")
		}
		state.Members = []ClassicMember{classic}
		groupKey := kmsg.GroupMetadataKey{Version: 2, Group: "g"}
		decodes(t, groupKey.AppendTo(nil), group.AppendTo(nil), Classic{"g", state})
	}
}

// decodes checks what a record means, and that it means the same when it was written again.
func decodes(t *testing.T, key, value []byte, want Entry) {
	t.Helper()
	for range 2 {
		got, err := Decode(key, value)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%x %x: %v\n%s", key, value, err, diff)
		}
		r := got.Record()
		key, value = r.Key, r.Value
	}
}
