package record

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// What is wrong is refused, with what it is.
func TestMalformed(t *testing.T) {
	t.Parallel()
	group := Classic{Group: "g"}.Record().Key
	member := ConsumerMember{Group: "g", Member: "m"}.Record().Key
	current := CurrentAssignment{Group: "g", Member: "m"}.Record().Key
	for _, c := range []struct {
		name, want string
		key, value string
	}{
		{"no key", "a key of 0 bytes has no type", "", ""},
		{"half a type", "a key of 1 bytes has no type", "\x00", ""},
		{"no group", "type 2: a key of 2 bytes", "\x00\x02", "\x00\x03"},
		{"a null group", "type 2: a key of 4 bytes", "\x00\x02\xff\xff", "\x00\x03"},
		{"a long key", "or 1 bytes late", string(group) + "\x00", ""},
		{"a value without a version", "has version 0", string(group), "\x00"},
		{"a newer version", "has version 5: known are 0 to 4", string(group), "\x00\x05\x00\x00"},
		{"a version below zero", "has version -1", string(group), "\xff\xff\x00\x00"},
		{"a newer topics' version", "has version 1", string(ConsumerTopics{Group: "g", Removed: true}.Record().Key), "\x00\x01"},
		{"members below zero", "ends early", string(group), "\x00\x00" + "\x00\x00" + "\x00\x00\x00\x01" + "\xff\xff" + "\xff\xff" + "\xff\xff\xff\xff"},
		{"a long value", "or 2 bytes late", string(group), string(Classic{"g", &ClassicValue{}}.Record().Value) + "\x00\x00"},
		{"a tag that ends early", "ends early", string(ConsumerGroup{Group: "g"}.Record().Key), "\x00\x00" + "\x00\x00\x00\x01" + "\x01\x00\x07" + "1234567"},
		{"a tag that ends late", "ends early", string(ConsumerGroup{Group: "g"}.Record().Key), "\x00\x00" + "\x00\x00\x00\x01" + "\x01\x00\x09" + "123456789"},
		{"a null topic", "ends early", string(member), "\x00\x00" + "\x00\x00\x01\x01" + "\x02\x00" + "\x00\x00\x00\x00\x00" + "\x00"},
		{"null partitions", "ends early", string(current), "\x00\x00" + strings.Repeat("\x00", 9) + "\x02" + strings.Repeat("x", 16) + "\x00\x00" + "\x01\x00"},
	} {
		value := []byte(c.value)
		e, err := Decode([]byte(c.key), value)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v: expected an error with %q", c.name, e, err, c.want)
		}
	}
}

// What a newer Kafka tags is skipped, wherever it stands.
func TestUnknownTags(t *testing.T) {
	t.Parallel()
	const tags = "\x02" + "\x05\x03abc" + "\x80\x01\x00" // 5: abc; 128: nothing
	decodes(t, ConsumerGroup{Group: "g"}.Record().Key, []byte("\x00\x00"+"\x00\x00\x00\x09"+tags), ConsumerGroup{"g", &ConsumerGroupValue{Epoch: 9}})
	decodes(t, TargetAssignment{Group: "g", Member: "m"}.Record().Key, []byte("\x00\x00"+"\x02"+strings.Repeat("\x07", 16)+"\x02\x00\x00\x00\x03"+tags+tags),
		TargetAssignment{"g", "m", &TargetAssignmentValue{[]TopicPartitions{{Topic: [16]byte([]byte(strings.Repeat("\x07", 16))), Partitions: []int32{3}}}}})
	decodes(t, Regex{Group: "g", Pattern: "p"}.Record().Key, []byte("\x00\x00"+"\x02\x02t"+strings.Repeat("\x00", 16)+tags),
		Regex{"g", "p", &RegexValue{Topics: []string{"t"}}})
	hash := "\x02" + "\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01" + "\x01\x00"
	decodes(t, ConsumerGroup{Group: "g"}.Record().Key, []byte("\x00\x00"+"\x00\x00\x00\x09"+hash), ConsumerGroup{"g", &ConsumerGroupValue{9, 1}})
}

// Assignment epochs that are not one for each partition are as good as none (Kafka 4.3 and older wrote none).
func TestAssignmentEpochs(t *testing.T) {
	t.Parallel()
	key := CurrentAssignment{Group: "g", Member: "m"}.Record().Key
	topicID := strings.Repeat("\x07", 16)
	for _, tag := range []string{"\x00", "\x01\x00\x01\x00", "\x01\x00\x01\x01", "\x01\x00\x05\x02\x00\x00\x00\x04"} {
		value := "\x00\x00" + "\x00\x00\x00\x02" + "\x00\x00\x00\x01" + "\x00" + "\x02" + topicID + "\x03\x00\x00\x00\x05\x00\x00\x00\x06" + tag + "\x01" + "\x00"
		decodes(t, key, []byte(value), CurrentAssignment{"g", "m", &CurrentAssignmentValue{
			Epoch: 2, PreviousEpoch: 1, Assigned: []TopicPartitions{{Topic: [16]byte([]byte(topicID)), Partitions: []int32{5, 6}}}, Revoking: []TopicPartitions{},
		}})
	}
}

// A string that is too long for Kafka is cut, so that the record can be read.
func TestLongStrings(t *testing.T) {
	t.Parallel()
	long, cut := strings.Repeat("x", 100_000), strings.Repeat("x", StringMax)
	for _, c := range []struct{ long, cut Entry }{
		{Regex{long, long, &RegexValue{Topics: []string{long}}}, Regex{cut, cut, &RegexValue{Topics: []string{cut}}}},
		{Classic{long, &ClassicValue{Leader: &long}}, Classic{cut, &ClassicValue{Leader: &cut}}},
	} {
		r := c.long.Record()
		if got, err := Decode(r.Key, r.Value); err != nil || same(c.cut, got) != "" {
			t.Errorf("%T: %v", c.long, err)
		}
	}
}

// No length is believed: whatever stands where one may be, a record takes memory by what it is, not by what it says. It must not run in
// parallel with others, whose memory would count.
func TestMemory(t *testing.T) {
	_, records := golden(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decoded, bytes := 0, 0
	for _, r := range records {
		for at := range r.Value {
			for _, length := range []uint32{0x7fffffff, 0x00ffffff, 0xffffff0f, 0xffffff7f, 0xfeffff07} {
				value := append(append([]byte{}, r.Value[:at]...), binary.BigEndian.AppendUint32(nil, length)...)
				value = append(value, r.Value[min(at+4, len(r.Value)):]...)
				_, _ = Decode(r.Key, value)
				decoded++
				bytes += len(r.Key) + 3*len(value)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if grown, most := after.TotalAlloc-before.TotalAlloc, uint64(bytes*20+decoded*2048); grown > most {
		t.Errorf("%d records of %d bytes took %d bytes, expected at most %d", decoded, bytes, grown, most)
	}
}
