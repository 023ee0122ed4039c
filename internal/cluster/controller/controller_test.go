package controller

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const dir = "__cluster_metadata-0"

func clock() time.Time { return time.UnixMilli(1_700_000_000_000) }

func openLog(t *testing.T, files vfs.FS) *log.Log {
	t.Helper()
	l, err := log.Open(files, dir, clock(), log.OpenOptions{Options: log.Options{
		SegmentBytes: 1 << 30, SegmentAge: math.MaxInt64, IndexInterval: 4096, IndexBytesMax: 1 << 20, RetentionBytes: -1, RetentionAge: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bring opens the controller in files and starts node 1 on it.
func bring(t *testing.T, files vfs.FS, unclean bool) *Controller {
	t.Helper()
	c := open(t, files)
	if _, err := c.Start(t.Context(), Node{ID: 1, Unclean: unclean}); err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t *testing.T, files vfs.FS) *Controller {
	t.Helper()
	state, err := LoadSnapshot(files, dir, "cluster", 1, func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	l := openLog(t, files)
	t.Cleanup(func() { _ = l.Close(false) })
	c, err := Open(NewLocal(l, clock), state, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T, c *Controller, name string, id byte, partitions int32) error {
	t.Helper()
	results, err := Execute(t.Context(), c, meta.CreateTopics{Topics: []meta.NewTopic{
		{Name: name, ID: topic.ID{0: id}, Partitions: partitions, ReplicationFactor: 1},
	}})
	if err != nil {
		return err
	}
	return results[0].Err
}

func names(image *meta.Image) string {
	var list []string
	for _, t := range image.Topics {
		list = append(list, fmt.Sprintf("%s:%d", t.Name, len(t.Partitions)))
	}
	return strings.Join(list, " ")
}

func TestReopen(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	c := bring(t, files, false)
	for i, name := range []string{"a", "b", "c"} {
		if err := create(t, c, name, byte(i+1), int32(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Execute(t.Context(), c, meta.DeleteTopics{Topics: []meta.TopicRef{{Name: "b"}}}); err != nil {
		t.Fatal(err)
	}
	before := c.Image()
	again := open(t, files)
	if diff := cmp.Diff(before.Topics, again.Image().Topics); diff != "" {
		t.Errorf("topics after a replay (-want +got)\n%s", diff)
	}
	if before.Version != again.Image().Version {
		t.Errorf("version %d after a replay, want %d", again.Image().Version, before.Version)
	}
	if got := again.TakeRemoved(); len(got) != 1 || got[topic.ID{0: 2}] != "b" {
		t.Errorf("removed topics %v, want b", got)
	}
	// A clean start keeps leader epochs, an unclean one renews them.
	if _, err := again.Start(t.Context(), Node{ID: 1}); err != nil || again.Image().Topic("a").Partitions[0].LeaderEpoch != 0 {
		t.Errorf("after a clean start: %v, epoch %d", err, again.Image().Topic("a").Partitions[0].LeaderEpoch)
	}
	if _, err := again.Start(t.Context(), Node{ID: 1, Unclean: true}); err != nil || again.Image().Topic("a").Partitions[0].LeaderEpoch != 1 {
		t.Errorf("after an unclean start: %v, epoch %d", err, again.Image().Topic("a").Partitions[0].LeaderEpoch)
	}
}

// TestOneRecordAnOffset: offset = index, and a command is one batch.
func TestOneRecordAnOffset(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	c := bring(t, files, false)
	before := c.Image().Version
	if err := create(t, c, "a", 1, 5); err != nil {
		t.Fatal(err)
	}
	if got := c.Image().Version - before; got != 6 {
		t.Errorf("a topic of 5 partitions took %d offsets, want 6", got)
	}
	var last batch.Batch
	l := openLog(t, files)
	defer l.Close(false)
	if err := l.Scan(before+1, func(b batch.Batch) error { last = append(batch.Batch(nil), b...); return nil }); err != nil {
		t.Fatal(err)
	}
	if last.BaseOffset() != before+1 || last.Count() != 6 || last.LeaderEpoch() != 1 {
		t.Errorf("last batch: base %d count %d epoch %d, want %d, 6, 1", last.BaseOffset(), last.Count(), last.LeaderEpoch(), before+1)
	}
}

// TestCrash takes a crash clone before each change of the files while topics are made and deleted. What was answered is there; what was not
// is there whole or not at all.
func TestCrash(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	type clone struct {
		files    *vfs.Mem
		answered string
		next     string
	}
	var (
		clones         []clone
		answered, next string
	)
	c := bring(t, files, false)
	seed := uint64(0)
	files.OnOp(func(op vfs.Op) {
		if op.Mutates() {
			seed++
			clones = append(clones, clone{files.CrashClone(vfs.CrashOptions{Keep: int(seed%3) * 50, Rand: rand.New(rand.NewPCG(seed, 0))}), answered, next})
		}
	})
	steps := []func() error{
		func() error { return create(t, c, "a", 1, 3) },
		func() error { return create(t, c, "b", 2, 1) },
		func() error {
			return first(Execute(t.Context(), c, meta.DeleteTopics{Topics: []meta.TopicRef{{Name: "a"}}}))
		},
		func() error { return create(t, c, "a", 3, 2) },
	}
	after := []string{"a:3", "a:3 b:1", "b:1", "a:2 b:1"}
	for i, step := range steps {
		next = after[i]
		if err := step(); err != nil {
			t.Fatal(err)
		}
		answered = after[i]
	}
	files.OnOp(func(vfs.Op) {})
	for i, cl := range clones {
		got := names(open(t, cl.files).Image())
		if got != cl.answered && got != cl.next {
			t.Errorf("crash %d: topics %q, want %q or %q", i, got, cl.answered, cl.next)
		}
	}
	if len(clones) < 2*len(steps) {
		t.Errorf("only %d crashes were tried", len(clones))
	}
}

func first(results []meta.TopicResult, err error) error {
	if err != nil {
		return err
	}
	return results[0].Err
}

func TestFullDiskIsRefused(t *testing.T) {
	t.Parallel()
	var full bool
	files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if full && vfs.OfKind(vfs.OpWrite)(op) {
			return syscall.ENOSPC
		}
		return nil
	})
	c := bring(t, files, false)
	full = true
	if err := create(t, c, "a", 1, 1); !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("create on a full disk: %v, want KAFKA_STORAGE_ERROR", err)
	}
	full = false
	if err := create(t, c, "a", 1, 1); err != nil || c.Healthy() != nil {
		t.Errorf("create when there is room: %v, %v", err, c.Healthy())
	}
}

func TestFailedSyncIsFinal(t *testing.T) {
	t.Parallel()
	var broken bool
	files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if broken && vfs.OfKind(vfs.OpSync)(op) {
			return syscall.EIO
		}
		return nil
	})
	c := bring(t, files, false)
	broken = true
	if err := create(t, c, "a", 1, 1); !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("create with a failing sync: %v, want KAFKA_STORAGE_ERROR", err)
	}
	broken = false
	if err := create(t, c, "b", 2, 1); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("create after a failed sync: %v, want KAFKA_STORAGE_ERROR", err)
	}
	if c.Healthy() == nil || c.Image().Topic("a") != nil {
		t.Errorf("healthy %v, topic %v after a failed sync", c.Healthy(), c.Image().Topic("a"))
	}
}

// TestSnapshot loads a snapshot and the log after it, and skips a damaged one.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	c := bring(t, files, false)
	if err := create(t, c, "a", 1, 2); err != nil {
		t.Fatal(err)
	}
	state := c.mu.state
	end := state.Version() + 1
	writeSnapshot(t, files, fmt.Sprintf("%s/%020d-%010d.checkpoint", dir, end, 1), state.Snapshot())
	writeFile(t, files, fmt.Sprintf("%s/%020d-%010d.checkpoint", dir, end+5, 1), []byte("damaged"))
	if err := create(t, c, "b", 2, 1); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadSnapshot(files, dir, "cluster", 1, func(error) {})
	if err != nil || loaded.Version() != end-1 || names(loaded.Image()) != "a:2" {
		t.Fatalf("snapshot: %v, version %d, topics %q", err, loaded.Version(), names(loaded.Image()))
	}
	if got := names(open(t, files).Image()); got != "a:2 b:1" {
		t.Errorf("after snapshot and log: %q", got)
	}
}

func writeSnapshot(t *testing.T, files vfs.FS, name string, records []meta.Record) {
	t.Helper()
	var content []byte
	control := batch.NewFields(0)
	control.Control = true
	var w batch.Builder
	w.Reset(control)
	w.Append(batch.Record{Key: []byte{0, 0, 0, 3}, Value: []byte{0, 0, 0}})
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, b...)
	w.Reset(batch.NewFields(1))
	for i, r := range records {
		w.Append(batch.Record{Offset: batch.Offset(1 + i), Value: meta.AppendRecord(nil, r)})
	}
	if b, err = w.Build(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, files, name, append(content, b...))
}

func writeFile(t *testing.T, files vfs.FS, name string, content []byte) {
	t.Helper()
	f, err := files.OpenFile(name, os.O_CREATE|os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
}

// TestHealthyDuringACommit: health is told while a commit waits for the disk.
func TestHealthyDuringACommit(t *testing.T) {
	t.Parallel()
	var hold atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && hold.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
		return nil
	})
	c := bring(t, files, false)
	hold.Store(true)
	created, told := make(chan error, 1), make(chan error, 1)
	go func() { created <- create(t, c, "a", 1, 1) }()
	<-entered
	go func() { told <- c.Healthy() }()
	select {
	case err := <-told:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Healthy waits for the sync of a commit")
	}
	close(release)
	if err := <-created; err != nil {
		t.Error(err)
	}
}
