//go:build unix

package vfs

import (
	"syscall"
	"testing"
)

func TestCacheKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	base := count(openDisk(t))
	cache := Cache(base, 1)
	f := seal(t, cache, "f", "text")
	g := seal(t, cache, "g", "other")
	must(t, f.WithFd(func(fd uintptr) error {
		for range 3 {
			wantContent(t, g, "other")
		}
		var st syscall.Stat_t
		must(t, syscall.Fstat(int(fd), &st))
		if st.Size != 4 {
			t.Errorf("the descriptor is another file's, of %d bytes", st.Size)
		}
		must(t, f.Close()) // closed by its last user
		return syscall.Fstat(int(fd), &st)
	}))
	must(t, g.Close())
	wantOpen(t, cache, base, 0)
}

func TestOSWithFd(t *testing.T) {
	t.Parallel()
	f := create(t, openDisk(t), "f", "abc")
	var got syscall.Stat_t
	must(t, f.WithFd(func(fd uintptr) error { return syscall.Fstat(int(fd), &got) }))
	if got.Size != 3 {
		t.Fatalf("size by descriptor is %d", got.Size)
	}
}
