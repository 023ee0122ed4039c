package broker

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/controller"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// disk is a real directory as a file system.
func disk(t testing.TB, dir string) vfs.FS {
	t.Helper()
	files, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files
}

func TestCleanRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := options(disk(t, dir))
	opts.NoLock, opts.DataDir = false, dir
	b := bring(t, opts)
	createTopic(t, b, "a", 3)
	produce(t, touch(t, b, "a", 1), "one")
	produce(t, touch(t, b, "a", 1), "two")
	size := touch(t, b, "a", 1).Size()
	id := b.Image().Topic("a").ID
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/" + markerFile); err != nil {
		t.Errorf("no marker after a clean stop: %v", err)
	}

	again := bring(t, opts)
	if !again.CleanStart() || again.ClusterID() != b.ClusterID() || again.Epoch() <= b.Epoch() {
		t.Errorf("clean %v, cluster %s, epoch %d; want true, %s, more than %d",
			again.CleanStart(), again.ClusterID(), again.Epoch(), b.ClusterID(), b.Epoch())
	}
	if _, err := os.Stat(dir + "/" + markerFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the marker stands while the broker runs: %v", err)
	}
	if st := again.Stats(); st.Hosted != 3 || st.Opened != 0 || st.Offline != 0 {
		t.Errorf("stats before the first touch: %+v", st)
	}
	if got := again.LogDirs(nil)[0].Partitions; len(got) != 3 || got[1].Size != size || got[0].Size != 0 {
		t.Errorf("log dirs without a touch: %+v, want %d bytes in a-1", got, size)
	}
	p, err := again.PartitionByID(id, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, p); got != "one two" {
		t.Errorf("records after a restart: %q", got)
	}
	if p.LeaderEpoch() != 0 {
		t.Errorf("leader epoch %d after a clean restart, want 0", p.LeaderEpoch())
	}
	// Untouched in two runs: the manifest is carried on.
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	third := bring(t, opts)
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	fourth := bring(t, opts)
	if got := fourth.LogDirs(nil)[0].Partitions[1].Size; got != size {
		t.Errorf("size %d after a run without a touch, want %d", got, size)
	}
	if got := values(t, touch(t, fourth, "a", 1)); got != "one two" {
		t.Errorf("records after a run without a touch: %q", got)
	}
}

func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := options(disk(t, dir))
	opts.NoLock, opts.DataDir = false, dir
	b := bring(t, opts)
	_, err := Open(t.Context(), opts)
	if !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("a second open: %v, want ErrLocked with pid %d", err, os.Getpid())
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := bring(t, opts).Close(); err != nil {
		t.Error(err)
	}
}

func TestUncleanRestart(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, options(files))
	createTopic(t, b, "a", 2)
	createTopic(t, b, "b", 1)
	produce(t, touch(t, b, "a", 0), "one")
	produce(t, touch(t, b, "b", 0), "two")

	crashed := files.CrashClone(vfs.CrashOptions{Keep: 0})
	again := bring(t, options(crashed))
	if again.CleanStart() {
		t.Error("a crash is taken for a clean stop")
	}
	p := touch(t, again, "a", 0)
	if got := values(t, p); got != "one" || p.LeaderEpoch() != 1 {
		t.Errorf("after a crash: %q at epoch %d, want one at epoch 1", got, p.LeaderEpoch())
	}
	if got := values(t, touch(t, again, "b", 0)); got != "two" {
		t.Errorf("after a crash: %q, want two", got)
	}
	produce(t, p, "three")
	if got := values(t, p); got != "one three" {
		t.Errorf("after a crash and an append: %q", got)
	}
}

// TestStopDuringRecovery: a stop before everything was recovered must not look clean.
func TestStopDuringRecovery(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, options(files))
	createTopic(t, b, "a", 2)
	produce(t, touch(t, b, "a", 0), "one")
	produce(t, touch(t, b, "a", 1), "two")
	crashed := files.CrashClone(vfs.CrashOptions{Keep: 0})

	again, err := Open(t.Context(), options(crashed)) // never run: nothing recovers in the background
	if err != nil {
		t.Fatal(err)
	}
	touch(t, again, "a", 0)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if clean, _, err := takeMarker(crashed); clean || err != nil {
		t.Errorf("marker %v, %v after a stop with a-1 unrecovered", clean, err)
	}
	third := bring(t, options(crashed))
	if got := values(t, touch(t, third, "a", 1)); got != "two" {
		t.Errorf("records: %q", got)
	}
}

