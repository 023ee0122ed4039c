package vfs

import (
	"io/fs"
	"os"
	"sync"
)

// createFlags are left out when a file is opened again.
const createFlags = os.O_CREATE | os.O_EXCL | os.O_TRUNC

// FileCache is an FS whose files open their descriptors when they are used. See Cache.
type FileCache struct {
	base FS
	ring ring
	// forgettable says of a file, by the name it was opened by, that its unsynced writes need not hold a descriptor; nil: of none.
	forgettable func(name string) bool
	// pinned is told when more than ring.max must stay open; nil: nobody.
	pinned func()
	giving sync.Mutex // see giveWay
	names  struct {
		// RWMutex is held for reading while a file is opened by a name, for writing while names change.
		sync.RWMutex
		tree nameTree
	}
}

// Cache bounds the descriptors that files opened through it hold on base. At most maxOpen (at least 1) are open
// at a time; the one longest out of use, about, is closed for the next. More are open only while that many must not
// be closed: in use by a read, write or WithFd, written to since their last successful Sync (their error would be
// lost; see SyncFrom and Relieve), or of files whose name is gone. Names must change through the cache, which follows renames.
func Cache(base FS, maxOpen int) *FileCache {
	c := &FileCache{base: base}
	c.ring.max = max(1, maxOpen)
	return c
}

// Forgettable says which files may be closed with unsynced writes, although the error of their writing back may be lost then:
// those that are made again from others when they are damaged (indexes), and those of which nobody was promised more than the page
// cache. Otherwise thousands of them, which nobody syncs, would each hold a descriptor. match is asked whenever it matters, by the
// name the file was opened by, and must neither wait nor use the cache. It is to be set before the cache is used.
func (c *FileCache) Forgettable(match func(name string) bool) { c.forgettable = match }

// OnPinned has fn called, in the goroutine that opens a file, while more files than the cache may open must stay open: Relieve lets it
// close some. It is to be set before the cache is used, and must not use it.
func (c *FileCache) OnPinned(fn func()) { c.pinned = fn }

// SyncFrom bounds the descriptors that unsynced writes hold: where most or more are open, opening one more first syncs a file and closes
// it. That is the last resort, since it may hold up others: Relieve in the background keeps the number below. It is to be set before the
// cache is used.
func (c *FileCache) SyncFrom(most int) { c.ring.most = most }

// OnFailedSync has fn told of an error of the syncs that SyncFrom and Relieve make; the next Sync of that file returns it too. fn must neither
// wait nor use the cache. It is to be set before the cache is used.
func (c *FileCache) OnFailedSync(fn func(error)) { c.ring.failed = fn }

// Relieve syncs and closes files until no more are open than the cache may open, as far as syncs do that.
func (c *FileCache) Relieve() { c.ring.relieve() }

// evictions is how many descriptors are closed at a time when the process has none left.
const evictions = 16

// retry runs an operation of the base, and again with fewer descriptors of ours open when there were none left for it: others, connections
// above all, use the same ones. Files with unsynced writes are synced for that, one at a time, when all are such.
func (c *FileCache) retry(run func() error) error {
	for {
		err := run()
		if err == nil || !IsUnopened(err) {
			return err
		}
		if !c.giveWay() {
			return err
		}
	}
}

// giveWay closes some descriptors, or syncs one so that it may be closed; false if neither can be done. One at a time does so, lest one that
// another is about to close counts as none.
func (c *FileCache) giveWay() bool {
	c.giving.Lock()
	defer c.giving.Unlock()
	return c.ring.evict(evictions) > 0 || c.ring.syncOne()
}

// Descriptors counts those open now, or about to be.
func (c *FileCache) Descriptors() int {
	c.ring.mu.Lock()
	defer c.ring.mu.Unlock()
	return c.ring.mu.open
}

// OpenFile implements FS. It opens the file at once, and again later without the flags that create and cut.
func (c *FileCache) OpenFile(name string, flag int) (File, error) {
	name, err := checkOpen(name, flag)
	if err != nil {
		return nil, err
	}
	c.names.RLock()
	defer c.names.RUnlock()
	f := &cachedFile{cache: c, opened: name, flag: flag &^ createFlags}
	f.node = c.names.tree.attach(name, f)
	d, err := c.openDescriptor(f, name, flag)
	if err != nil {
		c.names.tree.detach(f)
		return nil, err
	}
	f.current.Store(d)
	d.unpin()
	return f, nil
}

// Remove implements FS.
func (c *FileCache) Remove(name string) error {
	name, err := cleanEntry("remove", name)
	if err != nil {
		return err
	}
	c.names.Lock()
	defer c.names.Unlock()
	return c.unnameLocked(name, func() error { return c.retry(func() error { return c.base.Remove(name) }) })
}

// RemoveAll implements FS. When it fails, the open files below name keep their descriptors, gone or not.
func (c *FileCache) RemoveAll(name string) error {
	name, err := cleanEntry("removeall", name)
	if err != nil {
		return err
	}
	c.names.Lock()
	defer c.names.Unlock()
	var failed error
	err = c.unnameLocked(name, func() error {
		failed = c.retry(func() error { return c.base.RemoveAll(name) })
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}

// Rename implements FS.
func (c *FileCache) Rename(from, to string) error {
	from, to, err := cleanEntries("rename", from, to)
	if err != nil {
		return err
	}
	if from == to {
		return c.retry(func() error { return c.base.Rename(from, to) })
	}
	c.names.Lock()
	defer c.names.Unlock()
	err = c.unnameLocked(to, func() error { return c.retry(func() error { return c.base.Rename(from, to) }) })
	if err == nil {
		c.names.tree.move(from, to)
	}
	return err
}

// unnameLocked runs change, which takes name from its files. Those that are open here get a descriptor before
// that, and keep it until they are closed, for nothing could open them again.
func (c *FileCache) unnameLocked(name string, change func() error) error {
	files := c.names.tree.below(name)
	for i, f := range files {
		if err := f.hold(); err != nil {
			releaseAll(files[:i])
			return err
		}
	}
	if err := change(); err != nil {
		releaseAll(files)
		return err
	}
	for _, f := range files {
		c.names.tree.detach(f)
	}
	return nil
}

func releaseAll(files []*cachedFile) {
	for _, f := range files {
		f.release()
	}
}

// MkdirAll implements FS.
func (c *FileCache) MkdirAll(name string) error {
	return c.retry(func() error { return c.base.MkdirAll(name) })
}

// ReadDir implements FS.
func (c *FileCache) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = c.retry(func() (err error) {
		entries, err = c.base.ReadDir(name)
		return err
	})
	return entries, err
}

// Stat implements FS.
func (c *FileCache) Stat(name string) (info fs.FileInfo, err error) {
	err = c.retry(func() (err error) {
		info, err = c.base.Stat(name)
		return err
	})
	return info, err
}

// SyncDir implements FS.
func (c *FileCache) SyncDir(name string) error {
	return c.retry(func() error { return c.base.SyncDir(name) })
}

// Space implements FS.
func (c *FileCache) Space() (space Space, err error) {
	err = c.retry(func() (err error) {
		space, err = c.base.Space()
		return err
	})
	return space, err
}
