package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestConformMem(t *testing.T) {
	conform(t, func(_ *testing.T) FS { return NewMem() })
}

// TestConformCrashClone runs the suite on what a crash left of a Mem with a past.
func TestConformCrashClone(t *testing.T) {
	conform(t, func(t *testing.T) FS {
		m := NewMem()
		create(t, m, "f", "abc")
		must(t, m.MkdirAll("d/e"))
		return m.CrashClone(CrashOptions{})
	})
}

// dump reads a whole FS: the names of directories, ending in a slash, and the files' bytes.
func dump(t testing.TB, fsys FS) map[string]string {
	t.Helper()
	out := make(map[string]string)
	var walk func(dir string)
	walk = func(dir string) {
		list, err := fsys.ReadDir(dir)
		must(t, err)
		for _, e := range list {
			name := strings.TrimPrefix(dir+"/"+e.Name(), "./")
			if e.IsDir() {
				out[name+"/"] = ""
				walk(name)
				continue
			}
			f, err := fsys.OpenFile(name, os.O_RDONLY)
			must(t, err)
			p := make([]byte, 1<<20)
			n, err := f.ReadAt(p, 0)
			if !errors.Is(err, io.EOF) {
				t.Fatalf("read %s: %v", name, err)
			}
			must(t, f.Close())
			out[name] = string(p[:n])
		}
	}
	walk(".")
	return out
}

func TestCrashLosesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	m := NewMem()
	a := create(t, m, "a", "one")
	must(t, a.Sync())
	create(t, m, "b", "two") // its entry is synced below, its bytes never
	must(t, m.SyncDir("."))
	_, err := a.WriteAt([]byte("ONE and more"), 0)
	must(t, err)
	c := create(t, m, "c", "three")
	must(t, c.Sync()) // its bytes are synced, its entry is not
	must(t, m.Remove("b"))
	must(t, m.MkdirAll("d"))

	got := dump(t, m.CrashClone(CrashOptions{}))
	if len(got) != 2 || got["a"] != "one" || got["b"] != "" {
		t.Fatalf("nothing kept leaves %q", got)
	}
	got = dump(t, m.CrashClone(CrashOptions{Keep: 100}))
	if len(got) != 3 || got["a"] != "ONE and more" || got["c"] != "three" || got["d/"] != "" {
		t.Fatalf("all kept leaves %q", got)
	}
}

func TestCrashCloneIsIndependent(t *testing.T) {
	t.Parallel()
	m := NewMem()
	text := strings.Repeat("a", 2*pageSize)
	f := create(t, m, "f", text)
	c := m.CrashClone(CrashOptions{Keep: 100})
	for _, side := range []File{f, open(t, c, "f", os.O_RDWR)} {
		_, err := side.WriteAt([]byte("changed"), 0)
		must(t, err)
		must(t, side.Truncate(pageSize+10))
		if side == f && dump(t, c)["f"] != text {
			t.Fatal("the clone saw a later change")
		}
		text = textOf(t, f)
	}
	wantContent(t, f, text)
}

func TestCrashTearsTailsAndLosesPages(t *testing.T) {
	t.Parallel()
	m := NewMem()
	f := create(t, m, "f", "")
	must(t, m.SyncDir("."))
	written := bytes.Repeat([]byte("x"), 5*pageSize)
	_, err := f.WriteAt(written, 0)
	must(t, err)
	sizes := make(map[int]bool)
	holes, cuts := 0, 0
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := dump(t, m.CrashClone(CrashOptions{Keep: 50, Rand: rng}))["f"]
		sizes[len(text)] = true
		if len(text) >= 3*pageSize && text[pageSize:2*pageSize] == string(make([]byte, pageSize)) && text[2*pageSize] == 'x' {
			holes++
		}
		if i := strings.IndexByte(text, 0); i > 0 && i%pageSize != 0 {
			cuts++
		}
	}
	if len(sizes) < 20 || !sizes[0] || !sizes[len(written)] || holes == 0 || cuts == 0 {
		t.Fatalf("%d sizes (none %v, all %v), %d lost middle pages, %d torn pages", len(sizes), sizes[0],
			sizes[len(written)], holes, cuts)
	}
}

func TestCrashRenameIsAtomic(t *testing.T) {
	t.Parallel()
	m := NewMem()
	for _, name := range []string{"from", "to"} {
		must(t, create(t, m, name, name).Sync())
	}
	must(t, m.SyncDir("."))
	must(t, m.Rename("from", "to"))
	seen := make(map[string]bool)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		got := dump(t, m.CrashClone(CrashOptions{Keep: 50, Rand: rng}))
		seen[got["from"]+"|"+got["to"]] = true
	}
	if len(seen) != 2 || !seen["from|to"] || !seen["|from"] {
		t.Fatalf("a crash after a rename left %v", seen)
	}
}

func TestCrashDirectoryCycle(t *testing.T) {
	t.Parallel()
	m := NewMem()
	must(t, m.MkdirAll("a"))
	must(t, m.MkdirAll("b"))
	must(t, m.SyncDir("."))
	must(t, m.Rename("b", "a/b"))
	must(t, m.Rename("a/b", "b"))
	must(t, m.Rename("a", "b/a"))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		dump(t, m.CrashClone(CrashOptions{Keep: 50, Rand: rng})) // ends
	}
}

