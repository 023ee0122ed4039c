package broker

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

func TestFailedSyncTakesTheDirectoryOffline(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	var broken atomic.Bool
	files := vfs.Faulty(mem, func(op vfs.Op) error {
		if broken.Load() && op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "a-0/") {
			return syscall.EIO
		}
		return nil
	})
	var log logs
	opts := options(files)
	opts.Log = logTo(&log)
	b := bring(t, opts)
	createTopic(t, b, "a", 3)
	p, other := touch(t, b, "a", 0), touch(t, b, "a", 1)
	produce(t, other, "one")
	broken.Store(true)
	end, err := appendValue(p, "two")
	if err == nil {
		err = await(p, end)
	}
	if !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("acks=all with a failing sync: %v, want KAFKA_STORAGE_ERROR", err)
	}
	broken.Store(false)
	eventually(t, "the directory is offline", func() bool { return b.Healthy() != nil })
	if _, err := appendValue(p, "again"); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("append after a failed sync: %v", err)
	}
	eventually(t, "the other partition is offline", func() bool {
		_, err := appendValue(other, "three")
		return errors.Is(err, kerr.KafkaStorageError)
	})
	if _, err := b.Partition("a", 2); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("first touch of an offline directory: %v", err)
	}
	if b.Writable() == nil || b.LogDirs(nil)[0].Err == nil {
		t.Error("an offline directory is shown as sound")
	}
	if err := b.Close(); err == nil {
		t.Error("Close of an offline directory says nil")
	}
	if clean, _, err := takeMarker(mem); clean || err != nil {
		t.Errorf("marker %v, %v after a failed sync", clean, err)
	}
	if n := strings.Count(log.String(), "log directory is offline"); n != 1 {
		t.Errorf("the failure was logged %d times, want once\n%s", n, log.String())
	}
}

func TestDamagedTopFiles(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, options(files))
	createTopic(t, b, "a", 1)
	produce(t, touch(t, b, "a", 0), "one")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{recoveryPointFile, startOffsetFile, highWatermarkFile, manifestFile} {
		put(t, files, name, "damaged\x00")
	}
	var log logs
	opts := options(files)
	opts.Log = logTo(&log)
	again := bring(t, opts)
	if got := values(t, touch(t, again, "a", 0)); got != "one" {
		t.Errorf("records: %q", got)
	}
	if n := strings.Count(log.String(), "is ignored"); n != 4 {
		t.Errorf("%d files were reported, want 4\n%s", n, log.String())
	}
}

func TestUnknownDirectoriesAreLeftAlone(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, options(files))
	createTopic(t, b, "a", 1)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a-7", "stranger-0", "other"} {
		if err := errors.Join(files.MkdirAll(dir), files.SyncDir(".")); err != nil {
			t.Fatal(err)
		}
	}
	var log logs
	opts := options(files)
	opts.Log = logTo(&log)
	again := bring(t, opts)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if got := dirs(t, files); got != "__cluster_metadata-0 a-7 other stranger-0" {
		t.Errorf("directories: %s", got)
	}
	if !strings.Contains(log.String(), "a-7 other stranger-0") {
		t.Errorf("no warning names them\n%s", log.String())
	}
}

// TestAdopt opens a directory whose metadata is gone: topics come back under their ids, and epochs go on.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		files := vfs.NewMem()
		b := bring(t, options(files))
		createTopic(t, b, "a", 3)
		createTopic(t, b, "b", 1)
		produce(t, touch(t, b, "a", 0), "one")
		produce(t, touch(t, b, "a", 2), "two")
		ids := map[string]topic.ID{"a": b.Image().Topic("a").ID}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := files.RemoveAll("__cluster_metadata-0"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{formatFile, manifestFile} { // as a broker of Kafka's leaves it
			if err := files.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if !clean {
			_, _, _ = takeMarker(files)
		}
		again := bring(t, options(files))
		a := again.Image().Topic("a")
		if a == nil || a.ID != ids["a"] || len(a.Partitions) != 3 || len(again.Image().Topics) != 1 {
			t.Fatalf("adopted %+v", again.Image().Topics)
		}
		p := touch(t, again, "a", 0)
		if got := values(t, p); got != "one" || p.LeaderEpoch() < 1 {
			t.Errorf("records %q at epoch %d", got, p.LeaderEpoch())
		}
		produce(t, p, "three")
		produce(t, touch(t, again, "a", 1), "four")
		if got := values(t, touch(t, again, "a", 2)); got != "two" {
			t.Errorf("records %q", got)
		}
	}
}

