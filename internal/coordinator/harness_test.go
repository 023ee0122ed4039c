package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// defaults resolve topics in tests.
type defaults struct{}

func (defaults) Resolve(configs map[string]string) partition.Options {
	return partition.Options{
		Log: log.Options{
			SegmentBytes: 1 << 20, SegmentAge: math.MaxInt64, IndexInterval: 4096, IndexBytesMax: 1 << 16,
			RetentionBytes: -1, RetentionAge: -1,
		},
		MaxMessageBytes: 1 << 20, TimestampBefore: math.MaxInt64, TimestampAfter: math.MaxInt64,
		Compression: batch.CodecProducer, Compact: configs["cleanup.policy"] == "compact", Delete: configs["cleanup.policy"] != "compact", MinISR: 1,
	}
}

func (defaults) Validate(map[string]string, []string) error { return nil }

// node is a broker with its coordinator.
type node struct {
	broker *broker.Broker
	groups *Coordinator
	run    func() // of a still one
	stop   func()
}

// setup says how a node of a test differs from the plain one.
type setup struct {
	resolve func(*partition.Options) // topics
	broker  func(*broker.Options)
	group   func(*group.Options)
	log     *slog.Logger
	now     func() time.Time // of the coordinator
	// still: the test itself follows the metadata, loads and keeps time, in place of Run.
	still bool
}

// resolver resolves topics in tests.
type resolver struct {
	defaults
	change func(*partition.Options)
}

func (r resolver) Resolve(configs map[string]string) partition.Options {
	o := r.defaults.Resolve(configs)
	if r.change != nil {
		r.change(&o)
	}
	return o
}

// bring opens a node on files and runs it until the test ends, or stop. Its groups have their partitions in 3 shards.
func bring(t testing.TB, files vfs.FS) *node {
	t.Helper()
	return setup{}.bring(t, files)
}

func (s setup) bring(t testing.TB, files vfs.FS) *node {
	t.Helper()
	changes := make(chan struct{}, 1)
	opts := broker.Options{
		FS: files, DataDir: "data", NoLock: true, NodeID: 1, Clock: time.Now, Topic: resolver{change: s.resolve},
		OnChange: func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		},
	}
	if s.broker != nil {
		s.broker(&opts)
	}
	b, err := broker.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{broker: b, groups: New(s.options(b, changes))}
	ctx, cancel := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	runs.Go(func() { _ = b.Run(ctx) })
	n.run = func() { runs.Go(func() { _ = n.groups.Run(ctx) }) }
	if !s.still {
		n.run()
	}
	n.stop = sync.OnceFunc(func() {
		n.groups.Close()
		_ = b.Close()
		cancel()
		runs.Wait()
	})
	t.Cleanup(n.stop)
	return n
}

func (s setup) options(b *broker.Broker, changes <-chan struct{}) Options {
	opts := Options{
		Node: b, Log: s.log, Now: s.now, Changes: changes, Partitions: 3, ReplicationFactor: 3,
		Configs: []meta.NewConfig{{Name: "cleanup.policy", Value: new("compact")}},
		Group: group.Options{
			OffsetMetadataMax: 4096, OffsetsRetention: 7 * 24 * time.Hour, RetentionInterval: 10 * time.Minute,
			Classic: group.ClassicOptions{MinSession: time.Second, MaxSession: time.Hour, MaxSize: math.MaxInt32},
			Consumer: group.ConsumerOptions{
				Session: 45 * time.Second, MinSession: time.Second, MaxSession: time.Hour,
				Heartbeat: 5 * time.Second, MinHeartbeat: time.Second, MaxHeartbeat: time.Minute,
				MaxSize: math.MaxInt32, Assignors: []string{"uniform", "range"}, Upgrade: true, Downgrade: true,
			},
		},
	}
	if s.log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		opts.Now = time.Now
	}
	if s.group != nil {
		s.group(&opts.Group)
	}
	return opts
}

// locate makes sure that the group is served.
func (n *node) locate(t testing.TB, groupID string) {
	t.Helper()
	if err := n.groups.Locate(t.Context(), groupID); err != nil {
		t.Fatal(err)
	}
}

// serve makes sure that the group is served, and waits until it is loaded.
func (n *node) serve(t testing.TB, groupID string) {
	t.Helper()
	for n.locate(t, groupID); ; runtime.Gosched() {
		s := n.shard(groupID)
		s.mu.Lock()
		ready := s.mu.state == active
		s.mu.Unlock()
		if ready {
			return
		}
	}
}

// commit commits one offset and waits for the answer.
func (n *node) commit(t testing.TB, groupID, topicName string, offset batch.Offset) error {
	t.Helper()
	in := group.Commit{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Epoch: -1, Retention: -1, Version: 8,
		Topics: []group.CommitTopic{{Topic: topicName, Partitions: []group.CommitPartition{{Offset: offset, LeaderEpoch: -1, Timestamp: -1}}}},
	}
	result := n.groups.Ask(groupID, in).Wait(t.Context()).(group.CommitResult)
	return result.Topics[0].Partitions[0].Err
}

// committed asks for one offset.
func (n *node) committed(t testing.TB, groupID, topicName string) (batch.Offset, error) {
	t.Helper()
	in := group.Fetch{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Epoch: -1,
		Topics: []group.FetchTopic{{Topic: topicName, Partitions: []int32{0}}},
	}
	result := n.groups.Ask(groupID, in).Wait(t.Context()).(group.FetchResult)
	if result.Err != nil {
		return 0, result.Err
	}
	return result.Topics[0].Partitions[0].Offset, result.Topics[0].Partitions[0].Err
}

// commitWide commits the same offset for many partitions of a topic.
func (n *node) commitWide(t testing.TB, groupID, topicName string, partitions int32, offset batch.Offset) {
	t.Helper()
	all := make([]group.CommitPartition, partitions)
	for i := range all {
		all[i] = group.CommitPartition{Partition: int32(i), Offset: offset, LeaderEpoch: -1, Timestamp: -1}
	}
	in := group.Commit{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Epoch: -1, Retention: -1, Version: 8,
		Topics: []group.CommitTopic{{Topic: topicName, Partitions: all}},
	}
	for _, p := range n.groups.Ask(groupID, in).Wait(t.Context()).(group.CommitResult).Topics[0].Partitions {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
	}
}

// shard is the one that a group is in.
func (n *node) shard(groupID string) *shard { return n.groups.shardOf(groupID) }

// reload has the shard of a group thrown away and loaded again, as after a failed append.
func (n *node) reload(groupID string) {
	s := n.shard(groupID)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state == active {
		s.mu.served = time.Time{}
		s.reloadLocked(errors.New("test"))
	}
}

// dirOf is the directory of the partition that a group is in.
func dirOf(groupID string) string { return fmt.Sprintf("%s-%d", Topic, PartitionFor(groupID, 3)) }
