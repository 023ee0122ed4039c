package vfs

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

// process is a file system whose process has a limit of descriptors, of which others hold some.
func process(base *counted, limit int64, others *atomic.Int64) FS {
	return Faulty(base, func(op Op) error {
		switch op.Kind {
		case OpOpen, OpCreate, OpSyncDir, OpRename, OpRemove, OpStat, OpReadDir: // os.Root opens directories on its way
			if base.open.Load()+others.Load() >= limit {
				return syscall.EMFILE
			}
		default: // needs none
		}
		return nil
	})
}

// TestCacheGivesWay: when others take the descriptors, the cache closes its own for whatever needs one.
func TestCacheGivesWay(t *testing.T) {
	t.Parallel()
	var others atomic.Int64
	base := count(NewMem())
	cache := Cache(process(base, 100, &others), 80)
	var files []File
	for i := range 60 {
		files = append(files, seal(t, cache, strconv.Itoa(i), "text"))
	}
	for _, held := range []int64{40, 70, 98} {
		others.Store(held)
		for _, f := range files {
			wantContent(t, f, "text")
		}
		must(t, cache.Rename("0", "x"))
		must(t, cache.Rename("x", "0"))
		must(t, cache.SyncDir("."))
		if _, err := cache.ReadDir("."); err != nil {
			t.Fatal(err)
		}
		if _, err := cache.Stat("7"); err != nil {
			t.Fatal(err)
		}
		must(t, seal(t, cache, "new", "text").Close())
		must(t, cache.Remove("new"))
	}
	others.Store(100)
	_, err := cache.OpenFile("none", os.O_RDWR|os.O_CREATE)
	if !IsUnopened(err) || !IsShortage(err) {
		t.Fatalf("without any descriptor: %v, want EMFILE", err)
	}
	if _, err := files[9].WriteAt([]byte("T"), 0); !IsUnopened(err) {
		t.Fatalf("a write without any descriptor: %v, want EMFILE", err)
	}
	others.Store(0)
	for _, f := range files {
		wantContent(t, f, "text")
		must(t, f.Close())
	}
	wantOpen(t, cache, base, 0)
}

// TestCacheAsksForSyncs: whoever opens a file while unsynced ones hold too many descriptors asks for syncs.
func TestCacheAsksForSyncs(t *testing.T) {
	t.Parallel()
	cache := Cache(NewMem(), 4)
	asked := 0
	cache.OnPinned(func() { asked++ })
	var files []File
	for i := range 4 {
		files = append(files, create(t, cache, strconv.Itoa(i), "text"))
	}
	if asked > 0 {
		t.Fatalf("asked %d times for syncs, though no more are open than may be", asked)
	}
	files = append(files, create(t, cache, "4", "text"))
	if asked != 1 {
		t.Fatalf("asked %d times for syncs when a file too many was opened, want once", asked)
	}
	for _, f := range files {
		must(t, f.Sync())
	}
	seal(t, cache, "5", "text")
	if asked != 1 || cache.Descriptors() > 4 {
		t.Fatalf("asked %d times, %d descriptors after all was synced", asked, cache.Descriptors())
	}
}