// TestSyncsAreShared holds one sync up: what is appended meanwhile is covered by one more.
func TestSyncsAreShared(t *testing.T) {
	t.Parallel()
	var (
		hold    atomic.Bool
		entered = make(chan struct{}, 1)
		release = make(chan struct{})
		syncs   atomic.Int64
	)
	files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "a-0/") && strings.HasSuffix(op.Name, ".log") {
			syncs.Add(1)
			if hold.CompareAndSwap(true, false) {
				entered <- struct{}{}
				<-release
			}
		}
		return nil
	})
	b := bring(t, options(files))
	createTopic(t, b, "a", 1)
	p := touch(t, b, "a", 0)
	produce(t, p, "first")
	before := syncs.Load()
	hold.Store(true)
	var group sync.WaitGroup
	group.Go(func() { produce(t, p, "held") })
	<-entered
	for i := range 50 {
		end, err := appendValue(p, strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		if done, err := p.Await(end); done || err != nil {
			t.Fatalf("append %d was acknowledged ahead of its sync: %v, %v", i, done, err)
		}
		group.Go(func() {
			if err := await(p, end); err != nil {
				t.Error(err)
			}
		})
	}
	close(release)
	group.Wait()
	if got := syncs.Load() - before; got != 2 {
		t.Errorf("%d syncs for 51 appends, want 2", got)
	}
	st := b.Stats()
	if st.Syncs < 3 || st.SyncsAsked < st.Syncs {
		t.Errorf("stats: %+v", st)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	files.SetCapacity(8 << 20)
	opts := options(files)
	opts.ReserveBytes = 1 << 20
	b := bring(t, opts)
	createTopic(t, b, "a", 1)
	createTopic(t, b, "bulk", 1)
	produce(t, touch(t, b, "a", 0), "one")
	if err := b.Writable(); err != nil {
		t.Fatal(err)
	}
	bulk := touch(t, b, "bulk", 0)
	var err error
	for range 100 {
		if _, err = appendValue(bulk, strings.Repeat("x", 500<<10)); err != nil {
			break
		}
	}
	if !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("append to a full disk: %v, want KAFKA_STORAGE_ERROR", err)
	}
	b.space.check()
	if err := b.Writable(); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("Writable on a full disk: %v", err)
	}
	if got := values(t, touch(t, b, "a", 0)); got != "one" {
		t.Errorf("reads on a full disk: %q", got)
	}

	// Killed, and started on the full disk: the reserve file makes the start possible.
	files.SetCapacity(0)
	crashed := files.CrashClone(vfs.CrashOptions{Keep: 100})
	crashed.SetCapacity(used(t, crashed))
	opts.FS = crashed
	again := bring(t, opts)
	if err := again.Writable(); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("Writable after a start on a full disk: %v", err)
	}
	deleteTopic(t, again, "bulk")
	eventually(t, "the directory goes", func() bool { return !strings.Contains(dirs(t, crashed), "bulk") })
	again.space.check()
	if err := again.Writable(); err != nil {
		t.Errorf("Writable when there is room again: %v", err)
	}
	produce(t, touch(t, again, "a", 0), "two")
	if _, err := crashed.Stat(reserveFile); err != nil {
		t.Errorf("the reserve is not there again: %v", err)
	}
}

// used is the bytes that files take.
func used(t *testing.T, files *vfs.Mem) int64 {
	t.Helper()
	files.SetCapacity(1 << 40)
	room, err := files.Space()
	if err != nil {
		t.Fatal(err)
	}
	return room.Total - room.Free
}

// TestDeleteOnAFullDisk: the reserve makes a deletion possible when there is not one byte left.
func TestDeleteOnAFullDisk(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	files.SetCapacity(32 << 20)
	opts := options(files)
	opts.ReserveBytes = 1 << 20
	b := bring(t, opts)
	createTopic(t, b, "bulk", 1)
	produce(t, touch(t, b, "bulk", 0), strings.Repeat("x", 500<<10))
	room, err := files.Space()
	if err != nil {
		t.Fatal(err)
	}
	files.SetCapacity(room.Total - room.Free)
	results, err := b.CreateTopics(t.Context(), newTopics(strings.Repeat("n", 200)), false)
	for i := 0; err == nil && i < 200; i++ { // the metadata log's last page
		results, err = b.CreateTopics(t.Context(), newTopics(fmt.Sprintf("%s-%d", strings.Repeat("n", 200), i)), false)
	}
	if err != nil {
		t.Fatalf("with a reserve: %v, %v", results, err)
	}
	if _, err := files.Stat(reserveFile); err == nil {
		t.Fatal("the disk was not full")
	}
	deleteTopic(t, b, "bulk")
	eventually(t, "the directory goes", func() bool { return !strings.Contains(dirs(t, files), "bulk") })
}

func TestNewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := options(disk(t, dir))
	opts.NoLock, opts.DataDir = false, dir
	if err := bring(t, opts).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/"+formatFile, []byte("99\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the lock is given back each time
		if _, err := Open(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "on-disk format 99") {
			t.Errorf("a newer format: %v", err)
		}
	}
}

// TestIdlePartitionsAreSynced: durability=memory is synced when nothing more comes, so that recovery points follow.
func TestIdlePartitionsAreSynced(t *testing.T) {
	t.Parallel()
	b := bring(t, options(vfs.NewMem()))
	createTopic(t, b, "a", 1, meta.NewConfig{Name: "durability", Value: new("memory")})
	p := touch(t, b, "a", 0)
	produce(t, p, "one")
	b.checkpoint()
	if got := p.RecoveryPoint(); got != 0 {
		t.Fatalf("recovery point %d while the partition is in use, want 0", got)
	}
	b.checkpoint()
	eventually(t, "the idle partition is synced", func() bool { return p.RecoveryPoint() == 1 })
}
