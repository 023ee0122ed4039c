package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Topic is where groups are kept.
const Topic = topic.ConsumerOffsets

// Options say what a coordinator stands on.
type Options struct {
	Node   Node
	Group  group.Options // RecordMax and Match are the coordinator's
	Log    *slog.Logger
	Faults *slog.Logger // for lines that clients can cause again and again, whose rate should be bounded; nil: Log
	Now    func() time.Time
	// Changes has a token after each change of the metadata.
	Changes <-chan struct{}
	// Partitions, ReplicationFactor and Configs are for when the topic is made: offsets.topic.num.partitions and the like.
	Partitions        int32
	ReplicationFactor int16
	Configs           []meta.NewConfig
}

// Node is what a coordinator needs of the broker.
type Node interface {
	Image() *meta.Image
	Partition(topic string, index int32) (*partition.Partition, error)
	// Stored reports whether the partition has a directory: without one there is nothing to load, and none is made for it.
	Stored(topic string, index int32) bool
	// Known is what is known of a partition without opening it: p is nil if it is not open. It is false if the partition is not here.
	Known(topic string, index int32) (p *partition.Partition, marks partition.Offsets, ok bool)
	TopicOptions(name string) partition.Options
	CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error)
}

// Coordinator is the group coordinator of this node. It serves while Run runs; before, and after Close, it coordinates nothing.
type Coordinator struct {
	opts   Options
	faults *slog.Logger // for what clients can make happen again and again
	tokens atomic.Uint64
	table  atomic.Pointer[table]
	poked  chan struct{} // has room for one: something is due earlier than was known
	loads  loadQueue
	stamps stamps
	// matched is shared by the shards.
	matched *patterns

	// making is held while the topic is made, so that many first consumers ask for it once.
	making sync.Mutex
	mu     struct {
		sync.Mutex
		closed bool
	}
}

// table is the shards of one __consumer_offsets, by partition. It does not change.
type table struct {
	id     topic.ID
	shards []*shard
}

// New returns a coordinator. It knows at once which groups are to be loaded, so that nobody is told meanwhile that there are none.
func New(opts Options) *Coordinator {
	c := &Coordinator{
		opts: opts, faults: cmp.Or(opts.Faults, opts.Log), poked: make(chan struct{}, 1), loads: loadQueue{more: make(chan struct{}, 1)}, matched: newPatterns(patternsMax),
	}
	c.opts.Group.Match = c.matched.match
	c.follow()
	return c
}

// Caller begins a request of a client; remote is its address as Kafka shows it ("/127.0.0.1"). It is for one input.
func (c *Coordinator) Caller(clientID, remote string) group.Caller {
	return group.Caller{Token: group.Token(c.tokens.Add(1)), ClientID: clientID, Host: remote, FreshID: freshID()}
}

// freshID is a random UUID (version 4).
func freshID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Ask steps the machine of the group's shard with in. It never waits: the call does. What goes wrong is in the call's result (group.Failed).
func (c *Coordinator) Ask(groupID string, in group.Input) *Call {
	call := newCall(in)
	s := c.shardOf(groupID)
	if s == nil {
		call.fail(kerr.NotCoordinator)
		return call
	}
	c.prepare(in)
	s.ask(call)
	return call
}

// prepare compiles and matches the pattern that in brings, before the lock of a shard is taken: the machine finds it remembered.
func (c *Coordinator) prepare(in group.Input) {
	if in, ok := in.(group.ConsumerHeartbeat); ok && in.Regex != nil && *in.Regex != "" {
		_, _ = c.matched.match(*in.Regex, c.opts.Node.Image()) // the machine tells the error
	}
}

// AskAll asks every shard here; input makes the input for each (List). While there is no __consumer_offsets, that is none; but a coordinator that
// is closed does not know what groups there are.
func (c *Coordinator) AskAll(input func() group.Input) []*Call {
	t := c.table.Load()
	if t == nil {
		if c.closed() {
			call := newCall(input())
			call.fail(kerr.NotCoordinator)
			return []*Call{call}
		}
		return nil
	}
	calls := make([]*Call, len(t.shards))
	for i, s := range t.shards {
		calls[i] = newCall(input())
		s.ask(calls[i])
	}
	return calls
}

// shardOf is where a group is kept: nil while there is no __consumer_offsets.
func (c *Coordinator) shardOf(groupID string) *shard {
	t := c.table.Load()
	if t == nil || len(t.shards) == 0 {
		return nil
	}
	return t.shards[PartitionFor(groupID, int32(len(t.shards)))]
}

// PartitionFor is the partition of a group: Java's String.hashCode, made positive as Kafka's Utils.abs does, modulo their number
// (GroupMetadataManager.partitionFor).
func PartitionFor(groupID string, partitions int32) int32 {
	var h int32
	for _, r := range groupID {
		if r >= 0x10000 { // Java counts UTF-16 units
			r -= 0x10000
			h = 31*h + (0xd800 + r>>10)
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + r
	}
	switch {
	case h == -1<<31:
		h = 0
	case h < 0:
		h = -h
	}
	return h % partitions
}

// poke wakes Run.
func (c *Coordinator) poke() {
	select {
	case c.poked <- struct{}{}:
	default:
	}
}
