package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"
)

// conformance is what every FS promises, one promise a test, each on a new and empty FS.
var conformance = []struct {
	name string
	test func(t *testing.T, fsys FS)
}{
	{"write and read", testWriteRead},
	{"vectors", testVectors},
	{"short read is EOF", testEOF},
	{"holes are zero", testHoles},
	{"truncate", testTruncate},
	{"preallocate", testPreallocate},
	{"open flags", testOpenFlags},
	{"access modes", testAccessModes},
	{"refused names", testNames},
	{"missing files", testMissing},
	{"directories", testDirectories},
	{"rename replaces", testRenameReplaces},
	{"rename a directory", testRenameDirectory},
	{"refused renames", testRenameRefused},
	{"unlinked files stay readable", testUnlinked},
	{"remove all", testRemoveAll},
	{"closed files", testClosed},
	{"space", testSpace},
	{"sync", testSync},
	{"file info", testInfo},
	{"negative positions", testNegative},
}

func conform(t *testing.T, open func(t *testing.T) FS) {
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

func openDisk(t testing.TB) *Disk {
	t.Helper()
	disk, err := OS(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, disk.Close()) })
	return disk
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error is %v, want %v", err, target)
	}
}

func create(t testing.TB, fsys FS, name, text string) File {
	t.Helper()
	f := open(t, fsys, name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if n, err := f.WriteAt([]byte(text), 0); n != len(text) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(text), err)
	}
	return f
}

func open(t testing.TB, fsys FS, name string, flag int) File {
	t.Helper()
	f, err := fsys.OpenFile(name, flag)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func textOf(t testing.TB, f File) string {
	t.Helper()
	size, err := f.Size()
	must(t, err)
	p := make([]byte, size)
	if n, err := f.ReadAt(p, 0); n != len(p) || err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("read %d of %d bytes: %v", n, len(p), err)
	}
	return string(p)
}

func wantContent(t testing.TB, f File, want string) {
	t.Helper()
	if got := textOf(t, f); got != want {
		t.Fatalf("content is %.80q (%d bytes), want %.80q (%d bytes)", got, len(got), want, len(want))
	}
}

func wantNames(t testing.TB, fsys FS, dir string, want ...string) {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("directory %s holds %q, want %q", dir, got, want)
	}
}

func testWriteRead(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "hello, world")
	_, err := f.WriteAt([]byte("W"), 7)
	must(t, err)
	wantContent(t, f, "hello, World")
	wantContent(t, open(t, fsys, "f", os.O_RDONLY), "hello, World")
	p := make([]byte, 3)
	n, err := f.ReadAt(p, 4)
	must(t, err)
	if string(p[:n]) != "o, " {
		t.Fatalf("read %q", p[:n])
	}
}

func testVectors(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "0123456789")
	var bufs [][]byte
	var want []byte
	for i := range 3000 { // more than one pwritev takes
		b := bytes.Repeat([]byte{byte(i)}, i%7)
		bufs, want = append(bufs, b), append(want, b...)
	}
	n, err := f.WriteVec(bufs, 10)
	must(t, err)
	if n != len(want) {
		t.Fatalf("wrote %d bytes of %d", n, len(want))
	}
	wantContent(t, f, "0123456789"+string(want))
	for _, none := range [][][]byte{nil, {}, {nil, {}}} {
		if n, err := f.WriteVec(none, 5); n != 0 || err != nil {
			t.Fatalf("empty vector: %d, %v", n, err)
		}
	}
	wantContent(t, f, "0123456789"+string(want))
}

func testEOF(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "abc")
	for _, c := range []struct {
		pos  int64
		size int
		want int
		err  error
	}{{0, 3, 3, nil}, {1, 3, 2, io.EOF}, {3, 1, 0, io.EOF}, {9, 1, 0, io.EOF}, {0, 0, 0, nil}, {2, 1, 1, nil}} {
		n, err := f.ReadAt(make([]byte, c.size), c.pos)
		if n != c.want || !errors.Is(err, c.err) {
			t.Errorf("ReadAt(%d bytes, %d) = %d, %v; want %d, %v", c.size, c.pos, n, err, c.want, c.err)
		}
	}
}

