package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// cachedFile is a File that has a descriptor when it needs one.
type cachedFile struct {
	cache   *FileCache
	opened  string // the name it was opened by, for errors
	flag    int
	current atomic.Pointer[descriptor] // nil while closed by the cache
	node    *nameNode                  // its name, nil when it has none; changes under names.Lock or mu
	mu      struct {
		sync.Mutex // one opens the descriptor, the others wait
		closed     bool
	}
}

// descriptor is one open File of the base.
type descriptor struct {
	owner  *cachedFile
	file   File
	pins   atomic.Int64 // users, or gone once the ring or the last user has taken it to be closed
	used   atomic.Bool  // since the ring last looked
	doomed atomic.Bool  // its owner is closed: the last user closes it

	// Eviction waits while writes that are done are not all synced, or a sync failed.
	writes, synced atomic.Uint64
	failed         atomic.Bool
	failure        atomic.Pointer[error] // of a failed sync of the cache's own, which the owner's syncs return
	parked         atomic.Bool           // out of the ring until it is synced

	slot int  // in the ring's list or its parked ones, or -1; under ring.mu
	wait bool // slot is in the parked ones; under ring.mu
	held bool // stays out of the ring; under ring.mu
}

// gone is far enough below zero that no number of pins reaches zero from it.
const gone = -1 << 40

func (d *descriptor) tryPin() bool {
	for {
		n := d.pins.Load()
		if n < 0 {
			return false
		}
		if d.pins.CompareAndSwap(n, n+1) {
			break
		}
	}
	if !d.used.Load() {
		d.used.Store(true)
	}
	return true
}

func (d *descriptor) unpin() {
	if d.pins.Add(-1) == 0 && d.doomed.Load() {
		_ = d.closeUnused() // Close has returned; a file of which anything matters was synced before it
	}
}

// closeUnused closes a doomed descriptor unless it is in use; then its last user does.
func (d *descriptor) closeUnused() error {
	if !d.pins.CompareAndSwap(0, gone) {
		return nil
	}
	err := d.file.Close()
	d.owner.cache.ring.giveBack()
	return err
}

func (d *descriptor) dirty() bool {
	return d.failed.Load() || d.writes.Load() != d.synced.Load() && !d.owner.forgettable()
}

func (f *cachedFile) forgettable() bool {
	return f.cache.forgettable != nil && f.cache.forgettable(f.opened)
}

// pin returns the open descriptor, which the caller must unpin. It takes no lock while there is one.
func (f *cachedFile) pin() (*descriptor, error) {
	if d := f.current.Load(); d != nil && d.tryPin() {
		return d, nil
	}
	f.cache.names.RLock()
	defer f.cache.names.RUnlock()
	return f.pinNamed()
}

// pinNamed is pin for callers that hold the names' lock.
func (f *cachedFile) pinNamed() (*descriptor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for d := f.current.Load(); d != nil; d = f.cache.ring.currentOf(f) {
		if d.tryPin() {
			return d, nil
		}
	}
	switch {
	case f.mu.closed:
		return nil, &fs.PathError{Op: "use", Path: f.opened, Err: fs.ErrClosed}
	case f.node == nil:
		return nil, &fs.PathError{Op: "open again", Path: f.opened, Err: fs.ErrNotExist}
	}
	d, err := f.cache.openDescriptor(f, f.node.path(), f.flag)
	if err != nil {
		return nil, fmt.Errorf("open again: %w", err)
	}
	f.current.Store(d)
	return d, nil
}

// openDescriptor makes a pinned descriptor.
func (c *FileCache) openDescriptor(f *cachedFile, name string, flag int) (*descriptor, error) {
	c.ring.bound()
	if c.ring.reserve() && c.pinned != nil {
		c.pinned()
	}
	var file File
	emptied := false
	err := c.retry(func() (err error) {
		file, emptied, err = openEmptied(c.base, name, flag)
		return err
	})
	if err != nil {
		c.ring.giveBack()
		return nil, err
	}
	d := &descriptor{owner: f, file: file, slot: -1}
	d.pins.Store(1)
	d.used.Store(true)
	d.wrote(emptied)
	c.ring.add(d)
	return d, nil
}