func TestLostSyncStaysLost(t *testing.T) {
	t.Parallel()
	m := NewMem()
	lostSync(t, m, Faulty(m, FailNth(2, OfKind(OpSync), syscall.EIO)))
	m = NewMem()
	lostSync(t, m, Cache(Faulty(Trace(m, func(Op) {}), FailNth(2, OfKind(OpSync), syscall.EIO)), 1))
	m = NewMem()
	lostSync(t, m, Faulty(Cache(m, 1), FailNth(2, OfKind(OpSync), syscall.EIO)))
}

// lostSync has the second sync of fsys, which stands on m, fail.
func lostSync(t *testing.T, m *Mem, fsys FS) {
	t.Helper()
	f := create(t, fsys, "f", strings.Repeat("a", 3*pageSize))
	must(t, f.Sync())
	must(t, fsys.SyncDir("."))
	_, err := f.WriteAt([]byte("LOST"), pageSize)
	must(t, err)
	wantErr(t, f.Sync(), syscall.EIO)
	_, err = f.WriteAt([]byte("SAFE"), 2*pageSize)
	must(t, err)
	must(t, f.Sync())
	if text := textOf(t, f); text[pageSize:pageSize+4] != "LOST" {
		t.Fatal("reads no longer see what a failed sync lost")
	}
	text := dump(t, m.CrashClone(CrashOptions{}))["f"]
	if text[pageSize:pageSize+4] != "aaaa" || text[2*pageSize:2*pageSize+4] != "SAFE" {
		t.Fatalf("after the crash: %q, %q", text[pageSize:pageSize+4], text[2*pageSize:2*pageSize+4])
	}
}

func TestMemCapacity(t *testing.T) {
	t.Parallel()
	m := NewMem()
	m.SetCapacity(3 * pageSize)
	f := create(t, m, "f", "abc")
	n, err := f.WriteAt(make([]byte, 4*pageSize), 100)
	wantErr(t, err, syscall.ENOSPC)
	if want := 3*pageSize - 100; n != want {
		t.Fatalf("wrote %d bytes, want %d", n, want)
	}
	wantFree(t, m, 0)
	g := create(t, m, "g", "")
	wantErr(t, g.Preallocate(1), syscall.ENOSPC)
	must(t, f.Truncate(pageSize))
	wantFree(t, m, 2*pageSize)
	must(t, g.Preallocate(2*pageSize))
	wantFree(t, m, 0)
	_, err = g.WriteAt(make([]byte, 2*pageSize), 0) // its room is reserved
	must(t, err)
	must(t, m.Remove("f"))
	wantFree(t, m, 0) // still open
	must(t, f.Close())
	wantFree(t, m, pageSize)
	must(t, m.SyncDir("."))
	must(t, g.Sync())
	wantFree(t, m.CrashClone(CrashOptions{}), pageSize)
	m.SetCapacity(pageSize)
	wantFree(t, m, 0)
}

func wantFree(t *testing.T, m *Mem, want int64) {
	t.Helper()
	space, err := m.Space()
	must(t, err)
	if space.Free != want {
		t.Fatalf("%d bytes free, want %d", space.Free, want)
	}
}

func TestMemOnOp(t *testing.T) {
	t.Parallel()
	m := NewMem()
	var lines []string
	m.OnOp(func(op Op) {
		lines = append(lines, op.String())
		m.CrashClone(CrashOptions{}) // must not deadlock
		if op.Seq != uint64(len(lines)) {
			t.Errorf("operation %d has number %d", len(lines), op.Seq)
		}
	})
	f := create(t, m, "f", "abc")
	textOf(t, f)
	must(t, f.Sync())
	must(t, m.Rename("f", "g"))
	wantErr(t, m.Remove("f"), fs.ErrNotExist)
	must(t, m.SyncDir("."))
	want := "create f\nwrite f [0, 3)\nsync f\nrename f -> g\nremove f: remove f: no such file or directory\nsyncdir ."
	if got := strings.Join(lines, "\n"); got != want {
		t.Fatalf("operations are\n%s\nwant\n%s", got, want)
	}
}

// BenchmarkCrashCycle is one append, sync, crash and read back in a small partition directory.
func BenchmarkCrashCycle(b *testing.B) {
	m := NewMem()
	for _, name := range []string{"p/0.log", "p/0.index", "p/0.timeindex", "p/0.snapshot", "p/epochs", "p/meta"} {
		must(b, m.MkdirAll("p"))
		must(b, create(b, m, name, strings.Repeat("x", 3000)).Sync())
	}
	must(b, m.SyncDir("p"))
	must(b, m.SyncDir("."))
	rng := rand.New(rand.NewPCG(1, 2))
	record := make([]byte, 500)
	b.ReportAllocs()
	for b.Loop() {
		c := m.CrashClone(CrashOptions{Keep: 50, Rand: rng})
		f, err := c.OpenFile("p/0.log", os.O_RDWR)
		must(b, err)
		_, err = f.WriteAt(record, 3000)
		must(b, err)
		must(b, f.Sync())
		_, err = c.CrashClone(CrashOptions{Keep: 50, Rand: rng}).Stat("p/0.log")
		must(b, err)
	}
}
