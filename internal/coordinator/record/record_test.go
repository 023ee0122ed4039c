package record

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// anyEntry draws an entry as the machine may emit it.
func anyEntry(t *rapid.T) Entry {
	text := rapid.StringN(0, 40, 300)
	group, member := text.Draw(t, "group"), text.Draw(t, "member")
	tombstone := rapid.Bool().Draw(t, "tombstone")
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); kind {
	case 0:
		return Offset{Group: group, Topic: text.Draw(t, "topic"), Partition: rapid.Int32().Draw(t, "partition"), Value: maybe(t, tombstone, offsetValue)}
	case 1:
		return Classic{Group: group, Value: maybe(t, tombstone, classicValue)}
	case 2:
		return ConsumerGroup{Group: group, Value: maybe(t, tombstone, func(t *rapid.T) ConsumerGroupValue {
			return ConsumerGroupValue{Epoch: rapid.Int32().Draw(t, "epoch"), MetadataHash: rapid.Int64().Draw(t, "hash")}
		})}
	case 3:
		return ConsumerTopics{Group: group, Removed: tombstone}
	case 4:
		return ConsumerMember{Group: group, Member: member, Value: maybe(t, tombstone, memberValue)}
	case 5:
		return TargetEpoch{Group: group, Value: maybe(t, tombstone, func(t *rapid.T) TargetEpochValue {
			return TargetEpochValue{Epoch: rapid.Int32().Draw(t, "epoch"), Timestamp: rapid.Int64().Draw(t, "timestamp")}
		})}
	case 6:
		return TargetAssignment{Group: group, Member: member, Value: maybe(t, tombstone, func(t *rapid.T) TargetAssignmentValue {
			return TargetAssignmentValue{Topics: partitions(t, false)}
		})}
	case 7:
		return CurrentAssignment{Group: group, Member: member, Value: maybe(t, tombstone, func(t *rapid.T) CurrentAssignmentValue {
			return CurrentAssignmentValue{
				Epoch: rapid.Int32().Draw(t, "epoch"), PreviousEpoch: rapid.Int32().Draw(t, "previous"), State: rapid.Int8().Draw(t, "state"),
				Assigned: partitions(t, true), Revoking: partitions(t, true),
			}
		})}
	case 8:
		return Regex{Group: group, Pattern: member, Value: maybe(t, tombstone, func(t *rapid.T) RegexValue {
			return RegexValue{Topics: texts(t), Version: rapid.Int64().Draw(t, "version"), Timestamp: rapid.Int64().Draw(t, "timestamp")}
		})}
	default:
		raw := append([]byte{0, byte(rapid.IntRange(9, 15).Draw(t, "type"))}, rapid.SliceOf(rapid.Byte()).Draw(t, "key")...)
		e := Unknown{Type: int16(raw[1]), Raw: Record{Key: raw}}
		if !tombstone {
			e.Raw.Value = append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "value")...)
		}
		return e
	}
}

func maybe[T any](t *rapid.T, none bool, draw func(t *rapid.T) T) *T {
	if none {
		return nil
	}
	v := draw(t)
	return &v
}

// offsetValue draws what version 1 or 4 can hold: with an expiry there is no epoch and no id.
func offsetValue(t *rapid.T) OffsetValue {
	v := OffsetValue{
		Offset: batch.Offset(rapid.Int64().Draw(t, "offset")), LeaderEpoch: batch.NoEpoch,
		Metadata: rapid.String().Draw(t, "metadata"), Committed: rapid.Int64().Draw(t, "committed"), Expires: -1,
	}
	if rapid.Bool().Draw(t, "expires") {
		v.Expires = rapid.Int64().Draw(t, "expiry")
	}
	if v.Expires == -1 {
		v.LeaderEpoch = batch.Epoch(rapid.Int32().Draw(t, "epoch"))
		v.TopicID = id(t)
	}
	return v
}

