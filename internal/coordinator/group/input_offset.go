package group

import (
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Commit is OffsetCommit. Topics are named: the caller resolves ids.
type Commit struct {
	Caller
	Group, Member string
	InstanceID    *string
	// Epoch is the generation or member epoch; negative with an empty Member: a standalone consumer.
	Epoch int32
	// Version is the request's: from 9 on STALE_MEMBER_EPOCH is known.
	Version int16
	// Retention is ms (versions 2 to 4); -1: the broker's.
	Retention int64
	Topics    []CommitTopic
}

// CommitTopic are offsets of one topic.
type CommitTopic struct {
	Topic      string
	ID         topic.ID
	Partitions []CommitPartition
}

// CommitPartition is one offset to commit. Err, if set by the caller, is passed through and nothing is committed.
type CommitPartition struct {
	Partition   int32
	Offset      batch.Offset
	LeaderEpoch batch.Epoch
	Metadata    string
	// Timestamp is the commit's, of version 1; -1: now.
	Timestamp int64
	Err       error
}

// CommitResult has the input's topics with an Err for each partition.
type CommitResult struct {
	Topics []CommitTopic
	// Altered are the offsets that somebody other than a consumer has set, as far as the machine can tell: a commit without a member to a
	// group that had members, or one that takes a standalone consumer's offset back.
	Altered []AlteredOffset
}

// AlteredOffset is a committed offset that was changed. Old is -1 if there was none.
type AlteredOffset struct {
	Topic     string
	Partition int32
	Old, New  batch.Offset
}

// Fetch is OffsetFetch for one group.
type Fetch struct {
	Caller
	Group string
	// Member and Epoch are checked if Member is not nil or Epoch not negative (version 9).
	Member *string
	Epoch  int32
	// Topics nil: all.
	Topics        []FetchTopic
	RequireStable bool
}

// FetchTopic are partitions of one topic.
type FetchTopic struct {
	Topic      string
	ID         topic.ID
	Partitions []int32
}

// FetchResult is what is committed: Offset -1 and LeaderEpoch -1 where nothing is. With Err (of the group) there are no topics.
type FetchResult struct {
	Err    error
	Topics []FetchedTopic
}

// FetchedTopic are the offsets of one topic.
type FetchedTopic struct {
	Topic      string
	ID         topic.ID
	Partitions []FetchedPartition
}

// FetchedPartition is one committed offset.
type FetchedPartition struct {
	Partition   int32
	Offset      batch.Offset
	LeaderEpoch batch.Epoch
	Metadata    string
	Err         error
}

// DeleteOffsets is OffsetDelete.
type DeleteOffsets struct {
	Caller
	Group  string
	Topics []FetchTopic
}

// DeleteOffsetsResult has an Err for the group, or one for each partition, in the input's order.
type DeleteOffsetsResult struct {
	Err    error
	Topics []DeletedTopic
}

// DeletedTopic are the results for one topic.
type DeletedTopic struct {
	Topic      string
	Partitions []DeletedPartition
}

// DeletedPartition is one result. Old is the offset that was committed; -1: none.
type DeletedPartition struct {
	Partition int32
	Old       batch.Offset
	Err       error
}

// Delete is DeleteGroups for one group.
type Delete struct {
	Caller
	Group string
}

// DeleteResult is its outcome.
type DeleteResult struct{ Err error }

// List is ListGroups: the groups in these states and of these types, in any case of letters; none: all.
type List struct {
	Caller
	States, Types Filter
}

// ListResult are groups, by name. Err is set by the shell alone, of a machine that is not there yet.
type ListResult struct {
	Err    error
	Groups []Listed
}

// Listed is one group. State and Type are Kafka's words: "Stable", "classic", "consumer".
type Listed struct{ Group, ProtocolType, State, Type string }
