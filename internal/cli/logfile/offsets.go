package logfile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// offsetsKey is the key of a record of __consumer_offsets, as Kafka's dump tool shows it. Of a type that is not known here the
// bytes stand in Raw.
type offsetsKey struct {
	Type string `json:"type"`
	Data any    `json:"data,omitempty"`
	Raw  []byte `json:"raw,omitempty"`
}

// offsetsValue is the value of one.
type offsetsValue struct {
	Version string `json:"version,omitempty"`
	Data    any    `json:"data,omitempty"`
	Raw     []byte `json:"raw,omitempty"`
}

// describeOffsets makes of a record of __consumer_offsets what log dump shows. The value of a tombstone is nil.
func describeOffsets(r batch.Record) (offsetsKey, *offsetsValue, error) {
	e, err := record.Decode(r.Key, r.Value)
	if err != nil {
		return offsetsKey{}, nil, err
	}
	key := offsetsKey{Type: strconv.Itoa(int(binary.BigEndian.Uint16(r.Key)))}
	var data any
	key.Data, data = offsetsData(e)
	if key.Data == nil {
		key.Raw = r.Key[2:]
	}
	if r.Value == nil {
		return key, nil, nil
	}
	value := &offsetsValue{Data: data}
	switch {
	case len(r.Value) < 2:
		value.Raw = r.Value
	case data == nil:
		value.Raw = r.Value[2:]
		fallthrough
	default:
		value.Version = strconv.Itoa(int(binary.BigEndian.Uint16(r.Value)))
	}
	return key, value, nil
}

// dumpOffsets prints a record of __consumer_offsets as Kafka's dump tool does; one that is none as it is, with what is wrong.
func dumpOffsets(w io.Writer, r batch.Record) {
	key, value, err := describeOffsets(r)
	if err != nil {
		dumpContent(w, r)
		fmt.Fprintf(w, " error: %v", err)
		return
	}
	fmt.Fprintf(w, " key: %s payload: ", oneJSON(key))
	if value == nil {
		fmt.Fprint(w, "<DELETE>")
		return
	}
	fmt.Fprint(w, oneJSON(value))
}

// oneJSON is v in JSON, without what would break the row it stands in.
func oneJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // into memory, of structs of strings and numbers
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonOffsets is a record of __consumer_offsets in log dump --offsets -o json; Value is null for a tombstone.
type jsonOffsets struct {
	Key   *offsetsKey   `json:"key,omitempty"`
	Value *offsetsValue `json:"value"`
	Error string        `json:"error,omitempty"`
}

func jsonOffsetsOf(r batch.Record) *jsonOffsets {
	key, value, err := describeOffsets(r)
	if err != nil {
		return &jsonOffsets{Error: err.Error()}
	}
	return &jsonOffsets{Key: &key, Value: value}
}

// The fields of keys, with the names that Kafka gives them. The older ones say group, the others groupId.
type (
	offsetKey struct {
		Group     string `json:"group"`
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
	}
	classicKey struct {
		Group string `json:"group"`
	}
	groupKey struct {
		Group string `json:"groupId"`
	}
	memberKey struct {
		Group  string `json:"groupId"`
		Member string `json:"memberId"`
	}
	regexKey struct {
		Group   string `json:"groupId"`
		Pattern string `json:"regularExpression"`
	}
)

