package record

import (
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Record is one record of __consumer_offsets. A nil Value is a tombstone.
type Record struct{ Key, Value []byte }

// Entry is a decoded record: one of the types of this file that have a Record method, or Unknown. Of a tombstone, its Value is nil.
type Entry interface{ Record() Record }

// Unknown is a record of a type that is not kept here: of share and streams groups, or of a newer Kafka.
type Unknown struct {
	Type int16
	Raw  Record
}

// Offset is a committed offset of one partition (OffsetCommitKey, types 0 and 1).
type Offset struct {
	Group, Topic string
	Partition    int32
	Value        *OffsetValue
}

// OffsetValue is what was committed.
type OffsetValue struct {
	Offset      batch.Offset
	LeaderEpoch batch.Epoch // batch.NoEpoch: none
	Metadata    string
	Committed   int64    // when, ms
	Expires     int64    // ms, by the retention that the client asked for; -1: by the broker's
	TopicID     topic.ID // zero: not known
}

// Classic is a classic group as of its last finished rebalance (GroupMetadataKey, type 2).
type Classic struct {
	Group string
	Value *ClassicValue
}

// ClassicValue is a classic group's state.
type ClassicValue struct {
	ProtocolType string
	Generation   int32
	Protocol     *string
	Leader       *string
	Changed      int64 // ms, when its state last changed; -1: not known
	Members      []ClassicMember
}

// ClassicMember is a member of a classic group.
type ClassicMember struct {
	ID                                 string
	InstanceID                         *string
	ClientID, ClientHost               string
	RebalanceTimeoutMs, SessionTimeout int32 // ms
	Subscription, Assignment           []byte
}

// ConsumerGroup is the epoch of a next-generation group (ConsumerGroupMetadataKey, type 3).
type ConsumerGroup struct {
	Group string
	Value *ConsumerGroupValue
}

// ConsumerGroupValue is a group's epoch and the hash of what it is subscribed to.
type ConsumerGroupValue struct {
	Epoch        int32
	MetadataHash int64
}

// ConsumerTopics is the topics of a group as Kafka before 4.1 kept them (ConsumerGroupPartitionMetadataKey, type 4). It is
// read, and removed, never written.
type ConsumerTopics struct {
	Group   string
	Removed bool
}

// ConsumerMember is what a member said of itself (ConsumerGroupMemberMetadataKey, type 5).
type ConsumerMember struct {
	Group, Member string
	Value         *ConsumerMemberValue
}

// ConsumerMemberValue is a member's metadata.
type ConsumerMemberValue struct {
	InstanceID, RackID   *string
	ClientID, ClientHost string
	Topics               []string
	Regex                *string
	RebalanceTimeout     int32 // ms
	Assignor             *string
	Classic              *ClassicProtocols // of a member that speaks the classic protocol
}

// ClassicProtocols is what a classic member of a next-generation group brought.
type ClassicProtocols struct {
	SessionTimeout int32 // ms
	Protocols      []Protocol
}

// Protocol is a classic assignor and a member's metadata for it.
type Protocol struct {
	Name     string
	Metadata []byte
}

// TargetEpoch is the epoch of a group's target assignment (ConsumerGroupTargetAssignmentMetadataKey, type 6).
type TargetEpoch struct {
	Group string
	Value *TargetEpochValue
}

// TargetEpochValue is that epoch.
type TargetEpochValue struct {
	Epoch     int32
	Timestamp int64 // ms, when it was computed; 0: not known
}

// TargetAssignment is what a member shall own (ConsumerGroupTargetAssignmentMemberKey, type 7).
type TargetAssignment struct {
	Group, Member string
	Value         *TargetAssignmentValue
}

// TargetAssignmentValue is the partitions of a member.
type TargetAssignmentValue struct{ Topics []TopicPartitions }

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	Topic      topic.ID
	Partitions []int32
	// Epochs are the member epochs at which each partition was assigned, of current assignments by newer Kafkas; nil: not known.
	Epochs []int32
}

// CurrentAssignment is what a member owns (ConsumerGroupCurrentMemberAssignmentKey, type 8).
type CurrentAssignment struct {
	Group, Member string
	Value         *CurrentAssignmentValue
}

// CurrentAssignmentValue is a member's epochs and partitions. State is Kafka's MemberState.
type CurrentAssignmentValue struct {
	Epoch, PreviousEpoch int32
	State                int8
	Assigned, Revoking   []TopicPartitions
}

// Regex is the topics that a pattern resolved to (ConsumerGroupRegularExpressionKey, type 16).
type Regex struct {
	Group, Pattern string
	Value          *RegexValue
}

// RegexValue is a resolved pattern: at which metadata version and time (ms).
type RegexValue struct {
	Topics             []string
	Version, Timestamp int64
}