func testHoles(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "a")
	_, err := f.WriteAt([]byte("z"), 10_000)
	must(t, err)
	wantContent(t, f, "a"+string(make([]byte, 9_999))+"z")
}

func testTruncate(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "0123456789")
	must(t, f.Truncate(4))
	wantContent(t, f, "0123")
	must(t, f.Truncate(6))
	wantContent(t, f, "0123\x00\x00")
	must(t, f.Truncate(9000))
	must(t, f.Truncate(0))
	wantContent(t, f, "")
}

func testPreallocate(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "0123456789")
	must(t, f.Preallocate(0))
	must(t, f.Preallocate(4))
	wantContent(t, f, "0123456789")
	must(t, f.Preallocate(5000))
	wantContent(t, f, "0123456789"+string(make([]byte, 4990)))
	must(t, f.Truncate(3))
	wantContent(t, f, "012")
}

func testOpenFlags(t *testing.T, fsys FS) {
	create(t, fsys, "f", "abc")
	_, err := fsys.OpenFile("f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
	wantErr(t, err, fs.ErrExist)
	wantContent(t, open(t, fsys, "f", os.O_RDWR|os.O_CREATE), "abc")
	wantContent(t, open(t, fsys, "f", os.O_RDWR|os.O_TRUNC), "")
	wantContent(t, open(t, fsys, "new", os.O_RDWR|os.O_CREATE|os.O_TRUNC), "")
	_, err = fsys.OpenFile("f", os.O_RDWR|os.O_APPEND)
	wantErr(t, err, ErrFlag)
	must(t, fsys.MkdirAll("d"))
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE} {
		if _, err := fsys.OpenFile("d", flag); err == nil {
			t.Fatalf("a directory was opened with flags %#x", flag)
		}
	}
}

func testAccessModes(t *testing.T, fsys FS) {
	create(t, fsys, "f", "abc")
	r := open(t, fsys, "f", os.O_RDONLY)
	if n, err := r.WriteAt([]byte("x"), 0); err == nil || n != 0 {
		t.Fatalf("wrote %d bytes to a file open for reading", n)
	}
	if n, err := r.WriteVec([][]byte{{1}}, 0); err == nil || n != 0 {
		t.Fatalf("wrote %d bytes to a file open for reading", n)
	}
	if err := r.Truncate(0); err == nil {
		t.Fatal("truncated a file open for reading")
	}
	if err := r.Preallocate(10); err == nil {
		t.Fatal("preallocated a file open for reading")
	}
	w := open(t, fsys, "f", os.O_WRONLY)
	if _, err := w.ReadAt(make([]byte, 1), 0); err == nil {
		t.Fatal("read a file open for writing")
	}
	wantContent(t, r, "abc")
}

func testNames(t *testing.T, fsys FS) {
	for _, name := range []string{"", "/", "/etc/passwd", "..", "../f", "a/../../f", "a\x00b"} {
		_, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE)
		wantErr(t, err, ErrName)
		wantErr(t, fsys.Remove(name), ErrName)
		wantErr(t, fsys.RemoveAll(name), ErrName)
		wantErr(t, fsys.Rename(name, "to"), ErrName)
		wantErr(t, fsys.Rename("from", name), ErrName)
		wantErr(t, fsys.MkdirAll(name), ErrName)
		wantErr(t, fsys.SyncDir(name), ErrName)
		_, err = fsys.Stat(name)
		wantErr(t, err, ErrName)
		_, err = fsys.ReadDir(name)
		wantErr(t, err, ErrName)
	}
	wantErr(t, fsys.Remove("."), syscall.EBUSY)
	wantErr(t, fsys.RemoveAll("a/.."), syscall.EBUSY)
	create(t, fsys, "d/../f", "abc")
	wantNames(t, fsys, ".", "f")
}

