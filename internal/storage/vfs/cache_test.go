package vfs

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestConformCacheOS(t *testing.T) {
	conform(t, func(t *testing.T) FS { return Cache(openDisk(t), 1) })
}

func TestConformCacheMem(t *testing.T) {
	conform(t, func(_ *testing.T) FS { return Cache(NewMem(), 1) })
}

func TestConformCacheLarge(t *testing.T) {
	conform(t, func(t *testing.T) FS { return Cache(openDisk(t), 100) })
}

// counted counts the files that are open in base.
type counted struct {
	FS
	open, most atomic.Int64
}

func count(base FS) *counted {
	c := &counted{}
	c.FS = Trace(base, func(op Op) {
		switch op.Kind {
		case OpOpen, OpCreate:
			if op.Err == nil {
				c.most.Store(max(c.most.Load(), c.open.Add(1)))
			}
		case OpClose:
			c.open.Add(-1)
		default:
		}
	})
	return c
}

func wantOpen(t testing.TB, cache *FileCache, base *counted, want int) {
	t.Helper()
	if got := int(base.open.Load()); got != want || cache.Descriptors() != want {
		t.Fatalf("%d files open, the cache says %d, want %d", got, cache.Descriptors(), want)
	}
}

// seal creates a file that the cache may close.
func seal(t testing.TB, fsys FS, name, text string) File {
	t.Helper()
	f := create(t, fsys, name, text)
	must(t, f.Sync())
	return f
}

func TestCacheBound(t *testing.T) {
	t.Parallel()
	base := count(openDisk(t))
	cache := Cache(base, 3)
	var files []File
	for i := range 10 {
		files = append(files, seal(t, cache, strconv.Itoa(i), fmt.Sprint("text ", i)))
	}
	for range 3 {
		for i, f := range files {
			wantContent(t, f, fmt.Sprint("text ", i))
		}
	}
	wantOpen(t, cache, base, 3)
	if most := base.most.Load(); most != 3 {
		t.Fatalf("%d files were open at once", most)
	}
	for _, f := range files {
		must(t, f.Close())
	}
	wantOpen(t, cache, base, 0)
}

func TestCacheKeepsUnsynced(t *testing.T) {
	t.Parallel()
	base := count(NewMem())
	var failing atomic.Bool
	cache := Cache(Faulty(base, func(op Op) error {
		if failing.Load() && op.Kind == OpSync {
			return syscall.EIO
		}
		return nil
	}), 2)
	var files []File
	for i := range 6 {
		files = append(files, create(t, cache, strconv.Itoa(i), "text"))
	}
	wantOpen(t, cache, base, 6)
	for _, f := range files[1:] {
		must(t, f.Sync())
	}
	wantOpen(t, cache, base, 2) // one is dirty yet
	for i := range 5 {
		wantContent(t, files[1+i], "text")
	}
	wantOpen(t, cache, base, 2)
	failing.Store(true)
	wantErr(t, files[0].Sync(), syscall.EIO)
	failing.Store(false)
	must(t, files[0].Sync())
	for i := range 10 {
		wantContent(t, files[1+i%5], "text")
		if files[0].(*cachedFile).current.Load() == nil {
			t.Fatal("a descriptor was closed after its sync had failed")
		}
	}
	_, err := files[1].WriteAt([]byte("T"), 0)
	must(t, err)
	for _, f := range files[2:] {
		wantContent(t, f, "text")
	}
	if files[1].(*cachedFile).current.Load() == nil {
		t.Fatal("a descriptor with unsynced writes was closed")
	}
}

func TestCacheSyncDoesNotCoverLaterWrites(t *testing.T) {
	t.Parallel()
	var during func()
	cache := Cache(Trace(NewMem(), func(op Op) {
		if op.Kind == OpSync && during != nil {
			run := during
			during = nil
			run()
		}
	}), 1)
	f := seal(t, cache, "f", "text")
	d := f.(*cachedFile).current.Load()
	_, err := f.WriteAt([]byte("T"), 0)
	must(t, err)
	during = func() { d.wrote(true) } // a write ends while the sync is under way
	must(t, f.Sync())
	if !d.dirty() {
		t.Fatal("a write during a sync was taken for synced")
	}
	must(t, f.Sync())
	if d.dirty() {
		t.Fatal("a synced descriptor is dirty")
	}
}

func TestCachePrefersTheUnused(t *testing.T) {
	t.Parallel()
	cache := Cache(NewMem(), 3)
	hot := seal(t, cache, "hot", "hot")
	var cold []File
	for i := range 8 {
		cold = append(cold, seal(t, cache, strconv.Itoa(i), "cold"))
	}
	textOf(t, hot)
	kept := 0
	for _, f := range cold {
		textOf(t, f)
		if hot.(*cachedFile).current.Load() != nil {
			kept++
		}
		textOf(t, hot)
	}
	if kept < len(cold)-1 { // all but once at most, since the first round finds every bit set
		t.Fatalf("the file in constant use was kept %d times of %d", kept, len(cold))
	}
}

