package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// TestFinal: the first failed sync is told once and answers all later ones, of other files and directories too, none of which reaches the
// base. A sync that did not begin counts for nothing.
func TestFinal(t *testing.T) {
	t.Parallel()
	var fault error
	reached := 0
	var told []error
	files := Final(Faulty(NewMem(), func(op Op) error {
		if !OfKind(OpSync, OpSyncDir)(op) {
			return nil
		}
		reached++
		return fault
	}), func(err error) { told = append(told, err) })
	open := func(name string) File {
		t.Helper()
		f, err := files.OpenFile(name, os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := open("a"), open("b")
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, fs.ErrNotExist, fs.ErrClosed} {
		fault = passing
		if err := errors.Join(a.Sync(), files.SyncDir(".")); !errors.Is(err, passing) || told != nil {
			t.Errorf("%v: %v, told %v", passing, err, told)
		}
	}
	fault = nil
	if err := errors.Join(a.Sync(), b.Sync(), files.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	fault = syscall.EIO
	if err := b.Sync(); !errors.Is(err, syscall.EIO) || len(told) != 1 || !errors.Is(told[0], syscall.EIO) {
		t.Errorf("the failed sync says %v and told %v", err, told)
	}
	fault = nil
	before := reached
	for name, err := range map[string]error{"the same file": b.Sync(), "another file": a.Sync(), "a new file": open("c").Sync(), "a directory": files.SyncDir(".")} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("a sync of %s after it: %v, want EIO", name, err)
		}
	}
	files.Fail(syscall.ENOSPC)
	if reached != before || len(told) != 1 {
		t.Errorf("%d syncs reached the base after the failed one; it was told %d times", reached-before, len(told))
	}
}

// TestFinalDir: the first failed sync may be a directory's, and for want of room.
func TestFinalDir(t *testing.T) {
	t.Parallel()
	var told error
	files := Final(Faulty(NewMem(), FailNth(1, OfKind(OpSyncDir), syscall.ENOSPC)), func(err error) { told = err })
	if err := files.SyncDir("."); !errors.Is(err, syscall.ENOSPC) || told == nil {
		t.Errorf("SyncDir: %v, told %v", err, told)
	}
	f, err := files.OpenFile("a", os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a file after it: %v, want ENOSPC", err)
	}
}
