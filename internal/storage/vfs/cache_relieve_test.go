package vfs

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestCacheIgnoresEmptyFiles: a file that was made without bytes, or emptied when it had none, has nothing to sync, and holds no
// descriptor. One that lost bytes does.
func TestCacheIgnoresEmptyFiles(t *testing.T) {
	t.Parallel()
	base := count(NewMem())
	cache := Cache(base, 3)
	open := func(name string, flag int) File {
		t.Helper()
		f, err := cache.OpenFile(name, os.O_RDWR|os.O_CREATE|flag)
		must(t, err)
		return f
	}
	for i := range 20 {
		open(strconv.Itoa(i), os.O_TRUNC)
		open(strconv.Itoa(i), os.O_TRUNC)
		open("x"+strconv.Itoa(i), 0)
	}
	wantOpen(t, cache, base, 3)
	var files []File
	for i := range 5 {
		name := "full" + strconv.Itoa(i)
		must(t, seal(t, cache, name, "text").Close())
		files = append(files, open(name, os.O_TRUNC))
	}
	for _, f := range files {
		wantContent(t, f, "")
	}
	if got := cache.Descriptors(); got < 5 {
		t.Errorf("%d descriptors are open, though 5 files were emptied and not synced", got)
	}
}

// TestCacheRelieve: files with unsynced writes are synced and closed, down to what the cache may open, and nothing of them is lost.
func TestCacheRelieve(t *testing.T) {
	t.Parallel()
	disk := NewMem()
	base := count(disk)
	cache := Cache(base, 4)
	var files []File
	for i := range 20 {
		files = append(files, create(t, cache, strconv.Itoa(i), "text"))
	}
	must(t, cache.SyncDir("."))
	wantOpen(t, cache, base, 20)
	cache.Relieve()
	wantOpen(t, cache, base, 4)
	for name, text := range dump(t, disk.CrashClone(CrashOptions{})) {
		if n, _ := strconv.Atoi(name); n < 16 && text != "text" && text != "" {
			t.Errorf("after a crash %s has %q", name, text)
		}
	}
	for _, f := range files {
		wantContent(t, f, "text")
		must(t, f.Sync())
		must(t, f.Close())
	}
	wantOpen(t, cache, base, 0)
}

// TestCacheSyncsFrom: with all files unsynced, no more than the bound are open, whoever opens the next; so too when the process has no
// descriptor left.
func TestCacheSyncsFrom(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int64{"by its bound": 1 << 30, "by the process's": 16} { // of which four workers open or close eight
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others atomic.Int64
			base := count(NewMem())
			cache := Cache(process(base, limit, &others), 4)
			most := 12
			if limit == 1<<30 {
				cache.SyncFrom(8)
			} else {
				most = int(limit) + 4 // each worker may have looked before it opens
			}
			var group sync.WaitGroup
			for w := range 4 {
				group.Go(func() {
					for i := range 20 {
						f, err := cache.OpenFile(strconv.Itoa(w)+"-"+strconv.Itoa(i), os.O_RDWR|os.O_CREATE)
						if err == nil {
							_, err = f.WriteAt([]byte("text"), 0)
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			if got := int(base.most.Load()); got > most {
				t.Errorf("%d were open at a time, want %d at most", got, most)
			}
			for w := range 4 {
				for i := range 20 {
					f, err := cache.OpenFile(strconv.Itoa(w)+"-"+strconv.Itoa(i), os.O_RDWR)
					must(t, err)
					wantContent(t, f, "text")
					must(t, f.Close())
				}
			}
		})
	}
}

// TestCacheFailedRelieve: an error of the cache's own sync is told, is what the owner's next sync returns though the disk says nil by
// then, and keeps the descriptor open.
func TestCacheFailedRelieve(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	base := count(NewMem())
	cache := Cache(Faulty(base, func(op Op) error {
		if failing.Load() && op.Kind == OpSync {
			return syscall.EIO
		}
		return nil
	}), 1)
	var told []error
	cache.OnFailedSync(func(err error) { told = append(told, err) })
	var files []File
	for i := range 5 {
		files = append(files, create(t, cache, strconv.Itoa(i), "text"))
	}
	failing.Store(true)
	cache.Relieve()
	failing.Store(false)
	if len(told) != 1 || !errors.Is(told[0], syscall.EIO) {
		t.Fatalf("told %v, want EIO once", told)
	}
	failed := 0
	for _, f := range files {
		if err := f.Sync(); errors.Is(err, syscall.EIO) {
			failed++
			wantErr(t, f.Sync(), syscall.EIO)
		} else {
			must(t, err)
		}
	}
	if failed != 1 {
		t.Errorf("%d files say that their sync failed, want the one whose did", failed)
	}
	for i := range 3 {
		wantContent(t, seal(t, cache, "new"+strconv.Itoa(i), "text"), "text")
	}
	if got := cache.Descriptors(); got != 2 {
		t.Errorf("%d descriptors, want the failed one's and one more", got)
	}
}

// TestCacheSyncsOne: where one descriptor is wanted, one file is synced, by the cache's bound or the process's.
func TestCacheSyncsOne(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int64{"by its bound": 1 << 30, "by the process's": 10} {
		var others atomic.Int64
		var syncs atomic.Int64
		base := count(NewMem())
		cache := Cache(Trace(process(base, limit, &others), func(op Op) {
			if op.Kind == OpSync {
				syncs.Add(1)
			}
		}), 4)
		if limit > 10 {
			cache.SyncFrom(10)
		}
		for i := range 10 {
			create(t, cache, strconv.Itoa(i), "text")
		}
		if n := syncs.Load(); n != 0 {
			t.Errorf("%s: %d syncs while there were descriptors", name, n)
		}
		create(t, cache, "more", "text")
		if n := syncs.Load(); n != 1 {
			t.Errorf("%s: %d syncs for one descriptor, want 1", name, n)
		}
	}
}
