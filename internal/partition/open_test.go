package partition

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition/producers"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

func clean(o *OpenOptions) { o.Clean = true }

func mustClose(t *testing.T, p *Partition) {
	t.Helper()
	if err := p.Close(true); err != nil {
		t.Fatal(err)
	}
}

func TestPartitionMetadata(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	mustClose(t, openTest(t, fs, nil))
	name := path.Join(testID.String(), metadataFile)
	text, err := readFile(fs, name, metadataMax)
	if want := "version: 0\ntopic_id: AQIDAAAAAAAAAAAAAAAAAA"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
	mustClose(t, openTest(t, fs, clean))
	other := testID
	other.TopicID = topic.ID{9}
	_, err = Open(fs, testID.String(), other, start, OpenOptions{Options: testOptions(), Clean: true})
	if !errors.Is(err, kerr.InconsistentTopicID) || !strings.Contains(err.Error(), testID.TopicID.String()) ||
		!strings.Contains(err.Error(), other.TopicID.String()) {
		t.Errorf("another topic's directory: %v", err)
	}
	for _, bad := range []string{
		"", "version: 1\ntopic_id: AQIDAAAAAAAAAAAAAAAAAA", "version: 0\n", "version: 0\ntopic_id: x",
		"version: 0\nid: AQIDAAAAAAAAAAAAAAAAAA", strings.Repeat("x", metadataMax+1),
	} {
		if err := vfs.WriteFile(fs, name, []byte(bad), true); err != nil {
			t.Fatal(err)
		}
		p := openTest(t, fs, clean)
		if err := p.Mended(); !errors.Is(err, batch.ErrCorrupt) || !strings.Contains(err.Error(), metadataFile) {
			t.Errorf("%.60q: %v", bad, err)
		}
		mustClose(t, p)
		if text, err := readFile(fs, name, metadataMax); err != nil || string(text) != formatMetadata(testID.TopicID) {
			t.Errorf("%.60q became %q, %v", bad, text, err)
		}
	}
	// What names another topic stays that topic's, whatever else is wrong with it.
	stale := strings.Replace(formatMetadata(topic.ID{9}), "version: 0", "versiom: 0", 1)
	if err := vfs.WriteFile(fs, name, []byte(stale), true); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fs, testID.String(), testID, start, OpenOptions{Options: testOptions(), Clean: true}); !errors.Is(err, kerr.InconsistentTopicID) {
		t.Errorf("a stale directory with a damaged file: %v", err)
	}
	// Kafka ends lines as it likes.
	if err := vfs.WriteFile(fs, name, []byte("version: 0\r\ntopic_id: AQIDAAAAAAAAAAAAAAAAAA\r\n"), true); err != nil {
		t.Fatal(err)
	}
	mustClose(t, openTest(t, fs, clean))
}

// sixBatches appends six batches of producer 1 over several segments, [0, 60), so that five are remembered.
func sixBatches(t *testing.T, fs vfs.FS) *Partition {
	t.Helper()
	p := openTest(t, fs, func(o *OpenOptions) { o.Log.SegmentBytes = 700 })
	for i := range int32(6) {
		mustAppend(t, p, from(1, 0, i*10, 10), plain(1))
	}
	if p.log.Segments() < 3 {
		t.Fatalf("%d segments, want some", p.log.Segments())
	}
	mustSync(t, p)
	return p
}

// checkWindow checks that all five batches are known, the sixth is not, and the sequence goes on.
func checkWindow(t *testing.T, p *Partition) {
	t.Helper()
	checkResults(t, appendAll(t, p, from(1, 0, 0, 10), from(1, 0, 10, 10), from(1, 0, 20, 10), from(1, 0, 30, 10),
		from(1, 0, 40, 10), from(1, 0, 50, 10), from(1, 0, 61, 1), from(1, 0, 60, 1)),
		"OUT_OF_ORDER_SEQUENCE_NUMBER", "duplicate [11, 21)", "duplicate [22, 32)", "duplicate [33, 43)", "duplicate [44, 54)",
		"duplicate [55, 65)", "OUT_OF_ORDER_SEQUENCE_NUMBER", "[66, 67)")
}

