package broker

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestEachFailedSyncIsFinal fails each sync that a broker makes, one broker for each: of logs, side files, snapshots, checkpoints, the
// journal, the metadata log and directories, from its start on. However small the file, the directory is offline when the sync is over:
// health says so, nothing is acknowledged any more, and the stop leaves no marker. A start is refused and names the file and the cause.
func TestEachFailedSyncIsFinal(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, from := range []func() *vfs.Mem{vfs.NewMem, left(t)} {
		for n := int64(1); failSync(t, from(), n, seen); n++ {
			if n > 1000 {
				t.Fatal("there is no end of syncs")
			}
		}
	}
	for _, want := range []string{
		"meta.properties.tmp", "ottla.format.tmp", "__cluster_metadata-0/", "partition.metadata.tmp", ".log", ".index", ".timeindex",
		"leader-epoch-checkpoint", ".snapshot", recoveryPointFile, startOffsetFile, highWatermarkFile, manifestFile, markerFile,
		"ottla.journal", "syncdir .", "syncdir a-0",
	} {
		found := false
		for name := range seen {
			found = found || strings.Contains(name, want)
		}
		if !found {
			t.Errorf("no sync of %s was failed; those that were: %v", want, seen)
		}
	}
}

// left makes clones of a directory that a broker was killed in.
func left(t *testing.T) func() *vfs.Mem {
	t.Helper()
	files := vfs.NewMem()
	exercise(bring(t, journaled(files)), func() bool { return false })
	return func() *vfs.Mem { return files.CrashClone(vfs.CrashOptions{Keep: 100}) }
}

// exercise does what syncs files of every kind, until over says so. Errors are what the disk makes of it.
func exercise(b *Broker, over func() bool) {
	do := func(steps ...func()) {
		for _, step := range steps {
			if over() {
				return
			}
			step()
		}
	}
	with := func(name string, index int32, fn func(p *partition.Partition)) func() {
		return func() {
			if p, err := b.Partition(name, index); err == nil {
				fn(p)
			}
		}
	}
	write := func(value string) func(*partition.Partition) {
		return func(p *partition.Partition) {
			if _, err := appendValue(p, value); err == nil {
				_ = p.Sync()
			}
		}
	}
	large := strings.Repeat("x", 400<<10)
	do(
		func() { _, _ = b.CreateTopics(b.stopped, newTopics("a"), false) },
		func() { _, _ = b.CreateTopics(b.stopped, newTopics("b"), false) },
		with("a", 0, write("one")), with("b", 0, write("one")),
		func() { _ = b.journal.Make() },
		with("a", 0, write(large)), with("a", 0, write(large)), with("a", 0, write(large)), // it rolls
		with("a", 0, func(p *partition.Partition) { _, _ = p.DeleteRecords(2) }),
		b.checkpoint,
		with("a", 0, write("two")),
		func() { _, _ = b.DeleteTopics(b.stopped, refs("b")) },
		func() { b.retireAll(b.stopped) },
		func() { _, _ = b.CreateTopics(b.stopped, newTopics("b"), false) },
		with("b", 0, write("new")),
		b.checkpoint,
	)
}

// failSync fails the n-th sync of a broker on files; false if there are not so many.
func failSync(t *testing.T, files *vfs.Mem, n int64, seen map[string]bool) bool {
	t.Helper()
	var hit atomic.Pointer[vfs.Op]
	inject := vfs.FailNth(n, vfs.OfKind(vfs.OpSync, vfs.OpSyncDir), syscall.EIO)
	opts := journaled(vfs.Faulty(files, func(op vfs.Op) error {
		err := inject(op)
		if err != nil {
			hit.Store(&op)
		}
		return err
	}))
	b, err := Open(t.Context(), opts)
	if failed := hit.Load(); failed != nil {
		seen[failed.String()] = true
		switch {
		case err == nil:
			t.Errorf("%s failed at the start, and there was one", failed)
			_ = b.Close()
		case !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), failed.String()):
			t.Errorf("%s failed at the start, which says: %v", failed, err)
		}
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, b)
	exercise(b, func() bool { return hit.Load() != nil })
	if failed := hit.Load(); failed != nil {
		eventually(t, "the directory is offline after "+failed.String(), func() bool { return b.Healthy() != nil })
		eventually(t, "partition a-0 is offline after "+failed.String(), func() bool {
			p, err := b.Partition("a", 0)
			if err == nil {
				_, err = appendValue(p, "late")
			}
			return errors.Is(err, kerr.KafkaStorageError) || errors.Is(err, kerr.UnknownTopicOrPartition) // it was not even created
		})
		if err := b.Writable(); !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("after %s: Writable says %v", failed, err)
		}
	}
	err = b.Close()
	failed := hit.Load()
	if failed == nil {
		return false
	}
	seen[failed.String()] = true
	if err == nil || b.Healthy() == nil {
		t.Errorf("after %s: Close says %v, health %v", failed, err, b.Healthy())
	}
	if clean, _, _ := takeMarker(files); clean {
		t.Errorf("after %s: the stop is called clean", failed)
	}
	return true
}
