package vfs

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestConformOS(t *testing.T) {
	conform(t, func(t *testing.T) FS { return openDisk(t) })
}

func TestOSCreatesItsDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	disk, err := OS(dir)
	must(t, err)
	create(t, disk, "f", "abc")
	must(t, disk.Close())
	text, err := os.ReadFile(filepath.Join(dir, "f"))
	must(t, err)
	if string(text) != "abc" {
		t.Fatalf("file holds %q", text)
	}
}

func TestOSRefusesLinksOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("/", filepath.Join(dir, "out")))
	disk, err := OS(dir)
	must(t, err)
	defer disk.Close()
	if _, err := disk.OpenFile("out/etc/passwd", os.O_RDONLY); err == nil {
		t.Fatal("a link led out of the data directory")
	}
}

func TestOSErrorsNameFileAndPosition(t *testing.T) {
	t.Parallel()
	disk := openDisk(t)
	create(t, disk, "f", "abc")
	f := open(t, disk, "f", os.O_RDONLY)
	_, err := f.WriteVec([][]byte{[]byte("xyz")}, 42)
	wantErr(t, err, syscall.EBADF)
	for _, part := range []string{filepath.Join(disk.root.Name(), "f"), "position 42", "after 0 bytes"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := Lock(dir)
	must(t, err)
	for range 2 {
		_, err = Lock(dir)
		wantErr(t, err, ErrLocked)
		if text := err.Error(); !strings.Contains(text, "pid "+strconv.Itoa(os.Getpid())) || strings.Contains(text, "\n") {
			t.Fatalf("error does not name the owner in one line: %q", text)
		}
	}
	must(t, lock.Release())
	lock, err = Lock(dir)
	must(t, err)
	must(t, lock.Release())
	if _, err := Lock(filepath.Join(dir, "none")); err == nil {
		t.Fatal("a missing directory was locked")
	}
}