// TestWindowAfterRestart is case 44: all five batches are known after any stop.
func TestWindowAfterRestart(t *testing.T) {
	t.Parallel()
	t.Run("clean", func(t *testing.T) {
		t.Parallel()
		fs := newFS(t)
		mustClose(t, sixBatches(t, fs))
		checkWindow(t, openTest(t, fs, clean))
	})
	t.Run("crash", func(t *testing.T) {
		t.Parallel()
		fs := newFS(t)
		sixBatches(t, fs)
		checkWindow(t, openTest(t, fs.CrashClone(vfs.CrashOptions{}), nil))
	})
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		fs := newFS(t)
		sixBatches(t, fs)
		checkWindow(t, openTest(t, fs.CrashClone(vfs.CrashOptions{Keep: 100}), nil))
	})
}

// TestSnapshotsAreNotTrusted is case 25: a producer snapshot that is corrupt, gone, or of records that are not there
// is not believed, and the log is read instead.
func TestSnapshotsAreNotTrusted(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	mustClose(t, sixBatches(t, fs))
	names := func(fs vfs.FS) (out []string) {
		found, err := listSnapshots(fs, testID.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range found {
			out = append(out, snapshotName(testID.String(), at))
		}
		return out
	}
	if n := len(names(fs)); n != snapshotsKept {
		t.Fatalf("%d snapshots, want %d", n, snapshotsKept)
	}
	liar := producers.New()
	liar.Apply(0, from(1, 7, 0, 10).batch(t)) // fences producer 1, if it is believed
	for name, change := range map[string]func(fs vfs.FS, name string) error{
		"gone":  func(fs vfs.FS, name string) error { return fs.Remove(name) },
		"empty": func(fs vfs.FS, name string) error { return vfs.WriteFile(fs, name, nil, true) },
		"torn": func(fs vfs.FS, name string) error {
			data, err := readFile(fs, name, snapshotMax)
			return errors.Join(err, vfs.WriteFile(fs, name, data[:len(data)-3], true))
		},
		"flipped": func(fs vfs.FS, name string) error {
			data, err := readFile(fs, name, snapshotMax)
			data[len(data)/2] ^= 4
			return errors.Join(err, vfs.WriteFile(fs, name, data, true))
		},
		"past the end": func(fs vfs.FS, _ string) error {
			return vfs.WriteFile(fs, snapshotName(testID.String(), 67), liar.Snapshot(nil), true)
		},
		"far past the end": func(fs vfs.FS, _ string) error {
			return vfs.WriteFile(fs, snapshotName(testID.String(), 1<<62), liar.Snapshot(nil), true)
		},
		"not a snapshot": func(fs vfs.FS, _ string) error {
			return vfs.WriteFile(fs, path.Join(testID.String(), "66.snapshot"), liar.Snapshot(nil), true)
		},
	} {
		for _, opening := range []func(*OpenOptions){nil, clean} {
			for n := 1; n <= snapshotsKept; n++ {
				clone := fs.CrashClone(vfs.CrashOptions{Keep: 100})
				all := names(clone)
				for _, file := range all[len(all)-n:] {
					if err := change(clone, file); err != nil {
						t.Fatal(err)
					}
				}
				p := openTest(t, clone, opening)
				checkWindow(t, p)
				mustClose(t, p)
				if left := names(clone); slices.Contains(left, snapshotName(testID.String(), 1<<62)) {
					t.Errorf("%s: left %v", name, left)
				}
			}
		}
	}
}

// TestLyingSnapshotIsGoneForGood: a snapshot ahead of the recovered end must not come back once the log has grown past
// it, though nothing else syncs the directory.
func TestLyingSnapshotIsGoneForGood(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	first := openTest(t, fs, nil)
	mustAppend(t, first, plain(1)) // makes the epoch known
	mustClose(t, first)
	liar := producers.New()
	liar.Apply(0, from(1, 7, 0, 10).batch(t))
	if err := vfs.WriteFile(fs, snapshotName(testID.String(), 11), liar.Snapshot(nil), true); err != nil {
		t.Fatal(err)
	}
	if err := fs.SyncDir(testID.String()); err != nil {
		t.Fatal(err)
	}
	p := openTest(t, fs, clean)
	mustAppend(t, p, plain(10))
	mustSync(t, p)
	again := openTest(t, fs.CrashClone(vfs.CrashOptions{}), nil)
	checkResults(t, appendAll(t, again, from(1, 0, 0, 1)), "[11, 12)")
}

// TestSnapshotAtTheStart: what DeleteRecords took is still known to the producers' snapshot at the log's end.
func TestSnapshotAtTheStart(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	p := openTest(t, fs, nil)
	mustAppend(t, p, from(1, 0, 0, 10), from(1, 0, 10, 10))
	mustSync(t, p)
	if _, err := p.DeleteRecords(-1); err != nil {
		t.Fatal(err)
	}
	checkResults(t, appendAll(t, p, from(1, 0, 10, 10)), "duplicate [10, 20)")
	mustClose(t, p)
	again := openTest(t, fs, func(o *OpenOptions) { o.Clean, o.StartOffset = true, 20 })
	checkResults(t, appendAll(t, again, from(1, 0, 10, 10), from(1, 0, 20, 10)), "duplicate [10, 20)", "[20, 30)")
}

// TestSnapshotBelowTheStart: a snapshot of before what was deleted is no guide, since batches after it are gone; a
// producer of which nothing is known may start anywhere (KIP-360).
func TestSnapshotBelowTheStart(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	small := func(o *OpenOptions) { o.Log.SegmentBytes = 200 } // a batch fills a segment
	p := openTest(t, fs, small)
	mustAppend(t, p, from(1, 0, 0, 5), from(1, 0, 5, 5), plain(5))
	mustSync(t, p)
	if _, err := p.DeleteRecords(10); err != nil {
		t.Fatal(err)
	}
	if err := fs.Remove(snapshotName(p.dir, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(snapshotName(p.dir, 5)); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, fs, func(o *OpenOptions) { small(o); o.StartOffset = 10 })
	checkResults(t, appendAll(t, again, from(1, 0, 10, 5)), "[15, 20)")
}

// TestUnsyncedTailIsMadeDurable: what only the page cache holds after kill -9 is readable, so it must be durable first.
func TestUnsyncedTailIsMadeDurable(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	mustAppend(t, openTest(t, fs, memory), plain(5)) // and never closed
	if marks := openTest(t, fs, nil).Offsets(); marks.HighWatermark != 5 {
		t.Fatalf("%+v after kill -9, want a high watermark of 5", marks)
	}
	if marks := openTest(t, fs.CrashClone(vfs.CrashOptions{}), nil).Offsets(); marks.HighWatermark != 5 {
		t.Errorf("%+v after a power cut, want a high watermark of 5", marks)
	}
}

func TestCloseAnswersWaiters(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean=%t", clean), func(t *testing.T) {
			t.Parallel()
			p := openTest(t, newFS(t), nil)
			pr := mustAppend(t, p, plain(1))[0]
			w := NewWaiter()
			p.Watch(w)
			if err := p.Close(clean); err != nil {
				t.Fatal(err)
			}
			done, err := p.Await(pr.End)
			if done != clean || !clean && !errors.Is(err, kerr.NotLeaderForPartition) {
				t.Errorf("await: %t, %v", done, err)
			}
			if len(w.C) != 1 {
				t.Error("the waiter was not woken")
			}
			checkResults(t, appendAll(t, p, plain(1)), "NOT_LEADER_FOR_PARTITION")
			if err := errors.Join(p.Sync(), p.Maintain(start), p.Close(true)); err != nil {
				t.Errorf("of a closed partition: %v", err)
			}
		})
	}
}

// TestRealDirectory is a clean and an unclean stop on the operating system's files.
func TestRealDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	fs, err := vfs.OS(root)
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	mustClose(t, sixBatches(t, fs))
	for _, name := range []string{"00000000000000000066.snapshot", metadataFile, "00000000000000000000.log"} {
		if _, err := os.Stat(path.Join(root, testID.String(), name)); err != nil {
			t.Error(err)
		}
	}
	p := openTest(t, fs, clean)
	checkWindow(t, p)
	mustSync(t, p)
	if err := p.Close(false); err != nil {
		t.Fatal(err)
	}
	if got := len(readAll(t, openTest(t, fs, nil))); got != 13 {
		t.Errorf("%d batches, want 13", got)
	}
}
