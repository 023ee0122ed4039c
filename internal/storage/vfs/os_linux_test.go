package vfs

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// fakeConn lets vecWrite run without a file.
type fakeConn struct{}

func (fakeConn) Control(fn func(uintptr)) error   { fn(0); return nil }
func (fakeConn) Read(func(uintptr) bool) error    { return syscall.ENOSYS }
func (fakeConn) Write(_ func(uintptr) bool) error { return syscall.ENOSYS }

// shortKernel stands in for pwritev: it writes as little as it likes, is interrupted, and fails when full.
type shortKernel struct {
	t    *rapid.T
	disk []byte
	room int
}

func (k *shortKernel) pwritev(v *vecWrite) {
	v.n, v.errno = 0, 0
	if rapid.IntRange(0, 3).Draw(k.t, "interrupt") == 0 {
		v.n, v.errno = -1, unix.EINTR
		return
	}
	var all []byte
	for _, iov := range v.iov[:v.count] {
		all = append(all, unsafe.Slice(iov.Base, int(iov.Len))...)
	}
	n := min(rapid.IntRange(1, len(all)).Draw(k.t, "n"), k.room-len(k.disk))
	if n == 0 {
		v.n, v.errno = -1, unix.ENOSPC
		return
	}
	if int(v.pos) != len(k.disk) {
		k.t.Fatalf("write at %d, want %d", v.pos, len(k.disk))
	}
	k.disk = append(k.disk, all[:n]...)
	v.n = n
}

func TestWriteVecContinuesShortWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bufs := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 9), 0, 20).Draw(t, "bufs")
		all := bytes.Join(bufs, nil)
		k := &shortKernel{t: t, room: rapid.IntRange(0, 100).Draw(t, "room")}
		v := newVecWrite()
		v.call = func(uintptr) { k.pwritev(v) }
		n, err := v.write(fakeConn{}, bufs, 0)
		if want := min(len(all), k.room); n != want || !bytes.Equal(k.disk, all[:want]) {
			t.Fatalf("wrote %d bytes %v, want %d bytes of %v", n, k.disk, want, all)
		}
		if (err != nil) != (len(all) > k.room) {
			t.Fatalf("error is %v with %d bytes for %d", err, len(all), k.room)
		}
		for _, iov := range v.iov[:min(len(bufs), maxVecs)] {
			if iov.Base != nil {
				t.Fatal("the pool holds on to the caller's bytes")
			}
		}
	})
}

func TestWriteVecDoesNotAllocate(t *testing.T) {
	f := create(t, openDisk(t), "f", "")
	bufs := [][]byte{make([]byte, 61), make([]byte, 1024), make([]byte, 61)}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := f.WriteVec(bufs, 0); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Fatalf("%v allocations a write", n)
	}
}

func TestSyncErrorIsFinal(t *testing.T) {
	t.Parallel()
	f := create(t, openDisk(t), "f", "abc").(*diskFile)
	r, w, err := os.Pipe()
	must(t, err)
	defer w.Close()
	conn := f.conn
	f.conn, err = r.SyscallConn() // fdatasync of a pipe fails
	must(t, err)
	first := f.Sync()
	wantErr(t, first, unix.EINVAL)
	f.conn = conn
	if again := f.Sync(); !errors.Is(again, first) {
		t.Fatalf("a sync after a failed one returned %v", again)
	}
	must(t, r.Close())
}

// TestFcntlMeetsLock tries the JVM's kind of lock while ours is held.
func TestFcntlMeetsLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := Lock(dir)
	must(t, err)
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	wantErr(t, unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}), unix.EAGAIN)
	must(t, lock.Release())
	must(t, unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
}

// TestLockExcludesFcntl holds the lock as the JVM does, from another process.
func TestLockExcludesFcntl(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("VFS_LOCK_DIR"); dir != "" {
		holdFcntlLock(dir)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockExcludesFcntl$")
	cmd.Env = append(os.Environ(), "VFS_LOCK_DIR="+dir)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line := make([]byte, 7)
	if n, _ := stdout.Read(line); string(line[:n]) != "locked\n" {
		t.Fatalf("the child said %q", line[:n])
	}
	_, err = Lock(dir)
	wantErr(t, err, ErrLocked)
	if !strings.Contains(err.Error(), "pid "+strconv.Itoa(cmd.Process.Pid)) {
		t.Fatalf("error does not name the owner: %v", err)
	}
	must(t, stdin.Close())
	must(t, cmd.Wait())
	lock, err := Lock(dir)
	must(t, err)
	must(t, lock.Release())
}

// holdFcntlLock runs in the child: it locks, says so, and leaves when its input ends.
func holdFcntlLock(dir string) {
	file, err := os.Create(filepath.Join(dir, lockName))
	if err == nil {
		err = unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("locked\n")
	os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}
