package coordinator

import (
	"context"
	"log/slog"
	"math"
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

func (defaults) Validate(map[string]string) error { return nil }

// node is a broker with its coordinator.
type node struct {
	broker *broker.Broker
	groups *Coordinator
	stop   func()
}

// bring opens a node on files and runs it until the test ends, or stop. Its groups have their partitions in 3 shards.
func bring(t testing.TB, files vfs.FS) *node {
	t.Helper()
	changes := make(chan struct{}, 1)
	b, err := broker.Open(t.Context(), broker.Options{
		FS: files, DataDir: "data", NoLock: true, NodeID: 1, Clock: time.Now, Topic: defaults{},
		OnChange: func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{broker: b}
	n.groups = New(Options{
		Node: b, Log: slog.New(slog.DiscardHandler), Now: time.Now, Changes: changes, Partitions: 3, ReplicationFactor: 3,
		Configs: []meta.NewConfig{{Name: "cleanup.policy", Value: new("compact")}},
		Group: group.Options{
			OffsetMetadataMax: 4096, OffsetsRetention: 7 * 24 * time.Hour, RetentionInterval: 10 * time.Minute,
			Classic: group.ClassicOptions{MinSession: time.Second, MaxSession: time.Hour, MaxSize: math.MaxInt32},
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	runs.Go(func() { _ = b.Run(ctx) })
	runs.Go(func() { _ = n.groups.Run(ctx) })
	n.stop = sync.OnceFunc(func() {
		n.groups.Close()
		_ = b.Close()
		cancel()
		runs.Wait()
	})
	t.Cleanup(n.stop)
	return n
}

// locate makes sure that the group is served.
func (n *node) locate(t testing.TB, groupID string) {
	t.Helper()
	if err := n.groups.Locate(t.Context(), groupID); err != nil {
		t.Fatal(err)
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
