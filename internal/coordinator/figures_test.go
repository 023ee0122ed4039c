package coordinator

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// topicWide makes a topic of some partitions.
func (n *node) topicWide(t testing.TB, name string, partitions int32) {
	t.Helper()
	results, err := n.broker.CreateTopics(t.Context(), []meta.NewTopic{{Name: name, Partitions: partitions, ReplicationFactor: 1}}, false)
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

// produce appends a batch of records that were made ago, and waits until it is committed.
func (n *node) produce(t testing.TB, topicName string, index int32, records int, ago time.Duration) {
	t.Helper()
	p, err := n.broker.Partition(topicName, index)
	if err != nil {
		t.Fatal(err)
	}
	var w batch.Builder
	w.Reset(batch.NewFields(0))
	for i := range records {
		w.Append(batch.Record{Offset: batch.Offset(i), Timestamp: time.Now().Add(-ago).UnixMilli(), Value: []byte("v")})
	}
	built, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	offered := &partition.Produce{Records: built}
	p.Append(time.Now(), []*partition.Produce{offered})
	wait := partition.NewWaiter()
	defer p.Unwatch(wait)
	for {
		p.Watch(wait)
		if done, err := p.Await(offered.End); err != nil || offered.Err != nil {
			t.Fatal(err, offered.Err)
		} else if done {
			return
		}
		<-wait.C
	}
}

// commitAt commits an offset of any partition.
func (n *node) commitAt(t testing.TB, groupID, topicName string, offsets map[int32]batch.Offset) {
	t.Helper()
	in := group.Commit{Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Epoch: -1, Retention: -1, Version: 8}
	topic := group.CommitTopic{Topic: topicName}
	for index, offset := range offsets {
		topic.Partitions = append(topic.Partitions, group.CommitPartition{Partition: index, Offset: offset, LeaderEpoch: -1, Timestamp: -1})
	}
	in.Topics = append(in.Topics, topic)
	result := n.groups.Ask(groupID, in).Wait(t.Context()).(group.CommitResult)
	for _, p := range result.Topics[0].Partitions {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
	}
}

// figuresOf are a group's; the zero value if it is not there.
func figuresOf(f Figures, groupID string) GroupFigures {
	for _, g := range f.Groups {
		if g.Group == groupID {
			return g
		}
	}
	return GroupFigures{}
}

// about reports whether s is known and within some seconds above want.
func (s Seconds) about(want float64) bool { return s.Known && s.Value >= want && s.Value < want+30 }

// TestLag: in records and seconds, of what is ahead, behind and beyond the log.
func TestLag(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicWide(t, "orders", 5)
	n.produce(t, "orders", 0, 3, 300*time.Second)
	n.produce(t, "orders", 0, 2, 100*time.Second)
	n.produce(t, "orders", 1, 1, time.Hour)
	n.produce(t, "orders", 2, 4, 50*time.Second)
	n.produce(t, "orders", 2, 4, 40*time.Second)
	p, err := n.broker.Partition("orders", 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DeleteRecords(4); err != nil {
		t.Fatal(err)
	}
	n.locate(t, "g")
	n.eventually(t, "g", "orders")
	if f := n.groups.Figures(100); len(f.Groups) > 0 || f.Loading > 0 {
		t.Errorf("before there is a group: %+v", f)
	}
	n.commitAt(t, "g", "orders", map[int32]batch.Offset{0: 3, 1: 1, 2: 1, 3: 0, 4: 9})
	f := n.groups.Figures(100)
	g := figuresOf(f, "g")
	if g.State != "Empty" || g.Type != "classic" || g.Commits != 1 || g.Lag != 9 || f.Offsets != 5 || f.Unlisted != 0 {
		t.Errorf("%+v", f)
	}
	if len(g.Topics) != 1 || g.Topics[0].Offset != 3+1+1+9 || g.Topics[0].Lag != 9 || len(g.Topics[0].Partitions) != 5 {
		t.Fatalf("%+v", g.Topics)
	}
	for i, want := range []struct {
		offset  batch.Offset
		lag     int64
		seconds float64
	}{
		{3, 2, 100}, // the second batch
		{1, 0, 0},   // all is read, however old
		{1, 7, 40},  // deleted records are behind, but are not the oldest there is
		{0, 0, 0},   // empty
		{9, 0, 0},   // committed beyond the end
	} {
		got := g.Topics[0].Partitions[i]
		if got.Offset != want.offset || got.Lag != want.lag || want.lag > 0 && !got.Seconds.about(want.seconds) || want.lag == 0 && got.Seconds != (Seconds{Known: true}) {
			t.Errorf("partition %d: %+v, want %+v", i, got, want)
		}
	}
	if !g.Seconds.about(100) {
		t.Errorf("the group is %+v behind", g.Seconds)
	}
	n.commitAt(t, "g", "orders", map[int32]batch.Offset{0: 4, 2: 8})
	if g = figuresOf(n.groups.Figures(100), "g"); g.Lag != 1 || !g.Seconds.about(100) || g.Commits != 2 {
		t.Errorf("in the middle of a batch: %+v", g)
	}
}

// TestLagOfClosedPartitions: after a restart, what nobody has opened stays closed; records are known, and seconds when it is open.
func TestLagOfClosedPartitions(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	n := bring(t, files)
	n.topicWide(t, "orders", 1)
	n.produce(t, "orders", 0, 10, time.Minute)
	n.locate(t, "g")
	n.eventually(t, "g", "orders")
	n.commitAt(t, "g", "orders", map[int32]batch.Offset{0: 4})
	n.stop()
	n = bring(t, files)
	n.locate(t, "g")
	n.eventually(t, "g", "orders")
	if g := figuresOf(n.groups.Figures(100), "g"); g.Lag != 6 || g.Seconds.Known || g.Topics[0].Partitions[0].Seconds.Known {
		t.Errorf("closed: %+v", g)
	}
	if p, _, _ := n.broker.Known("orders", 0); p != nil {
		t.Error("the figures opened the partition")
	}
	if _, err := n.broker.Partition("orders", 0); err != nil {
		t.Fatal(err)
	}
	if g := figuresOf(n.groups.Figures(100), "g"); g.Lag != 6 || !g.Seconds.about(60) {
		t.Errorf("open: %+v", g)
	}
}

// TestFiguresAreBounded: past the bound there are sums, and the age of what is furthest behind.
func TestFiguresAreBounded(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicWide(t, "orders", 4)
	for i := range int32(4) {
		n.produce(t, "orders", i, int(i)+1, time.Duration(i+1)*100*time.Second)
	}
	for i := range 10 {
		id := fmt.Sprint("g", i)
		n.locate(t, id)
		n.eventually(t, id, "orders")
		n.commitAt(t, id, "orders", map[int32]batch.Offset{0: 0, 1: 0, 2: 0, 3: 0})
	}
	f := n.groups.Figures(6)
	listed := 0
	for _, g := range f.Groups {
		if g.Lag != 10 || !g.Seconds.about(400) {
			t.Errorf("%s: %d records, %+v", g.Group, g.Lag, g.Seconds)
		}
		for _, topic := range g.Topics {
			listed += len(topic.Partitions)
		}
	}
	if len(f.Groups) != 10 || listed != 6 || f.Offsets != 40 || f.Unlisted != 34 {
		t.Errorf("%d groups, %d of %d partitions listed, %d not", len(f.Groups), listed, f.Offsets, f.Unlisted)
	}
	// Timestamps are kept for the next look, and no longer.
	kept := len(n.groups.stamps.kept)
	if n.groups.Figures(0); kept != 4 || len(n.groups.stamps.kept) != 1 {
		t.Errorf("%d timestamps were kept, then %d", kept, len(n.groups.stamps.kept))
	}
}

// TestCountsOfGroupsThatAreGone: counts go with their group, though nobody looks at them.
func TestCountsOfGroupsThatAreGone(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicOf(t, "orders")
	n.locate(t, "g")
	n.eventually(t, "g", "orders")
	if err := n.commit(t, "g", "orders", 1); err != nil {
		t.Fatal(err)
	}
	s := n.groups.shardOf("g")
	s.mu.Lock()
	for i := range 10 * countsSpare {
		s.rebalancedLocked(group.Rebalance{Group: fmt.Sprint("gone-", i), Reason: "join"})
	}
	for i := range 2 * reasonsMax {
		s.rebalancedLocked(group.Rebalance{Group: "g", Reason: strconv.Itoa(i)})
	}
	kept := len(s.mu.counts.groups)
	s.mu.Unlock()
	if kept > 2*countsSpare {
		t.Errorf("counts of %d groups are kept", kept)
	}
	g := figuresOf(n.groups.Figures(10), "g")
	if g.Commits != 1 || len(g.Rebalances) != reasonsMax+1 || g.Rebalances[reasonsMax] != (Rebalances{"other", reasonsMax}) {
		t.Errorf("%+v", g)
	}
	if err := n.delete(t, "g"); err != nil {
		t.Fatal(err)
	}
	f := n.groups.Figures(10)
	if len(f.Groups) > 0 || f.OffsetsRemoved != 1 {
		t.Errorf("after the group was deleted: %+v", f)
	}
}

// delete deletes a group.
func (n *node) delete(t testing.TB, groupID string) error {
	t.Helper()
	in := group.Delete{Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID}
	return n.groups.Ask(groupID, in).Wait(t.Context()).(group.DeleteResult).Err
}

// TestRefusedCommits are counted, and make no group.
func TestRefusedCommits(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicOf(t, "orders")
	n.locate(t, "g")
	n.eventually(t, "g", "orders")
	in := group.Commit{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: "g", Member: "stranger", Epoch: 3, Retention: -1, Version: 8,
		Topics: []group.CommitTopic{{Topic: "orders", Partitions: []group.CommitPartition{{Offset: 1, LeaderEpoch: -1, Timestamp: -1}}}},
	}
	result := n.groups.Ask("g", in).Wait(t.Context()).(group.CommitResult)
	if err := result.Topics[0].Partitions[0].Err; !errors.Is(err, kerr.IllegalGeneration) {
		t.Fatal(err)
	}
	if f := n.groups.Figures(10); f.CommitsRefused != 1 || len(f.Groups) > 0 || len(n.groups.shardOf("g").mu.counts.groups) > 0 {
		t.Errorf("%+v", f)
	}
}

// TestFiguresBesideCommits: looks and commits of many at once, while shards are loaded again.
func TestFiguresBesideCommits(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicWide(t, "orders", 8)
	n.produce(t, "orders", 0, 1000, time.Minute)
	n.locate(t, "g0")
	var runs sync.WaitGroup
	for i := range 4 {
		id := fmt.Sprint("g", i)
		n.eventually(t, id, "orders")
		runs.Go(func() {
			for at := range batch.Offset(200) {
				for errors.Is(n.commit(t, id, "orders", at), kerr.CoordinatorLoadInProgress) {
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runs.Wait()
	}()
	for looks, last := 0, map[string]int64{}; ; looks++ {
		for _, g := range n.groups.Figures(2).Groups {
			if g.Commits < last[g.Group] {
				t.Errorf("the commits of %s fell from %d to %d", g.Group, last[g.Group], g.Commits)
			}
			last[g.Group] = g.Commits
		}
		if looks%50 == 10 {
			s := n.groups.shardOf("g0")
			s.mu.Lock()
			if s.mu.state == active {
				s.reloadLocked(errors.New("of a test"))
			}
			s.mu.Unlock()
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// BenchmarkFigures looks at 100,000 offsets, all of them behind.
func BenchmarkFigures(b *testing.B) {
	n := bring(b, vfs.NewMem())
	const groups, partitions = 100, 1000
	n.topicWide(b, "orders", partitions)
	all := make(map[int32]batch.Offset, partitions)
	for i := range int32(partitions) {
		all[i] = 1
		n.produce(b, "orders", i, 2, time.Minute)
	}
	n.locate(b, "g")
	n.eventually(b, "g", "orders")
	for i := range groups {
		id := fmt.Sprint("g", i)
		n.eventually(b, id, "orders")
		n.commitAt(b, id, "orders", all)
	}
	b.ReportAllocs()
	for b.Loop() {
		n.groups.Figures(20_000)
	}
}
