package hostile

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyTree copies a data directory.
func copyTree(t *testing.T, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// damages are ways to spoil a file's content.
var damages = []struct {
	name string
	do   func(content []byte) []byte
}{
	{"first byte flipped", func(c []byte) []byte { c[0] ^= 0x40; return c }},
	{"middle byte flipped", func(c []byte) []byte { c[len(c)/2] ^= 0x40; return c }},
	{"last byte flipped", func(c []byte) []byte { c[len(c)-1] ^= 0x40; return c }},
	{"cut to half", func(c []byte) []byte { return c[:len(c)/2] }},
	{"one byte short", func(c []byte) []byte { return c[:len(c)-1] }},
	{"empty", func([]byte) []byte { return nil }},
	{"zeros behind", func(c []byte) []byte { return append(c, make([]byte, 100)...) }},
	{"all zeros", func(c []byte) []byte { return make([]byte, len(c)) }},
	{"noise", func(c []byte) []byte { return []byte(strings.Repeat("\xff\x00noise\n", 1+len(c)/8)) }},
}

// seeded makes a data directory with closed segments, two epochs of the broker and an idempotent producer, stopped cleanly or killed.
func seeded(t *testing.T, clean bool) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	for range 2 {
		b := start(t, dir, "--set", "log.flush.offset.checkpoint.interval.ms=100")
		if len(b.topics(t)) == 0 {
			b.create(t, "target", 1, "segment.bytes", "1048576", "index.interval.bytes", "100")
			b.create(t, "other", 1)
		}
		big := strings.Repeat("x", 300<<10)
		b.produce(t, "target", 0, "a", big, "b", big, "c", big, "d", big, "e")
		b.produce(t, "other", 0, "a", "b")
		b.checkpointed(t)
		b.produce(t, "target", 0, "tail")
		if clean {
			b.stop(t)
		} else {
			b.kill()
		}
	}
	return dir
}

// TestPartitionMetadata spoils the file so that it names no topic: it is written anew.
func TestPartitionMetadata(t *testing.T) {
	t.Parallel()
	dir := seeded(t, false)
	b := start(t, copyTree(t, dir))
	whole, err := b.consume(t, "target", 0)
	if err != nil {
		t.Fatal(err)
	}
	b.kill()
	for _, content := range []string{"", "noise\x00", "version: 0\ntopic_id: short\n"} {
		dir := copyTree(t, dir)
		name := filepath.Join(dir, "target-0", "partition.metadata")
		before, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		b := start(t, dir)
		b.wantValues(t, "target", 0, whole)
		b.stop(t)
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%q became %q, %v", content, after, err)
		}
	}
}

// TestDamage spoils each file of a data directory, one at a time, in each way. The broker starts, or says in one line which file is
// wrong; what it serves is right: the damaged partition gives a prefix or an error, never other bytes, and the others give all.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		dir := seeded(t, clean)
		var files []string
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != ".lock" && d.Name() != "ottla.reserve" && !strings.HasPrefix(name, "other-0") {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b := start(t, copyTree(t, dir))
		whole, err := b.consume(t, "target", 0)
		if err != nil {
			t.Fatal(err)
		}
		b.kill()
		n := 0
		for _, name := range files {
			for i, damage := range damages {
				n++
				if testing.Short() && n%7 != 0 || os.Getenv("HOSTILE_FRAMES") == "" && i != n/len(damages)%len(damages) {
					continue // a part of them, in the short form
				}
				t.Run(fmt.Sprintf("clean=%v/%s/%s", clean, name, damage.name), func(t *testing.T) {
					damaged(t, dir, name, damage.do, whole)
				})
			}
		}
	}
}

// rebuilt reports whether a file is only beside what tells the same: its damage costs nothing. A partition.metadata may name another
// topic by its damage, and is believed then; see TestPartitionMetadata.
func rebuilt(name string) bool {
	return filepath.Ext(name) != ".log" && filepath.Base(name) != "partition.metadata"
}

func damaged(t *testing.T, dir, name string, do func([]byte) []byte, whole []string) {
	dir = copyTree(t, dir)
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) == 0 && name != ".kafka_cleanshutdown" {
		return
	}
	if len(content) == 0 {
		content = []byte{0}
	}
	if err := os.WriteFile(path, do(content), 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := tryStart(t, dir, nil, "--log-level", "warn")
	if err != nil {
		text := strings.TrimSpace(b.log.String())
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if !strings.HasPrefix(last, "ottla:") && !strings.HasPrefix(last, "error:") || strings.Contains(text, "goroutine ") {
			t.Errorf("it does not start, and says\n%s", text)
		}
		if !strings.Contains(text, filepath.Base(name)) && !strings.Contains(text, filepath.Base(filepath.Dir(name))) {
			t.Errorf("it does not start, and does not name %s:\n%s", name, text)
		}
		t.Logf("refused: %.300s", last)
		return
	}
	got, err := b.consume(t, "target", 0)
	if rebuilt(name) && (err != nil || len(got) < len(whole)) {
		t.Errorf("%d of %d records, %v, though the log is whole:\n%s", len(got), len(whole), err, b.log)
	}
	if err == nil && len(got) < len(whole) && !strings.Contains(b.log.String(), "target-0") {
		t.Errorf("%d of %d records, and nobody says why:\n%s", len(got), len(whole), b.log)
	}
	for i, v := range got {
		if i >= len(whole) || v != whole[i] {
			t.Errorf("record %d is %.50q, was %.50q", i, v, whole[min(i, len(whole)-1)])
			break
		}
	}
	if others, err := b.consume(t, "other", 0); err != nil || strings.Join(others, "") != "abab" {
		t.Errorf("the other partition has %q, %v\n%s", others, err, b.log)
	}
	if err != nil || len(got) < len(whole) {
		t.Logf("%d of %d records, %v: %.400s", len(got), len(whole), err, b.log)
	}
	b.alive(t)
	b.kill()
}
