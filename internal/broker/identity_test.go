package broker

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// listing is all names below a directory of files, with their sizes.
func listing(t *testing.T, files vfs.FS, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := files.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := strings.TrimPrefix(dir+"/"+e.Name(), "./")
		if e.IsDir() {
			fmt.Fprintln(&b, name)
			b.WriteString(listing(t, files, name))
			continue
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, name, info.Size())
	}
	return b.String()
}

// usedDir makes a directory with two topics, of which one was trimmed, that a broker has stopped in, cleanly or not.
func usedDir(t *testing.T, clean bool) *vfs.Mem {
	t.Helper()
	files := vfs.NewMem()
	opts := options(files)
	opts.NodeID = 5
	b := bring(t, opts)
	createTopic(t, b, "a", 2)
	createTopic(t, b, "b", 1)
	for _, value := range []string{"one", "two", "three"} {
		produce(t, touch(t, b, "a", 0), value)
		produce(t, touch(t, b, "b", 0), value)
	}
	if _, err := touch(t, b, "b", 0).DeleteRecords(1); err != nil {
		t.Fatal(err)
	}
	b.checkpoint()
	if !clean {
		return files.CrashClone(vfs.CrashOptions{Keep: 100})
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestMissingFiles removes each file at the top and each side file of a partition in turn. Where its absence would be read as a beginning, the
// start is refused with what is missing and the way out, and changes nothing; otherwise everything is as before.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	const metadata = "__cluster_metadata-0"
	for _, c := range []struct {
		missing string
		refused []string // what the refusal says; nil: none after a clean stop
		unclean []string // the same after one that was not clean
	}{
		{metaPropertiesFile, []string{"data has", "a-0", "no meta.properties", "cluster id", "node.id=N"}, []string{"no meta.properties"}},
		{metadata, []string{"a-0, b-0, but no __cluster_metadata-0", "topics and settings", "remove ottla.format"}, []string{"no __cluster_metadata-0"}},
		{recoveryPointFile, nil, []string{"a-0", "no recovery-point-offset-checkpoint", "empty file"}},
		{startOffsetFile, nil, []string{"no log-start-offset-checkpoint", "DeleteRecords", "empty file"}},
		{missing: highWatermarkFile},
		{missing: manifestFile},
		{missing: markerFile},
		{missing: formatFile},
		{missing: reserveFile},
		{missing: "a-0/partition.metadata"},
		{missing: "a-0/leader-epoch-checkpoint"},
		{missing: "a-0/00000000000000000000.index"},
		{missing: "a-0/00000000000000000000.timeindex"},
		{missing: "a-0/00000000000000000003.snapshot"},
	} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprint(c.missing, ", clean ", clean), func(t *testing.T) {
				t.Parallel()
				files := usedDir(t, clean)
				if err := files.RemoveAll(c.missing); err != nil {
					t.Fatal(err)
				}
				before := listing(t, files, ".")
				opts := options(files)
				opts.NodeID = 5
				want := c.refused
				if !clean {
					want = c.unclean
				}
				if want != nil {
					refusedFor(t, opts, want)
					if after := listing(t, files, "."); after != before {
						t.Errorf("a refused start changed the directory from\n%s\nto\n%s", before, after)
					}
					return
				}
				b := bring(t, opts)
				if got := values(t, touch(t, b, "a", 0)); got != "one two three" {
					t.Errorf("records of a-0: %q", got)
				}
				if got := values(t, touch(t, b, "b", 0)); got != "two three" {
					t.Errorf("records of b-0, of which one was deleted: %q", got)
				}
			})
		}
	}
}

func refusedFor(t *testing.T, opts Options, words []string) {
	t.Helper()
	b, err := Open(t.Context(), opts)
	if err == nil {
		_ = b.Close()
		t.Errorf("the start was not refused for %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the refusal does not say %q in one line: %v", w, err)
		}
	}
}

// TestWayOut: what each refusal offers works.
func TestWayOut(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]func(files *vfs.Mem){
		"meta.properties written anew": func(files *vfs.Mem) {
			put(t, files, metaPropertiesFile, "version=1\ncluster.id=anew\nnode.id=5\n")
		},
		"an empty recovery point file": func(files *vfs.Mem) { put(t, files, recoveryPointFile, "") },
		"an empty log start file": func(files *vfs.Mem) {
			put(t, files, startOffsetFile, "")
		},
		"adoption": func(files *vfs.Mem) {
			if err := files.RemoveAll("__cluster_metadata-0"); err != nil {
				t.Error(err)
			}
			if err := files.Remove(formatFile); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := usedDir(t, false)
			out(files)
			opts := options(files)
			opts.NodeID = 5
			b := bring(t, opts)
			if got := values(t, touch(t, b, "a", 0)); got != "one two three" {
				t.Errorf("records of a-0: %q", got)
			}
		})
	}
}