func TestLookupErrors(t *testing.T) {
	t.Parallel()
	b := bring(t, options(vfs.NewMem()))
	createTopic(t, b, "a", 1)
	for _, c := range []struct {
		name  string
		index int32
		want  *kerr.Error
	}{
		{"b", 0, kerr.UnknownTopicOrPartition},
		{"a", 1, kerr.UnknownTopicOrPartition},
		{"a", -1, kerr.UnknownTopicOrPartition},
		{"../a", 0, kerr.UnknownTopicOrPartition},
		{topic.ClusterMetadata, 0, kerr.UnknownTopicOrPartition},
	} {
		if _, err := b.Partition(c.name, c.index); !errors.Is(err, c.want) {
			t.Errorf("Partition(%q, %d) = %v, want %v", c.name, c.index, err, c.want)
		}
	}
	if _, err := b.PartitionByID(topic.ID{1}, 0); !errors.Is(err, kerr.UnknownTopicID) {
		t.Errorf("PartitionByID of nobody: %v", err)
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	b := bring(t, options(vfs.NewMem()))
	createTopic(t, b, "a", 1)
	touch(t, b, "a", 0)
	id := b.Image().Topic("a").ID
	if n := testing.AllocsPerRun(100, func() {
		_, _ = b.Partition("a", 0)
		_, _ = b.PartitionByID(id, 0)
	}); n != 0 {
		t.Errorf("a lookup allocates %v times", n)
	}
}

func TestConfigsReachOpenPartitions(t *testing.T) {
	t.Parallel()
	b := bring(t, options(vfs.NewMem()))
	createTopic(t, b, "a", 1)
	p := touch(t, b, "a", 0)
	produce(t, p, strings.Repeat("x", 1000))
	alter := func(op meta.ConfigOp) {
		results, err := b.AlterConfigs(t.Context(), []meta.ResourceChanges{{
			Resource: meta.TopicResource("a"),
			Changes:  []meta.ConfigChange{{Name: "max.message.bytes", Op: op, Value: new("500")}},
		}}, false)
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
	}
	alter(meta.OpSet)
	if _, err := appendValue(p, strings.Repeat("x", 1000)); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("1000 bytes with max.message.bytes=500: %v", err)
	}
	alter(meta.OpDelete)
	produce(t, p, strings.Repeat("x", 1000))
	results, err := b.AlterConfigs(t.Context(), []meta.ResourceChanges{{
		Resource: meta.TopicResource("a"),
		Changes:  []meta.ConfigChange{{Name: "what", Value: new("1")}},
	}}, false)
	if err != nil || !errors.Is(results[0].Err, kerr.InvalidConfig) {
		t.Errorf("an unknown config: %v, %v", results, err)
	}
}

// TestForgettable: the descriptor cache may close unsynced files of what promises the page cache only, and of nothing else.
func TestForgettable(t *testing.T) {
	t.Parallel()
	b := bring(t, options(vfs.NewMem()))
	for name, durability := range map[string]string{"safe": "disk", "fast": "memory"} {
		createTopic(t, b, name, 1)
		results, err := b.AlterConfigs(t.Context(), []meta.ResourceChanges{{
			Resource: meta.TopicResource(name),
			Changes:  []meta.ConfigChange{{Name: "durability", Value: &durability}},
		}}, false)
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		touch(t, b, name, 0)
	}
	createTopic(t, b, "untouched", 1)
	for name, want := range map[string]bool{
		"fast-0/00000000000000000000.log": true, "fast-0/00000000000000000000.index": true, "fast-0/leader-epoch-checkpoint": false,
		"safe-0/00000000000000000000.log": false, "safe-0/00000000000000000000.index": true,
		"untouched-0/00000000000000000000.log": false, "unknown-0/00000000000000000000.log": false, "fast-7/00000000000000000000.log": false,
		"__cluster_metadata-0/00000000000000000000.log": false, "00000000000000000000.log": false,
	} {
		if got := b.forgettable(name); got != want {
			t.Errorf("%s may be forgotten: %v, want %v", name, got, want)
		}
	}
}

func TestGrow(t *testing.T) {
	t.Parallel()
	b := bring(t, options(vfs.NewMem()))
	createTopic(t, b, "a", 1)
	p := touch(t, b, "a", 0)
	results, err := b.CreatePartitions(t.Context(), []meta.MorePartitions{{Topic: "a", Count: 3}}, false)
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	produce(t, touch(t, b, "a", 2), "two")
	if touch(t, b, "a", 0) != p {
		t.Error("growing a topic opened a partition again")
	}
}

func TestProducerIDs(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	seen := map[int64]bool{}
	for range 3 {
		b := bring(t, options(files))
		var group sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			group.Go(func() {
				for range meta.ProducerIDBlock / 2 {
					id, err := b.AllocateProducerID(t.Context())
					mu.Lock()
					if err != nil || seen[id] {
						t.Errorf("producer id %d: %v, seen before: %v", id, err, seen[id])
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
		group.Wait()
		files = files.CrashClone(vfs.CrashOptions{Keep: 0})
	}
}

// TestReplicaOutOfSync: a replica that is not in the ISR never leads, so it is not served, even with nobody else left.
func TestReplicaOutOfSync(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	l, err := log.Open(files, "__cluster_metadata-0", time.Now(), log.OpenOptions{Options: metadataOptions()})
	if err != nil {
		t.Fatal(err)
	}
	ctl, err := controller.Open(controller.NewLocal(l, time.Now), meta.New("cluster", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []meta.RegisterBroker{{ID: 1}, {ID: 2, Alone: true}} {
		if _, err := controller.Execute(t.Context(), ctl, c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := controller.Execute(t.Context(), ctl, meta.CreateTopics{Topics: []meta.NewTopic{{
		Name: "a", ID: topic.ID{1}, Partitions: -1,
		ReplicationFactor: -1, Assignments: []meta.Assignment{{Partition: 0, Replicas: []int32{2, 1}}},
	}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	put(t, files, metaPropertiesFile, "version=1\ncluster.id=cluster\nnode.id=1\n")
	b := bring(t, options(files))
	if got := b.Image().Topic("a").Partitions[0].Leader; got != meta.NoLeader {
		t.Errorf("leader %d, want none", got)
	}
	if _, err := b.Partition("a", 0); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("a replica out of sync: %v, want NOT_LEADER_OR_FOLLOWER", err)
	}
}
