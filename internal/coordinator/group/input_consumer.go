package group

import (
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// ConsumerHeartbeat is ConsumerGroupHeartbeat (KIP-848). Nil or negative fields did not change.
type ConsumerHeartbeat struct {
	Caller
	Group, Member      string
	Epoch              int32
	InstanceID, RackID *string
	RebalanceTimeout   time.Duration // negative: unchanged
	Topics             []string      // nil: unchanged
	Regex              *string
	Assignor           *string
	Owned              []record.TopicPartitions // nil: unchanged
	Version            int16
}

// ConsumerHeartbeatResult answers it. Assignment is nil if it did not change.
type ConsumerHeartbeatResult struct {
	Err        error
	Member     string
	Epoch      int32
	Interval   time.Duration
	Assignment *[]record.TopicPartitions
}

// ConsumerDescribe is ConsumerGroupDescribe for one group.
type ConsumerDescribe struct {
	Caller
	Group string
}

// ConsumerDescribeResult is a next-generation group.
type ConsumerDescribeResult struct {
	Err                    error
	Group, State, Assignor string
	Epoch, AssignmentEpoch int32
	Members                []ConsumerDescribed
}

// ConsumerDescribed is a member of it. Topics of its assignments have names where the image knows them.
type ConsumerDescribed struct {
	Member             string
	InstanceID, RackID *string
	Epoch              int32
	ClientID, Host     string
	Topics             []string
	Regex              *string
	Assigned, Target   []record.TopicPartitions
	Classic            bool // it speaks the classic protocol
}