func TestCacheFollowsNames(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]FS{"OS": openDisk(t), "Mem": NewMem()} {
		t.Run(name, func(t *testing.T) {
			cache := Cache(base, 1)
			must(t, cache.MkdirAll("t-0/deep"))
			a, b := seal(t, cache, "t-0/a", "A"), seal(t, cache, "t-0/deep/b", "B")
			other := seal(t, cache, "other", "other")
			evict := func() { textOf(t, other) }
			evict()
			must(t, cache.Rename("t-0", "t-0.x-delete"))
			wantContent(t, a, "A")
			wantContent(t, b, "B")
			must(t, cache.Rename("t-0.x-delete/a", "a"))
			evict()
			wantContent(t, a, "A")
			must(t, cache.MkdirAll("t-0"))
			seal(t, cache, "t-0/a", "new A")
			evict()
			wantContent(t, a, "A")
			must(t, cache.RemoveAll("t-0.x-delete"))
			evict()
			wantContent(t, b, "B")
			must(t, cache.Rename("t-0/a", "a")) // takes a's name from it
			evict()
			wantContent(t, a, "A")
			wantContent(t, open(t, cache, "a", os.O_RDONLY), "new A")
			must(t, cache.Remove("a"))
			evict()
			wantContent(t, a, "A")
			if n := len(cache.names.tree.root.kids); n != 1 {
				t.Fatalf("the tree keeps %d names, want only other's", n)
			}
		})
	}
}

// TestCacheParked has a descriptor lose its name and another be closed while they wait for their sync outside the ring.
func TestCacheParked(t *testing.T) {
	t.Parallel()
	var during func()
	base := count(NewMem())
	cache := Cache(Trace(base, func(op Op) {
		if op.Kind == OpSync && during != nil {
			during()
		}
	}), 1)
	f, g := create(t, cache, "f", "text"), create(t, cache, "g", "text")
	other := seal(t, cache, "other", "other")
	must(t, cache.Remove("f"))
	must(t, f.Sync())
	for range 3 {
		wantContent(t, other, "other")
		wantContent(t, f, "text")
	}
	during = func() { must(t, g.Close()) }
	must(t, g.Sync())
	during = nil
	must(t, f.Close())
	wantContent(t, other, "other")
	wantOpen(t, cache, base, 1)
	if n := len(cache.ring.mu.list); n != 1 {
		t.Fatalf("%d descriptors in the ring, want other's", n)
	}
}

func TestCacheFailedHold(t *testing.T) {
	t.Parallel()
	base := count(NewMem())
	var failing atomic.Int64
	cache := Cache(Faulty(base, func(op Op) error {
		if op.Kind == OpOpen && failing.Add(-1) == 0 {
			return syscall.EMFILE
		}
		return nil
	}), 1)
	must(t, cache.MkdirAll("d"))
	f, g := seal(t, cache, "d/f", "f"), seal(t, cache, "d/g", "g")
	other := seal(t, cache, "other", "other")
	failing.Store(2)
	wantErr(t, cache.RemoveAll("d"), syscall.EMFILE)
	wantContent(t, other, "other")
	wantOpen(t, cache, base, 1)
	wantContent(t, f, "f")
	wantContent(t, g, "g")
	must(t, cache.RemoveAll("d"))
	wantContent(t, other, "other")
	wantContent(t, f, "f")
	wantContent(t, g, "g")
}

func TestCacheFailedRename(t *testing.T) {
	t.Parallel()
	base := count(NewMem())
	cache := Cache(base, 1)
	f := seal(t, cache, "f", "text")
	g := seal(t, cache, "g", "other")
	if cache.Rename("none", "f") == nil || cache.Rename("f", "none/f") == nil {
		t.Fatal("an impossible rename succeeded")
	}
	for range 3 {
		wantContent(t, f, "text")
		wantContent(t, g, "other")
	}
	wantOpen(t, cache, base, 1)
}

func TestCacheReopenError(t *testing.T) {
	t.Parallel()
	base := NewMem()
	cache := Cache(base, 1)
	f := seal(t, cache, "f", "text")
	g := seal(t, cache, "g", "other")
	must(t, base.Remove("f")) // behind the cache's back
	_, err := f.ReadAt(make([]byte, 1), 0)
	wantErr(t, err, os.ErrNotExist)
	if !strings.Contains(err.Error(), "open again") {
		t.Fatalf("error is %q", err)
	}
	wantContent(t, g, "other")
	if cache.Remove("f") == nil {
		t.Fatal("a file was removed twice")
	}
	must(t, f.Close())
}