func testMissing(t *testing.T, fsys FS) {
	_, err := fsys.OpenFile("none", os.O_RDWR)
	wantErr(t, err, fs.ErrNotExist)
	_, err = fsys.OpenFile("none/f", os.O_RDWR|os.O_CREATE)
	wantErr(t, err, fs.ErrNotExist)
	_, err = fsys.Stat("none")
	wantErr(t, err, fs.ErrNotExist)
	_, err = fsys.ReadDir("none")
	wantErr(t, err, fs.ErrNotExist)
	wantErr(t, fsys.SyncDir("none"), fs.ErrNotExist)
	wantErr(t, fsys.Remove("none"), fs.ErrNotExist)
	wantErr(t, fsys.Rename("none", "to"), fs.ErrNotExist)
	must(t, fsys.RemoveAll("none"))
	create(t, fsys, "f", "")
	if _, err := fsys.OpenFile("f/g", os.O_RDWR|os.O_CREATE); err == nil {
		t.Fatal("a file was opened below a file")
	}
	if err := fsys.MkdirAll("f/g"); err == nil {
		t.Fatal("a directory was made below a file")
	}
}

func testDirectories(t *testing.T, fsys FS) {
	wantNames(t, fsys, ".")
	must(t, fsys.MkdirAll("b/c/d"))
	must(t, fsys.MkdirAll("b/c"))
	create(t, fsys, "b/z", "")
	create(t, fsys, "b/a", "")
	wantNames(t, fsys, "b", "a", "c", "z")
	wantErr(t, fsys.Remove("b"), syscall.ENOTEMPTY)
	must(t, fsys.Remove("b/c/d"))
	must(t, fsys.Remove("b/c"))
	must(t, fsys.Remove("b/a"))
	wantNames(t, fsys, "b", "z")
	if _, err := fsys.ReadDir("b/z"); err == nil {
		t.Fatal("a file was listed")
	}
}

func testRenameReplaces(t *testing.T, fsys FS) {
	f := create(t, fsys, "from", "new")
	old := create(t, fsys, "to", "old")
	must(t, fsys.Rename("from", "to"))
	wantNames(t, fsys, ".", "to")
	wantContent(t, open(t, fsys, "to", os.O_RDONLY), "new")
	wantContent(t, old, "old")
	_, err := f.WriteAt([]byte("N"), 0)
	must(t, err)
	wantContent(t, open(t, fsys, "to", os.O_RDONLY), "New")
	must(t, fsys.Rename("to", "to"))
	wantContent(t, open(t, fsys, "to", os.O_RDONLY), "New")
}

func testRenameDirectory(t *testing.T, fsys FS) {
	must(t, fsys.MkdirAll("d/e"))
	f := create(t, fsys, "d/e/f", "abc")
	must(t, fsys.Rename("d", "x"))
	wantNames(t, fsys, ".", "x")
	wantContent(t, f, "abc")
	wantContent(t, open(t, fsys, "x/e/f", os.O_RDONLY), "abc")
	create(t, fsys, "x/g", "")
	wantNames(t, fsys, "x", "e", "g")
}

func testRenameRefused(t *testing.T, fsys FS) {
	must(t, fsys.MkdirAll("d/e"))
	must(t, fsys.MkdirAll("empty"))
	must(t, fsys.MkdirAll("full/x"))
	create(t, fsys, "f", "abc")
	for _, c := range [][2]string{{"d", "d/e/g"}, {"d", "f"}, {"f", "d"}, {"d", "full"}, {"d", "empty"}, {"f", "none/f"}} {
		if err := fsys.Rename(c[0], c[1]); err == nil {
			t.Fatalf("rename %s to %s succeeded", c[0], c[1])
		}
	}
	wantNames(t, fsys, ".", "d", "empty", "f", "full")
	wantContent(t, open(t, fsys, "f", os.O_RDONLY), "abc")
}

