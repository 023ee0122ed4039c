package group

import (
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Token names a request that is to be answered. Each is used once.
type Token uint64

// Caller is who asks.
type Caller struct {
	Token    Token
	ClientID string
	Host     string // as Kafka shows it: "/127.0.0.1"
	// FreshID is a random UUID, for a member id if one is made.
	FreshID string
}

// Input is one of the inputs below and in input_*.go.
type Input interface{ token() Token }

// TokenOf is an input's token; 0 of one that is not answered.
func TokenOf(in Input) Token { return in.token() }

func (c Caller) token() Token { return c.Token }

// Tick says that a time that Next named has come. It is answered by nobody.
type Tick struct{}

// Loaded says that the replay is over: sessions begin.
type Loaded struct{}

// NewImage is the newest metadata, before anything else and at each change.
type NewImage struct{ Image *meta.Image }

func (Tick) token() Token     { return 0 }
func (Loaded) token() Token   { return 0 }
func (NewImage) token() Token { return 0 }

// Reply answers a token. Result is the *...Result that belongs to the token's input.
type Reply struct {
	Token  Token
	Result any
	// Wait is the end of the records that the result shows: it may leave when all below is committed. 0: nothing.
	Wait batch.Offset
}

// Effects are what a Step wants done: append Records as one batch, Apply each, and send Replies when they are committed.
// Only the records of a large commit may need several batches: each offset stands for itself.
type Effects struct {
	Records []record.Record
	Replies []Reply
	// Retractable: nothing was changed but by Records, so that if they cannot be appended, an error for the replies is all there is to do.
	Retractable bool
	// Rebalances are the rebalances that began, for the metrics.
	Rebalances []Rebalance
}

// Rebalance is one that began.
type Rebalance struct {
	Group string
	// Reason is one of a few words: join, leave, session, rejoin, metadata, subscription, ...
	Reason string
	// Detail says more, for the log.
	Detail string
}

// Options are the settings, resolved; Kafka's names stand beside them.
type Options struct {
	// OffsetMetadataMax is offset.metadata.max.bytes.
	OffsetMetadataMax int
	// OffsetsRetention is offsets.retention.minutes, and RetentionInterval offsets.retention.check.interval.ms.
	OffsetsRetention, RetentionInterval time.Duration
	// RecordMax is the most bytes of one record: max.message.bytes of the topic, less the batch's own.
	RecordMax int
	// Match matches patterns of subscriptions with topics; nil: each time anew.
	Match    consumer.Matcher
	Classic  ClassicOptions
	Consumer ConsumerOptions
}

// ClassicOptions are about the classic protocol.
type ClassicOptions struct {
	MinSession, MaxSession time.Duration // group.min.session.timeout.ms, group.max.session.timeout.ms
	InitialDelay           time.Duration // group.initial.rebalance.delay.ms
	MaxSize                int           // group.max.size
}

// ConsumerOptions are about the next generation; groups may override some (see Machine.consumerOptions).
type ConsumerOptions struct {
	Session, MinSession, MaxSession              time.Duration // group.consumer.session.timeout.ms and its bounds
	Heartbeat, MinHeartbeat, MaxHeartbeat        time.Duration // group.consumer.heartbeat.interval.ms and its bounds
	MaxSize                                      int           // group.consumer.max.size
	Assignors                                    []string      // group.consumer.assignors
	AssignmentInterval                           time.Duration // group.consumer.assignment.interval.ms, and its bounds
	MinAssignmentInterval, MaxAssignmentInterval time.Duration
	Upgrade, Downgrade                           bool // group.consumer.migration.policy
}