// TestNewDirectory: what an aborted first start and file systems leave is no reason to refuse; anything else is.
func TestNewDirectory(t *testing.T) {
	t.Parallel()
	first := vfs.NewMem()
	var clones []*vfs.Mem
	first.OnOp(func(op vfs.Op) {
		if op.Mutates() {
			clones = append(clones, first.CrashClone(vfs.CrashOptions{Keep: 0}), first.CrashClone(vfs.CrashOptions{Keep: 100}))
		}
	})
	b, err := Open(t.Context(), options(first))
	if err != nil {
		t.Fatal(err)
	}
	first.OnOp(func(vfs.Op) {})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for i, files := range clones {
		b, err := Open(t.Context(), options(files))
		if err != nil {
			t.Errorf("after a crash at step %d of the first start: %v", i/2, err)
			continue
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, refused := range map[string]bool{
		".lock": false, "lost+found/": false, metaPropertiesFile + ".tmp": false, ".snapshot/": false, ".nfs00001": false,
		"a-0/": true, "__cluster_metadata-0/": true, markerFile: true, recoveryPointFile: true, formatFile: true, "ottla.journal": true, "notes.txt": true,
	} {
		files := vfs.NewMem()
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			if err := files.MkdirAll(dir); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, files, name, "")
		}
		if refused {
			refusedFor(t, options(files), []string{"data has " + strings.TrimSuffix(name, "/"), "no meta.properties", "empty directory"})
			continue
		}
		b, err := Open(t.Context(), options(files))
		if err != nil {
			t.Errorf("beside %s: %v", name, err)
			continue
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAdoptionIsFinished crashes at each step of a start that adopts partitions: the next one has them all.
func TestAdoptionIsFinished(t *testing.T) {
	t.Parallel()
	files := usedDir(t, true)
	for _, name := range []string{"__cluster_metadata-0", formatFile, manifestFile} {
		if err := files.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	var clones []*vfs.Mem
	files.OnOp(func(op vfs.Op) {
		if op.Mutates() {
			clones = append(clones, files.CrashClone(vfs.CrashOptions{Keep: 0}))
		}
	})
	opts := options(files)
	opts.NodeID = 5
	b, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	files.OnOp(func(vfs.Op) {})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if len(clones) < 20 {
		t.Fatalf("only %d steps", len(clones))
	}
	for i, clone := range clones {
		opts.FS = clone
		b, err := Open(t.Context(), opts)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		for _, name := range []string{"a", "b"} {
			p, err := b.Partition(name, 0)
			if err != nil {
				t.Fatalf("step %d: %s-0: %v", i, name, err)
			}
			if got := values(t, p); got != "one two three" && got != "two three" {
				t.Errorf("step %d: records of %s-0: %q", i, name, got)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMissingPartition: a partition whose directory was lost is offline with the way out, and does not begin anew; an empty directory
// of its name has it do so. The others are served.
func TestMissingPartition(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		files := usedDir(t, clean)
		if err := files.RemoveAll("a-0"); err != nil {
			t.Fatal(err)
		}
		opts := options(files)
		opts.NodeID = 5
		for range 2 { // it stays so
			b := bring(t, opts)
			_, err := b.Partition("a", 0)
			if !errors.Is(err, kerr.KafkaStorageError) || !strings.Contains(err.Error(), "offset 3") || !strings.Contains(err.Error(), "empty directory") {
				t.Errorf("clean %v: a partition without its directory: %v", clean, err)
			}
			if st := b.Stats(); st.Offline != 1 {
				t.Errorf("clean %v: %d partitions are offline, want 1", clean, st.Offline)
			}
			if got := values(t, touch(t, b, "b", 0)); got != "two three" {
				t.Errorf("clean %v: records of b-0: %q", clean, got)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := files.MkdirAll("a-0"); err != nil {
			t.Fatal(err)
		}
		b := bring(t, opts)
		produce(t, touch(t, b, "a", 0), "anew")
		if _, err := files.Stat("a-0/partition.metadata"); err != nil {
			t.Error(err)
		}
	}
}
