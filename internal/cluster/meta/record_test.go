package meta

import (
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

var (
	idA  = topic.ID{0x0a, 15: 0x01}
	dirA = [16]byte{0xd1, 15: 0x02}
)

// golden are records and their bytes, worked out by hand from Kafka's schemas: frame version, api key, version, fields, tags.
var golden = []struct {
	name   string
	record Record
	bytes  string
}{
	{"topic", TopicRecord{Name: "foo", ID: idA}, "01 02 00 04666f6f 0a000000000000000000000000000001 00"},
	{"remove topic", RemoveTopicRecord{ID: idA}, "01 09 00 0a000000000000000000000000000001 00"},
	{"partition", PartitionRecord{Index: 1, TopicID: idA, Partition: Partition{
		Replicas: []int32{1, 2}, ISR: []int32{1}, Leader: 1, LeaderEpoch: 3, PartitionEpoch: 4, Directories: [][16]byte{dirA, unassigned},
	}}, "01 03 02 00000001 0a000000000000000000000000000001 03 00000001 00000002 02 00000001 01 01" +
		"00000001 00000003 00000004 03 d1000000000000000000000000000002 00000000000000000000000000000001 00"},
	{"partition with tags", PartitionRecord{TopicID: idA, Partition: Partition{
		Replicas: []int32{1}, Leader: -1, Recovering: true, ELR: []int32{1}, LastKnownELR: []int32{2},
	}}, "01 03 02 00000000 0a000000000000000000000000000001 02 00000001 01 01 01 ffffffff 00000000 00000000 01" +
		"03 00 01 01 01 05 02 00000001 02 05 02 00000002"},
	{
		"partition change",
		PartitionChangeRecord{Index: 2, TopicID: idA, Leader: 1, ISR: []int32{1}, Recovery: KeepRecovery},
		"01 05 02 00000002 0a000000000000000000000000000001 02 00 05 02 00000001 01 04 00000001",
	},
	{
		"partition change, all",
		PartitionChangeRecord{
			TopicID: idA, ISR: []int32{}, Leader: -1, Replicas: []int32{3}, Removing: []int32{4},
			Adding: []int32{5}, Recovery: 0, ELR: []int32{6}, LastKnownELR: []int32{7}, Directories: [][16]byte{dirA},
		},
		"01 05 02 00000000 0a000000000000000000000000000001 09 00 01 01 01 04 ffffffff 02 05 02 00000003 03 05 02 00000004" +
			"04 05 02 00000005 05 01 00 06 05 02 00000006 07 05 02 00000007 08 11 02 d1000000000000000000000000000002",
	},
	{
		"config",
		ConfigRecord{Resource: TopicResource("t"), Name: "retention.ms", Value: new("1")},
		"01 04 00 02 0274 0d726574656e74696f6e2e6d73 0231 00",
	},
	{"config deleted", ConfigRecord{Resource: TopicResource("t"), Name: "k"}, "01 04 00 02 0274 026b 00 00"},
	{
		"feature",
		FeatureLevelRecord{Feature: Feature{Name: "metadata.version", Level: 25}},
		"01 0c 00 116d657461646174612e76657273696f6e 0019 00",
	},
	{"producer ids", ProducerIDsRecord{Broker: 1, Epoch: 2, Next: 1000}, "01 0f 00 00000001 0000000000000002 00000000000003e8 00"},
	{
		"register",
		RegisterBrokerRecord{Broker: Broker{
			ID: 1, Epoch: 5, Incarnation: dirA, Directories: [][16]byte{dirA}, Rack: new("r"),
			Endpoints: []Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9092}},
		}, Features: []FeatureRange{{Name: "f", Min: 1, Max: 2}}},
		"01 00 03 00000001 00 d1000000000000000000000000000002 0000000000000005 02 0a504c41494e54455854 0268 2384 0000 00" +
			"02 0266 0001 0002 00 0272 00 00 01 00 11 02 d1000000000000000000000000000002",
	},
	{"unregister", UnregisterBrokerRecord{ID: 1, Epoch: 2}, "01 01 00 00000001 0000000000000002 00"},
	{
		"registration change",
		RegistrationChangeRecord{ID: 1, Epoch: 5, Fenced: -1, ShuttingDown: true, Directories: [][16]byte{dirA}},
		"01 11 02 00000001 0000000000000005 03 00 01 ff 01 01 01 02 11 02 d1000000000000000000000000000002",
	},
	{"no-op", NoOpRecord{}, "01 14 00 00"},
	{"begin", BeginTransactionRecord{Name: new("x")}, "01 17 00 01 00 02 0278"},
	{"end", EndTransactionRecord{}, "01 18 00 00"},
	{"abort", AbortTransactionRecord{}, "01 19 00 00"},
	{"unknown", UnknownRecord{Key: 300, Version: 1, Fields: []byte{9, 8}}, "01 ac02 01 0908"},
}

func goldenBytes(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordBytes(t *testing.T) {
	t.Parallel()
	for _, g := range golden {
		want := goldenBytes(t, g.bytes)
		if got := AppendRecord(nil, g.record); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: encoded\n%x, want\n%x", g.name, got, want)
		}
		got, err := DecodeRecord(want)
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		if diff := cmp.Diff(g.record, got); diff != "" {
			t.Errorf("%s: decoded (-want +got)\n%s", g.name, diff)
		}
	}
}

// TestDecodeCut cuts every record at every byte: an error, never a panic, never a record.
func TestDecodeCut(t *testing.T) {
	t.Parallel()
	for _, g := range golden {
		if g.name == "unknown" {
			continue
		}
		whole := goldenBytes(t, g.bytes)
		for n := range whole {
			if r, err := DecodeRecord(whole[:n]); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s cut at %d: %v, %v; want ErrMalformed", g.name, n, r, err)
			}
		}
		if _, err := DecodeRecord(append(whole, 0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s with a byte too many: %v", g.name, err)
		}
	}
}

// TestDecodeOldVersions reads what older Kafka versions wrote.
func TestDecodeOldVersions(t *testing.T) {
	t.Parallel()
	r, err := DecodeRecord(goldenBytes(t, "01 00 00 00000001 d1000000000000000000000000000002 0000000000000005 01 01 00 01 00"))
	want := RegisterBrokerRecord{Broker: Broker{ID: 1, Epoch: 5, Incarnation: dirA, Fenced: true}}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Errorf("register v0: %v\n%s", err, diff)
	}
	p, err := DecodeRecord(goldenBytes(t, "01 03 00 00000000 0a000000000000000000000000000001 01 01 01 01 ffffffff 00000000 00000000 00"))
	if got := p.(PartitionRecord); err != nil || got.Partition.Leader != -1 || got.Partition.Directories != nil {
		t.Errorf("partition v0: %+v, %v", p, err)
	}
	if r, err := DecodeRecord(goldenBytes(t, "01 02 07 1234")); err != nil || r.(UnknownRecord).Version != 7 {
		t.Errorf("a topic record of a version to come: %v, %v", r, err)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, g := range golden {
		f.Add(goldenBytes(f, g.bytes))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := DecodeRecord(value)
		if err != nil {
			return
		}
		again, err := DecodeRecord(AppendRecord(nil, r))
		if err != nil {
			t.Fatalf("%#v: its own bytes: %v", r, err)
		}
		if diff := cmp.Diff(AppendRecord(nil, r), AppendRecord(nil, again)); diff != "" {
			t.Fatalf("%#v does not come back\n%s", r, diff)
		}
	})
}