// openEmptied opens a file of base, and says whether O_TRUNC took bytes from it. A new file lost none: it has nothing to sync.
func openEmptied(base FS, name string, flag int) (file File, emptied bool, err error) {
	file, err = base.OpenFile(name, flag&^os.O_TRUNC)
	if err != nil || flag&os.O_TRUNC == 0 {
		return file, false, err
	}
	size, err := file.Size()
	if err == nil && size > 0 {
		err = file.Truncate(0)
	}
	if err != nil {
		return nil, false, errors.Join(err, file.Close())
	}
	return file, size > 0, nil
}

// hold opens the descriptor for good. A file that has lost its name behind our back needs none.
func (f *cachedFile) hold() error {
	d, err := f.pinNamed()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.cache.ring.hold(d)
	d.unpin()
	return nil
}

// release undoes hold.
func (f *cachedFile) release() {
	if d := f.current.Load(); d != nil {
		f.cache.ring.release(d)
	}
}

func (f *cachedFile) ReadAt(p []byte, pos int64) (int, error) {
	d, err := f.pin()
	if err != nil {
		return 0, err
	}
	defer d.unpin()
	return d.file.ReadAt(p, pos)
}

func (f *cachedFile) WriteAt(p []byte, pos int64) (int, error) {
	d, err := f.pin()
	if err != nil {
		return 0, err
	}
	defer d.unpin()
	n, err := d.file.WriteAt(p, pos)
	d.wrote(n > 0)
	return n, err
}

func (f *cachedFile) WriteVec(bufs [][]byte, pos int64) (int, error) {
	d, err := f.pin()
	if err != nil {
		return 0, err
	}
	defer d.unpin()
	n, err := d.file.WriteVec(bufs, pos)
	d.wrote(n > 0)
	return n, err
}

// wrote counts a write when it is done: a Sync covers the writes that were done when it began.
func (d *descriptor) wrote(some bool) {
	if some {
		d.writes.Add(1)
	}
}

func (f *cachedFile) Truncate(size int64) error {
	return f.with(func(d *descriptor) error {
		err := d.file.Truncate(size)
		d.wrote(err == nil)
		return err
	})
}

func (f *cachedFile) Preallocate(size int64) error {
	return f.with(func(d *descriptor) error {
		err := d.file.Preallocate(size)
		d.wrote(err == nil)
		return err
	})
}

func (f *cachedFile) Sync() error {
	return f.with(func(d *descriptor) error {
		if err := d.sync(); err != nil {
			return err
		}
		if d.parked.Load() {
			f.cache.ring.unpark(d)
		}
		return nil
	})
}

// sync makes the writes durable that were done when it began.
func (d *descriptor) sync() error {
	if failed := d.failure.Load(); failed != nil {
		return *failed
	}
	done := d.writes.Load()
	if err := d.file.Sync(); err != nil {
		d.failed.Store(true)
		return err
	}
	for old := d.synced.Load(); old < done && !d.synced.CompareAndSwap(old, done); {
		old = d.synced.Load()
	}
	return nil
}

// loseUnsynced passes on what a failed Sync above the cache does, see unsynced.
func (f *cachedFile) loseUnsynced() {
	_ = f.with(func(d *descriptor) error {
		d.failed.Store(true)
		if base, ok := d.file.(unsynced); ok {
			base.loseUnsynced()
		}
		return nil
	})
}

func (f *cachedFile) Size() (size int64, err error) {
	err = f.with(func(d *descriptor) (err error) {
		size, err = d.file.Size()
		return err
	})
	return size, err
}

func (f *cachedFile) WithFd(fn func(fd uintptr) error) error {
	return f.with(func(d *descriptor) error { return d.file.WithFd(fn) })
}

func (f *cachedFile) with(run func(*descriptor) error) error {
	d, err := f.pin()
	if err != nil {
		return err
	}
	defer d.unpin()
	return run(d)
}

// Close closes the descriptor, if there is one, now or when its last user is done.
func (f *cachedFile) Close() error {
	f.cache.names.RLock()
	defer f.cache.names.RUnlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.closed {
		return &fs.PathError{Op: "close", Path: f.opened, Err: fs.ErrClosed}
	}
	f.mu.closed = true
	f.cache.names.tree.detach(f)
	d := f.cache.ring.take(f)
	if d == nil {
		return nil
	}
	d.doomed.Store(true)
	return d.closeUnused()
}
