package vfs

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestConformTrace(t *testing.T) {
	conform(t, func(_ *testing.T) FS { return Trace(NewMem(), func(Op) {}) })
}

func TestConformFaulty(t *testing.T) {
	conform(t, func(t *testing.T) FS { return Faulty(openDisk(t), func(Op) error { return nil }) })
}

func TestConformStack(t *testing.T) {
	conform(t, func(t *testing.T) FS {
		return Cache(Faulty(Trace(openDisk(t), func(Op) {}), func(Op) error { return nil }), 2)
	})
}

func TestTrace(t *testing.T) {
	t.Parallel()
	var lines []string
	var last Op
	fsys := Trace(openDisk(t), func(op Op) {
		lines = append(lines, op.String())
		last = op
	})
	must(t, fsys.MkdirAll("d"))
	f := create(t, fsys, "d/f", "abc")
	_, err := f.WriteVec([][]byte{{1, 2}, {3}}, 3)
	must(t, err)
	must(t, f.Preallocate(100))
	must(t, f.Truncate(6))
	must(t, f.Sync())
	textOf(t, f)
	must(t, fsys.SyncDir("d"))
	must(t, fsys.Rename("d/f", "d/g"))
	open(t, fsys, "d/g", os.O_RDONLY)
	_, err = fsys.Stat("d/g")
	must(t, err)
	must(t, fsys.Remove("d/g"))
	must(t, fsys.RemoveAll("d"))
	wantNames(t, fsys, ".")
	_, err = fsys.Space()
	must(t, err)
	must(t, f.Close())
	want := `mkdir d
create d/f
write d/f [0, 3)
write d/f [3, 6)
preallocate d/f 100
truncate d/f 6
sync d/f
size d/f
read d/f [0, 6)
syncdir d
rename d/f -> d/g
open d/g
stat d/g
remove d/g
removeall d
readdir .
space
close d/f`
	if got := strings.Join(lines, "\n"); got != want {
		t.Fatalf("trace is\n%s\nwant\n%s", got, want)
	}
	if last.Seq != uint64(len(lines)) {
		t.Fatalf("the last operation has number %d of %d", last.Seq, len(lines))
	}
}

// everyOp makes each kind of operation once; it stops at the first error.
func everyOp(fsys FS) error {
	if err := fsys.MkdirAll("d"); err != nil {
		return err
	}
	f, err := fsys.OpenFile("d/f", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	for _, op := range []func() error{
		func() error { _, err := f.WriteAt([]byte("abcdef"), 0); return err },
		func() error { return f.Preallocate(100) },
		func() error { return f.Truncate(50) },
		f.Sync,
		func() error { _, err := f.ReadAt(make([]byte, 3), 0); return err },
		func() error { _, err := f.Size(); return err },
		func() error { return f.WithFd(func(uintptr) error { return nil }) },
		f.Close,
		func() error { return fsys.SyncDir("d") },
		func() error { return fsys.Rename("d/f", "d/g") },
		func() error { _, err := fsys.OpenFile("d/g", os.O_RDONLY); return err },
		func() error { _, err := fsys.Stat("d/g"); return err },
		func() error { _, err := fsys.ReadDir("d"); return err },
		func() error { _, err := fsys.Space(); return err },
		func() error { return fsys.Remove("d/g") },
		func() error { return fsys.RemoveAll("d") },
	} {
		if err := op(); err != nil {
			_ = f.Close()
			return err
		}
	}
	return nil
}

func TestFaultAtEveryOperation(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	all := func(Op) bool { return true }
	var count int64
	must(t, everyOp(Faulty(openDisk(t), func(_ Op) error { count++; return nil })))
	if count != 18 {
		t.Fatalf("%d operations", count)
	}
	for n := range count {
		err := everyOp(Faulty(openDisk(t), FailNth(n+1, all, cause)))
		if !errors.Is(err, cause) {
			t.Errorf("a fault in operation %d gave %v", n+1, err)
		}
	}
	must(t, everyOp(Faulty(openDisk(t), FailNth(count+1, all, cause))))
}

func TestShortWrite(t *testing.T) {
	t.Parallel()
	fault := &ShortWriteError{N: 4, Err: syscall.ENOSPC}
	fsys := Faulty(NewMem(), FailNth(2, OfKind(OpWrite), fault))
	f := create(t, fsys, "f", "0")
	n, err := f.WriteVec([][]byte{[]byte("ab"), []byte("cdef"), []byte("gh")}, 1)
	wantErr(t, err, syscall.ENOSPC)
	if n != 4 {
		t.Fatalf("wrote %d bytes, want 4", n)
	}
	wantContent(t, f, "0abcd")
	for _, part := range []string{"write f [1, 9)", "short write of 4 bytes"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestFailFrom(t *testing.T) {
	t.Parallel()
	f := create(t, Faulty(NewMem(), FailFrom(2, OfKind(OpWrite, OpSync), syscall.EIO)), "f", "abc")
	wantErr(t, f.Sync(), syscall.EIO)
	wantErr(t, f.Truncate(0), nil)
	_, err := f.WriteAt([]byte("x"), 0)
	wantErr(t, err, syscall.EIO)
	wantContent(t, f, "")
}
