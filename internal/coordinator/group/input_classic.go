package group

import (
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// Join is JoinGroup.
type Join struct {
	Caller
	Group, Member       string
	InstanceID          *string
	ProtocolType        string
	Protocols           []record.Protocol
	Session, Rebalance  time.Duration // versions without a rebalance timeout send their session's
	NeedsKnownID        bool          // version 4 and later (KIP-394)
	KnowsSkipAssignment bool          // version 9 and later (KIP-814)
	Reason              string
}

// JoinResult answers it, when the rebalance is over.
type JoinResult struct {
	Err                    error
	Generation             int32
	ProtocolType, Protocol *string
	Leader, Member         string
	SkipAssignment         bool
	Members                []JoinedMember // of the leader only
}

// JoinedMember is a member as its leader sees it.
type JoinedMember struct {
	Member     string
	InstanceID *string
	Metadata   []byte
}

// Sync is SyncGroup.
type Sync struct {
	Caller
	Group, Member          string
	InstanceID             *string
	Generation             int32
	ProtocolType, Protocol *string // from version 5 on
	Assignments            []Assigned
}

// Assigned is what the leader gives a member.
type Assigned struct {
	Member     string
	Assignment []byte
}

// SyncResult answers it.
type SyncResult struct {
	Err                    error
	ProtocolType, Protocol *string
	Assignment             []byte
}

// Heartbeat is the classic Heartbeat.
type Heartbeat struct {
	Caller
	Group, Member string
	InstanceID    *string
	Generation    int32
}

// HeartbeatResult answers it.
type HeartbeatResult struct{ Err error }

// Leave is LeaveGroup.
type Leave struct {
	Caller
	Group   string
	Members []LeavingMember
}

// LeavingMember is a member by id, or by instance id with an empty member id.
type LeavingMember struct {
	Member     string
	InstanceID *string
	Reason     string
	Err        error // of a result
}

// LeaveResult has an Err for each member, or one for all.
type LeaveResult struct {
	Err     error
	Members []LeavingMember
}

// Describe is DescribeGroups for one group.
type Describe struct {
	Caller
	Group string
}

// DescribeResult is a classic group. One that is not there is Dead, with Err GROUP_ID_NOT_FOUND, which versions before 6 do not show.
type DescribeResult struct {
	Err                           error
	Group                         string
	State, ProtocolType, Protocol string
	Members                       []DescribedMember
}

// DescribedMember is a member of a classic group.
type DescribedMember struct {
	Member               string
	InstanceID           *string
	ClientID, Host       string
	Metadata, Assignment []byte
}