// TestCacheRace has readers, a writer and syncer, a renamer and openers on one small cache. Each file's bytes say
// whose they are, so a read of another file, or of a closed one, is seen.
func TestCacheRace(t *testing.T) {
	t.Parallel()
	for name, disk := range map[string]FS{"OS": openDisk(t), "Mem": NewMem(), "OS bounded": openDisk(t), "Mem bounded": NewMem()} {
		t.Run(name, func(t *testing.T) {
			bounded := strings.HasSuffix(name, "bounded")
			base := count(disk)
			r := &cacheRace{t: t, cache: Cache(base, 3)}
			if bounded {
				r.cache.SyncFrom(5)
				r.cache.OnFailedSync(func(err error) { t.Error(err) })
			}
			must(t, r.cache.MkdirAll("d0"))
			for i := range 8 {
				r.files = append(r.files, seal(t, r.cache, fmt.Sprint("d0/", i), r.text(i)))
			}
			var wg sync.WaitGroup
			for i, work := range []func(*rand.Rand){r.read, r.read, r.write, r.sync, r.rename, r.replace, r.reopen, r.relieve} {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(i), 1))
					for range 400 {
						work(rng)
					}
				})
			}
			wg.Wait()
			for i, f := range r.files {
				must(t, f.Sync())
				wantContent(t, f, r.text(i))
				must(t, f.Close())
			}
			wantOpen(t, r.cache, base, 0)
			if n := len(r.cache.names.tree.root.kids); n != 0 {
				t.Fatalf("%d names are left", n)
			}
		})
	}
}

type cacheRace struct {
	t       *testing.T
	cache   *FileCache
	files   []File
	renames int
}

func (r *cacheRace) text(i int) string { return strings.Repeat(strconv.Itoa(i), 100) }

func (r *cacheRace) read(rng *rand.Rand) {
	i := rng.IntN(len(r.files))
	p := make([]byte, 50)
	if _, err := r.files[i].ReadAt(p, 25); err != nil || string(p) != r.text(i)[:50] {
		r.t.Errorf("file %d: read %q, %v", i, p, err)
	}
}

func (r *cacheRace) write(rng *rand.Rand) {
	i := rng.IntN(len(r.files))
	if _, err := r.files[i].WriteVec([][]byte{[]byte(r.text(i)[:10])}, rng.Int64N(90)); err != nil {
		r.t.Error(err)
	}
}

func (r *cacheRace) sync(rng *rand.Rand) {
	if err := r.files[rng.IntN(len(r.files))].Sync(); err != nil {
		r.t.Error(err)
	}
}

func (r *cacheRace) relieve(*rand.Rand) { r.cache.Relieve() }

// rename moves the directory of all files.
func (r *cacheRace) rename(*rand.Rand) {
	from := fmt.Sprint("d", r.renames)
	r.renames++
	if err := r.cache.Rename(from, fmt.Sprint("d", r.renames)); err != nil {
		r.t.Error(err)
	}
}

// replace takes the name of a file, which is then read without one, and removes its successor.
func (r *cacheRace) replace(*rand.Rand) {
	var old, f File
	var err error
	for _, step := range []func(){
		func() { old, err = r.cache.OpenFile("x", os.O_RDWR|os.O_CREATE) },
		func() { _, err = old.WriteAt([]byte("old"), 0) },
		func() { f, err = r.cache.OpenFile("y", os.O_RDWR|os.O_CREATE) },
		func() { err = r.cache.Rename("y", "x") },
		func() { err = r.cache.Remove("x") },
		func() { _, err = old.ReadAt(make([]byte, 3), 0) },
		func() { err = old.Close() },
		func() { err = f.Close() },
	} {
		if step(); err != nil {
			r.t.Error(err)
			return
		}
	}
}

// reopen opens and reads a file by a second handle. A list made during a rename may miss the directory, and the
// directory may be renamed before the file is opened.
func (r *cacheRace) reopen(rng *rand.Rand) {
	list, err := r.cache.ReadDir(".")
	if err != nil {
		r.t.Error(err)
	}
	if len(list) == 0 {
		return
	}
	i := rng.IntN(len(r.files))
	f, err := r.cache.OpenFile(fmt.Sprint(list[0].Name(), "/", i), os.O_RDONLY)
	if err != nil {
		return
	}
	p := make([]byte, 1)
	if _, err := f.ReadAt(p, 0); err != nil && !errors.Is(err, io.EOF) || string(p) != r.text(i)[:1] {
		r.t.Errorf("file %d: read %q, %v", i, p, err)
	}
	if err := f.Close(); err != nil {
		r.t.Error(err)
	}
}