// offsetsData are the fields of the key and of the value; nil: unknown, or none.
func offsetsData(e record.Entry) (key, value any) {
	switch e := e.(type) {
	case record.Offset:
		return offsetKey{e.Group, e.Topic, e.Partition}, of(e.Value, offsetData)
	case record.Classic:
		return classicKey{e.Group}, of(e.Value, classicData)
	case record.ConsumerGroup:
		return groupKey{e.Group}, of(e.Value, func(v *record.ConsumerGroupValue) any {
			return struct {
				Epoch int32 `json:"epoch"`
				Hash  int64 `json:"metadataHash,omitempty"`
			}{v.Epoch, v.MetadataHash}
		})
	case record.ConsumerTopics:
		return groupKey{e.Group}, nil
	case record.ConsumerMember:
		return memberKey{e.Group, e.Member}, of(e.Value, memberData)
	case record.TargetEpoch:
		return groupKey{e.Group}, of(e.Value, func(v *record.TargetEpochValue) any {
			return struct {
				Epoch     int32 `json:"assignmentEpoch"`
				Timestamp int64 `json:"assignmentTimestamp,omitempty"`
			}{v.Epoch, v.Timestamp}
		})
	case record.TargetAssignment:
		return memberKey{e.Group, e.Member}, of(e.Value, targetData)
	case record.CurrentAssignment:
		return memberKey{e.Group, e.Member}, of(e.Value, currentData)
	case record.Regex:
		return regexKey{e.Group, e.Pattern}, of(e.Value, func(v *record.RegexValue) any {
			return struct {
				Topics    []string `json:"topics"`
				Version   int64    `json:"version"`
				Timestamp int64    `json:"timestamp"`
			}{v.Topics, v.Version, v.Timestamp}
		})
	}
	return nil, nil
}

// of is data of v, or nil of a tombstone.
func of[T any](v *T, data func(*T) any) any {
	if v == nil {
		return nil
	}
	return data(v)
}

func offsetData(v *record.OffsetValue) any {
	d := struct {
		Offset      batch.Offset `json:"offset"`
		LeaderEpoch *batch.Epoch `json:"leaderEpoch,omitempty"` // of an offset with an expiry of its own there is none
		Metadata    string       `json:"metadata"`
		Committed   int64        `json:"commitTimestamp"`
		Expires     *int64       `json:"expireTimestamp,omitempty"`
		TopicID     string       `json:"topicId,omitempty"`
	}{Offset: v.Offset, Metadata: v.Metadata, Committed: v.Committed}
	if v.Expires != -1 {
		d.Expires = &v.Expires
		return d
	}
	d.LeaderEpoch = &v.LeaderEpoch
	if v.TopicID != [16]byte{} {
		d.TopicID = v.TopicID.String()
	}
	return d
}

type memberFields struct {
	ID               string  `json:"memberId"`
	InstanceID       *string `json:"groupInstanceId"`
	ClientID         string  `json:"clientId"`
	ClientHost       string  `json:"clientHost"`
	RebalanceTimeout int32   `json:"rebalanceTimeout"`
	SessionTimeout   int32   `json:"sessionTimeout"`
	Subscription     any     `json:"subscription"`
	Assignment       any     `json:"assignment"`
}

func classicData(v *record.ClassicValue) any {
	members := make([]memberFields, 0, len(v.Members))
	for _, m := range v.Members {
		f := memberFields{
			ID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			RebalanceTimeout: m.RebalanceTimeoutMs, SessionTimeout: m.SessionTimeout, Subscription: m.Subscription, Assignment: m.Assignment,
		}
		if v.ProtocolType == "consumer" {
			f.Subscription, f.Assignment = subscriptionData(m.Subscription), assignmentData(m.Assignment)
		}
		members = append(members, f)
	}
	return struct {
		ProtocolType string         `json:"protocolType"`
		Generation   int32          `json:"generation"`
		Protocol     *string        `json:"protocol"`
		Leader       *string        `json:"leader"`
		Changed      int64          `json:"currentStateTimestamp"`
		Members      []memberFields `json:"members"`
	}{v.ProtocolType, v.Generation, v.Protocol, v.Leader, v.Changed, members}
}

type namedPartitions struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// notNil is all, which JSON shows as an empty list where it is nil.
func notNil[T any](all []T) []T { return append([]T{}, all...) }