func testUnlinked(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "old")
	must(t, fsys.Remove("f"))
	g := create(t, fsys, "f", "new file")
	wantContent(t, f, "old")
	_, err := f.WriteAt([]byte("er"), 3)
	must(t, err)
	wantContent(t, f, "older")
	wantContent(t, g, "new file")
	must(t, f.Sync())
}

func testRemoveAll(t *testing.T, fsys FS) {
	must(t, fsys.MkdirAll("d/e"))
	f := create(t, fsys, "d/e/f", "abc")
	create(t, fsys, "d/g", "abc")
	create(t, fsys, "keep", "abc")
	must(t, fsys.RemoveAll("d"))
	wantNames(t, fsys, ".", "keep")
	wantContent(t, f, "abc")
	must(t, fsys.RemoveAll("keep"))
	wantNames(t, fsys, ".")
}

func testClosed(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "abc")
	must(t, f.Close())
	_, err := f.ReadAt(make([]byte, 1), 0)
	wantErr(t, err, fs.ErrClosed)
	_, err = f.WriteAt([]byte("x"), 0)
	wantErr(t, err, fs.ErrClosed)
	_, err = f.WriteVec([][]byte{{1}}, 0)
	wantErr(t, err, fs.ErrClosed)
	wantErr(t, f.Truncate(0), fs.ErrClosed)
	wantErr(t, f.Close(), fs.ErrClosed)
	if err := f.Sync(); err == nil {
		t.Fatal("a closed file was synced")
	}
	wantContent(t, open(t, fsys, "f", os.O_RDONLY), "abc")
}

func testSpace(t *testing.T, fsys FS) {
	space, err := fsys.Space()
	must(t, err)
	if space.Free <= 0 || space.Total < space.Free {
		t.Fatalf("space is %+v", space)
	}
}

func testSync(t *testing.T, fsys FS) {
	must(t, fsys.MkdirAll("d"))
	f := create(t, fsys, "d/f", "abc")
	must(t, f.Sync())
	must(t, fsys.SyncDir("d"))
	must(t, fsys.SyncDir("."))
	if err := fsys.SyncDir("none"); err == nil {
		t.Fatal("a missing directory was synced")
	}
	wantContent(t, f, "abc")
	err := f.WithFd(func(_ uintptr) error { return syscall.EXDEV })
	if !errors.Is(err, syscall.EXDEV) && !errors.Is(err, ErrNoFd) {
		t.Fatalf("WithFd returned %v", err)
	}
}

func testInfo(t *testing.T, fsys FS) {
	must(t, fsys.MkdirAll("d"))
	create(t, fsys, "d/f", "abc")
	info, err := fsys.Stat("d/f")
	must(t, err)
	if info.Name() != "f" || info.Size() != 3 || info.IsDir() || !info.Mode().IsRegular() {
		t.Fatalf("info is %v", info)
	}
	info, err = fsys.Stat("d")
	must(t, err)
	if !info.IsDir() || info.Name() != "d" {
		t.Fatalf("info is %v", info)
	}
	list, err := fsys.ReadDir("d")
	must(t, err)
	info, err = list[0].Info()
	must(t, err)
	if info.Size() != 3 || list[0].IsDir() {
		t.Fatalf("entry is %v", info)
	}
}

func testNegative(t *testing.T, fsys FS) {
	f := create(t, fsys, "f", "abc")
	if n, err := f.ReadAt(make([]byte, 1), -1); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Fatalf("read at -1: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("x"), -1); n != 0 || err == nil {
		t.Fatalf("write at -1: %d, %v", n, err)
	}
	if n, err := f.WriteVec([][]byte{{1}}, -1); n != 0 || err == nil {
		t.Fatalf("vector write at -1: %d, %v", n, err)
	}
	if f.Truncate(-1) == nil || f.Preallocate(-1) == nil {
		t.Fatal("a negative size was taken")
	}
	wantContent(t, f, "abc")
}