func classicValue(t *rapid.T) ClassicValue {
	return ClassicValue{
		ProtocolType: rapid.String().Draw(t, "type"), Generation: rapid.Int32().Draw(t, "generation"), Protocol: text(t), Leader: text(t),
		Changed: rapid.Int64().Draw(t, "changed"), Members: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ClassicMember {
			return ClassicMember{
				ID: rapid.String().Draw(t, "id"), InstanceID: text(t), ClientID: rapid.String().Draw(t, "client"), ClientHost: rapid.String().Draw(t, "host"),
				RebalanceTimeoutMs: rapid.Int32Range(0, 1<<30).Draw(t, "rebalance"), SessionTimeout: rapid.Int32().Draw(t, "session"),
				Subscription: rapid.SliceOf(rapid.Byte()).Draw(t, "subscription"), Assignment: rapid.SliceOf(rapid.Byte()).Draw(t, "assignment"),
			}
		}), 0, 5).Draw(t, "members"),
	}
}

func memberValue(t *rapid.T) ConsumerMemberValue {
	v := ConsumerMemberValue{
		InstanceID: text(t), RackID: text(t), ClientID: rapid.String().Draw(t, "client"), ClientHost: rapid.String().Draw(t, "host"),
		Topics: texts(t), Regex: text(t), RebalanceTimeout: rapid.Int32().Draw(t, "rebalance"), Assignor: text(t),
	}
	if rapid.Bool().Draw(t, "classic") {
		v.Classic = &ClassicProtocols{
			SessionTimeout: rapid.Int32().Draw(t, "session"),
			Protocols: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Protocol {
				return Protocol{Name: rapid.String().Draw(t, "name"), Metadata: rapid.SliceOf(rapid.Byte()).Draw(t, "metadata")}
			}), 0, 3).Draw(t, "protocols"),
		}
	}
	return v
}

func text(t *rapid.T) *string { return rapid.Ptr(rapid.String(), true).Draw(t, "text") }

func texts(t *rapid.T) []string { return rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "texts") }

func id(t *rapid.T) topic.ID {
	var id topic.ID
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "id"))
	return id
}

func partitions(t *rapid.T, epochs bool) []TopicPartitions {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) TopicPartitions {
		p := TopicPartitions{Topic: id(t), Partitions: rapid.SliceOf(rapid.Int32()).Draw(t, "partitions")}
		if n := len(p.Partitions); epochs && n > 0 && rapid.Bool().Draw(t, "epochs") {
			p.Epochs = rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "epoch")
		}
		return p
	}), 0, 5).Draw(t, "assignment")
}

// same reports how two entries differ in meaning: an empty list is as good as none.
func same(a, b Entry) string {
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return cmp.Diff(a, b)
	}
	return cmp.Diff(a, b, cmpopts.EquateEmpty())
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyEntry(t)
		r := want.Record()
		got, err := Decode(r.Key, r.Value)
		if err != nil {
			t.Fatalf("%#v: %v", want, err)
		}
		if diff := same(want, got); diff != "" {
			t.Fatal(diff)
		}
		for n := range len(r.Key) {
			if e, err := Decode(r.Key[:n], r.Value); !errors.Is(err, ErrMalformed) && !isUnknown(e) {
				t.Fatalf("a key cut at %d of %d: %v, %v", n, len(r.Key), e, err)
			}
		}
		for n := range len(r.Value) {
			if e, err := Decode(r.Key, r.Value[:n]); !errors.Is(err, ErrMalformed) && !isUnknown(e) && !isTopics(e) {
				t.Fatalf("a value cut at %d of %d: %v, %v", n, len(r.Value), e, err)
			}
		}
	})
}

func isUnknown(e Entry) bool { _, ok := e.(Unknown); return ok }

// isTopics: their value is not read but for its version.
func isTopics(e Entry) bool { _, ok := e.(ConsumerTopics); return ok }