// subscriptionData is what a consumer told its group's leader (ConsumerProtocolSubscription); bytes that are none stay bytes.
func subscriptionData(b []byte) any {
	var m kmsg.ConsumerMemberMetadata
	if m.ReadFrom(b) != nil {
		return b
	}
	owned := make([]namedPartitions, 0, len(m.OwnedPartitions))
	for _, p := range m.OwnedPartitions {
		owned = append(owned, namedPartitions{p.Topic, notNil(p.Partitions)})
	}
	d := struct {
		Topics     []string           `json:"topics"`
		UserData   []byte             `json:"userData"`
		Owned      *[]namedPartitions `json:"ownedPartitions,omitempty"`
		Generation *int32             `json:"generationId,omitempty"`
		Rack       **string           `json:"rackId,omitempty"`
	}{Topics: notNil(m.Topics), UserData: m.UserData}
	if m.Version >= 1 {
		d.Owned = &owned
	}
	if m.Version >= 2 {
		d.Generation = &m.Generation
	}
	if m.Version >= 3 {
		d.Rack = &m.Rack
	}
	return d
}

// assignmentData is what it was given (ConsumerProtocolAssignment).
func assignmentData(b []byte) any {
	var m kmsg.ConsumerMemberAssignment
	if m.ReadFrom(b) != nil {
		return b
	}
	topics := make([]namedPartitions, 0, len(m.Topics))
	for _, p := range m.Topics {
		topics = append(topics, namedPartitions{p.Topic, notNil(p.Partitions)})
	}
	return struct {
		Topics   []namedPartitions `json:"assignedPartitions"`
		UserData []byte            `json:"userData"`
	}{topics, m.UserData}
}

func memberData(v *record.ConsumerMemberValue) any {
	type protocol struct {
		Name     string `json:"name"`
		Metadata []byte `json:"metadata"`
	}
	type classic struct {
		Session   int32      `json:"sessionTimeoutMs"`
		Protocols []protocol `json:"supportedProtocols"`
	}
	var old *classic
	if v.Classic != nil {
		old = &classic{Session: v.Classic.SessionTimeout, Protocols: []protocol{}}
		for _, p := range v.Classic.Protocols {
			old.Protocols = append(old.Protocols, protocol{p.Name, p.Metadata})
		}
	}
	return struct {
		InstanceID *string  `json:"instanceId"`
		Rack       *string  `json:"rackId"`
		ClientID   string   `json:"clientId"`
		ClientHost string   `json:"clientHost"`
		Topics     []string `json:"subscribedTopicNames"`
		Regex      *string  `json:"subscribedTopicRegex"`
		Rebalance  int32    `json:"rebalanceTimeoutMs"`
		Assignor   *string  `json:"serverAssignor"`
		Classic    *classic `json:"classicMemberMetadata"`
	}{v.InstanceID, v.RackID, v.ClientID, v.ClientHost, v.Topics, v.Regex, v.RebalanceTimeout, v.Assignor, old}
}

type targetPartitions struct {
	Topic      string  `json:"topicId"`
	Partitions []int32 `json:"partitions"`
}

type ownedPartitions struct {
	targetPartitions
	Epochs []int32 `json:"assignmentEpochs"`
}

func targetData(v *record.TargetAssignmentValue) any {
	topics := make([]targetPartitions, 0, len(v.Topics))
	for _, p := range v.Topics {
		topics = append(topics, targetPartitions{p.Topic.String(), p.Partitions})
	}
	return struct {
		Topics []targetPartitions `json:"topicPartitions"`
	}{topics}
}

func currentData(v *record.CurrentAssignmentValue) any {
	owned := func(all []record.TopicPartitions) []ownedPartitions {
		topics := make([]ownedPartitions, 0, len(all))
		for _, p := range all {
			topics = append(topics, ownedPartitions{targetPartitions{p.Topic.String(), p.Partitions}, p.Epochs})
		}
		return topics
	}
	return struct {
		Epoch    int32             `json:"memberEpoch"`
		Previous int32             `json:"previousMemberEpoch"`
		State    int8              `json:"state"`
		Assigned []ownedPartitions `json:"assignedPartitions"`
		Revoking []ownedPartitions `json:"partitionsPendingRevocation"`
	}{v.Epoch, v.PreviousEpoch, v.State, owned(v.Assigned), owned(v.Revoking)}
}
