package broker

import (
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

func put(t testing.TB, files vfs.FS, name, content string) {
	t.Helper()
	if err := writeSmall(files, name, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func TestMetaProperties(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	made, err := loadMetaProperties(files, "d", 7, "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := loadMetaProperties(files, "d", 7, made.clusterID)
	if err != nil || again != made {
		t.Fatalf("read again %+v, %v; want %+v", again, err, made)
	}
	if _, err := topic.ParseID(made.clusterID); err != nil {
		t.Errorf("cluster id %q: %v", made.clusterID, err)
	}
	for _, c := range []struct{ name, content, want string }{
		{"another node", string(made.encode()), "belongs to node 7, not to node 1"},
		{"another cluster", "version=1\ncluster.id=other\nnode.id=1\n", "belongs to cluster other, not to mine"},
		{"empty", "", "cluster.id is missing"},
		{"garbage", "\x00\x01\x02", "is not key=value"},
		{"no node", "version=1\ncluster.id=mine\n", `node.id is ""`},
		{"negative node", "version=1\ncluster.id=mine\nnode.id=-1\n", `node.id is "-1"`},
		{"bad directory", "version=1\ncluster.id=mine\nnode.id=1\ndirectory.id=x\n", "directory.id"},
		{"version to come", "version=2\ncluster.id=mine\nnode.id=1\n", `version "2" is not known`},
	} {
		files := vfs.NewMem()
		put(t, files, metaPropertiesFile, c.content)
		cluster := "mine"
		if c.name == "another node" {
			cluster = made.clusterID
		}
		_, err := loadMetaProperties(files, "d", 1, cluster)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", c.name, err, c.want)
		}
	}
}

// TestMetaPropertiesOfKafka reads what Kafka writes, and gives a directory that has no id one.
func TestMetaPropertiesOfKafka(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	put(t, files, metaPropertiesFile, "#\n#Sun Nov 29 10:00:00 UTC 2026\nnode.id=1\nversion=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n")
	p, err := loadMetaProperties(files, "d", 1, "")
	if err != nil || p.clusterID != "4L6g3nShT-eMCtK--X86sw" || p.directoryID == (topic.ID{}) {
		t.Fatalf("%+v, %v", p, err)
	}
	if again, err := loadMetaProperties(files, "d", 1, ""); err != nil || again != p {
		t.Errorf("the directory id does not last: %+v, %v; want %+v", again, err, p)
	}
}

func TestMarker(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	if clean, _, err := takeMarker(files); clean || err != nil {
		t.Fatalf("no marker: %v, %v", clean, err)
	}
	if err := writeMarker(files, 42); err != nil {
		t.Fatal(err)
	}
	content, _ := readSmall(files, markerFile)
	if string(content) != `{"version":0,"brokerEpoch":42}` {
		t.Errorf("marker is %s", content)
	}
	if clean, epoch, err := takeMarker(files); !clean || epoch != 42 || err != nil {
		t.Errorf("take: %v, %d, %v; want true, 42", clean, epoch, err)
	}
	// Gone for good: a crash right after is no clean stop.
	crashed := files.CrashClone(vfs.CrashOptions{Keep: 0})
	if clean, _, err := takeMarker(crashed); clean || err != nil {
		t.Errorf("after a crash: %v, %v; want no marker", clean, err)
	}
	put(t, files, markerFile, "")
	if clean, epoch, err := takeMarker(files); !clean || epoch != noEpoch || err != nil {
		t.Errorf("an empty marker: %v, %d, %v; want true, -1", clean, epoch, err)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	if level, err := checkFormat(files, "d"); level != 0 || err != nil {
		t.Fatalf("a new directory has level %d, %v", level, err)
	}
	put(t, files, formatFile, "1\n")
	if level, err := checkFormat(files, "d"); level != 1 || err != nil {
		t.Fatalf("our own level is %d, %v", level, err)
	}
	put(t, files, formatFile, "2\n")
	if _, err := checkFormat(files, "d"); err == nil || !strings.Contains(err.Error(), "on-disk format 2, this program knows up to 1") {
		t.Errorf("a newer format: %v", err)
	}
	put(t, files, formatFile, "zero")
	if _, err := checkFormat(files, "d"); err == nil {
		t.Error("a damaged format file is taken")
	}
}

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	c := checkpoint{{"b", 10}: 5, {"b", 9}: 1 << 40, {"a.b_c", 0}: 1}
	want := "0\n3\na.b_c 0 1\nb 9 1099511627776\nb 10 5\n"
	if got := string(c.encode()); got != want {
		t.Errorf("encoded %q, want %q", got, want)
	}
	for name, content := range map[string]string{
		"version": "1\n0\n", "count missing": "0\n", "count": "0\nx\n", "huge count": "0\n99999999999\n",
		"too few": "0\n2\na 0 1\n", "too many": "0\n1\na 0 1\nb 0 1\n", "fields": "0\n1\na 0\n", "partition": "0\n1\na -1 1\n",
		"offset": "0\n1\na 0 -1\n", "topic": "0\n1\n../a 0 1\n", "twice": "0\n2\na 0 1\na 0 2\n", "binary": "\x00\xff\x00",
	} {
		files := vfs.NewMem()
		put(t, files, "c", content)
		var told error
		got, err := readCheckpoint(files, "c", func(err error) { told = err })
		if err != nil || len(got) != 0 || !errors.Is(told, errCheckpoint) {
			t.Errorf("%s: %v, %v, told %v; want it reported and empty", name, got, err, told)
		}
	}
}

// TestCheckpointOfNoBytes: Kafka leaves cleaner-offset-checkpoint so until it first cleans; nothing is wrong with it.
func TestCheckpointOfNoBytes(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	put(t, files, "c", "")
	got, err := readCheckpoint(files, "c", func(err error) { t.Errorf("told %v", err) })
	if err != nil || len(got) != 0 {
		t.Errorf("%v, %v; want no entries", got, err)
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\na 0 1\nb 1 2\n"))
	f.Add([]byte("0\n0\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := parseCheckpoint(content)
		if err != nil {
			return
		}
		again, err := parseCheckpoint(c.encode())
		if err != nil || !maps.Equal(c, again) {
			t.Fatalf("%v does not come back: %v, %v", c, again, err)
		}
	})
}

func TestManifest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := manifest{}
		for range rapid.IntRange(0, 20).Draw(t, "partitions") {
			k := partitionKey{rapid.StringMatching(`[a-zA-Z0-9._-]{1,20}`).Draw(t, "topic"), rapid.Int32Range(0, 1000).Draw(t, "index")}
			m[k] = facts{
				id: topic.ID{rapid.Byte().Draw(t, "id")}, start: batch.Offset(rapid.Int64Range(0, 1<<60).Draw(t, "start")),
				end: batch.Offset(rapid.Int64Range(0, 1<<60).Draw(t, "end")), size: rapid.Int64Range(0, 1<<60).Draw(t, "size"),
			}
		}
		content := m.encode(9)
		got, epoch, err := parseManifest(content)
		if err != nil || epoch != 9 || !maps.Equal(m, got) {
			t.Fatalf("%v, %d, %v; want %v", got, epoch, err, m)
		}
		// One flipped bit anywhere is seen.
		at := rapid.IntRange(0, len(content)-1).Draw(t, "at")
		content[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if got, _, err := parseManifest(content); err == nil {
			t.Fatalf("a bit flipped at %d is not seen: %v", at, got)
		}
	})
}

func TestManifestOfAnotherRun(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	put(t, files, manifestFile, string(manifest{{"a", 0}: {size: 1}}.encode(5)))
	for epoch, want := range map[int64]int{5: 1, 6: 0, noEpoch: 0} {
		m, err := readManifest(files, epoch, func(err error) { t.Error(err) })
		if err != nil || len(m) != want {
			t.Errorf("epoch %d: %v, %v; want %d partitions", epoch, m, err, want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(manifest{{"a", 1}: {start: 1, end: 2, size: 3}}.encode(1))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, epoch, err := parseManifest(content)
		if err != nil {
			return
		}
		again, _, err := parseManifest(m.encode(epoch))
		if diff := cmp.Diff(len(m), len(again)); err != nil || diff != "" {
			t.Fatalf("does not come back: %v %s", err, diff)
		}
	})
}

// TestWriteSmallCrash: after a crash at any point the file is the old or the new one.
func TestWriteSmallCrash(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	put(t, files, "f", "old")
	var clones []*vfs.Mem
	files.OnOp(func(vfs.Op) {
		clones = append(clones, files.CrashClone(vfs.CrashOptions{Keep: 0}), files.CrashClone(vfs.CrashOptions{Keep: 100}))
	})
	put(t, files, "f", "new")
	for i, c := range clones {
		if content, err := readSmall(c, "f"); err != nil || string(content) != "old" && string(content) != "new" {
			t.Errorf("crash %d: %q, %v", i, content, err)
		}
	}
	last := files.CrashClone(vfs.CrashOptions{Keep: 0})
	if content, err := readSmall(last, "f"); err != nil || string(content) != "new" {
		t.Errorf("after it was answered: %q, %v", content, err)
	}
	if _, err := readSmall(files, "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
