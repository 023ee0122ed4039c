package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
)

const (
	pageSize = 4096
	// maxMemFile bounds a file's size in bytes, so that a wild position cannot take all memory.
	maxMemFile = 1 << 36
)

// owner marks the pages that a file alone holds.
type owner struct{ _ byte }

// page is changed in place only by the file whose owner it carries.
type page struct {
	owner *owner
	data  [pageSize]byte
}

// content is a file's bytes. Pages that are nil or past the slice's end are zero; so are bytes past size.
type content struct {
	pages []*page
	size  int64
}

func (c content) page(i int) *page {
	if i < len(c.pages) {
		return c.pages[i]
	}
	return nil
}

// memNode is a file. live is what programs see. durable is what a power cut leaves for certain. clean is live as it
// was at the last Sync: the same as durable, unless a Sync failed and lost what it should have written.
// Contents are shared between the three, and between crash clones; the first write after that copies the slice of pages.
type memNode struct {
	id                   uint64
	live, clean, durable content
	owner                *owner // nil while live shares its pages
	least                int64  // the smallest size since the last Sync
	reserved             int    // pages [0, reserved) have their room, written or not
	taken                int64  // pages that have room
	links, opens         int
}

func (f *memNode) size() int64       { return f.live.size }
func (f *memNode) mode() fs.FileMode { return fileMode }

// has says whether page i has room on the disk.
func (f *memNode) has(i int) bool { return i < f.reserved || f.live.page(i) != nil }

// takeLocked takes room for pages more, or none.
func (m *memFS) takeLocked(f *memNode, pages int64) error {
	if m.used+pages*pageSize > m.capacity && pages > 0 {
		return syscall.ENOSPC
	}
	m.used += pages * pageSize
	f.taken += pages
	return nil
}

// freeLocked gives back the room of a file that has neither name nor user.
func (m *memFS) freeLocked(f *memNode) {
	if f.links == 0 && f.opens == 0 {
		m.used -= f.taken * pageSize
		f.taken = 0
	}
}

// ownPagesLocked makes live's slice of pages safe to change.
func (f *memNode) ownPagesLocked() {
	if f.owner == nil {
		f.owner = new(owner)
		f.live.pages = slices.Clone(f.live.pages)
	}
}

// writableLocked returns page i to write to, or ENOSPC.
func (m *memFS) writableLocked(f *memNode, i int) (*page, error) {
	old := f.live.page(i)
	if old != nil && old.owner == f.owner {
		return old, nil
	}
	if !f.has(i) {
		if err := m.takeLocked(f, 1); err != nil {
			return nil, err
		}
	}
	p := &page{owner: f.owner}
	if old != nil {
		p.data = old.data
	}
	f.live.set(i, p)
	return p, nil
}

func (m *memFS) writeLocked(f *memNode, p []byte, pos int64) (n int, err error) {
	if pos < 0 {
		return 0, syscall.EINVAL
	}
	if pos > maxMemFile-int64(len(p)) {
		return 0, syscall.EFBIG
	}
	f.ownPagesLocked()
	for n < len(p) {
		at := pos + int64(n)
		to, err := m.writableLocked(f, int(at/pageSize))
		if err != nil {
			return n, err
		}
		n += copy(to.data[at%pageSize:], p[n:])
		f.live.size = max(f.live.size, pos+int64(n))
	}
	return n, nil
}

func (m *memFS) truncateLocked(f *memNode, size int64) {
	f.ownPagesLocked()
	if size < f.live.size {
		f.live = f.live.cut(size, f.owner)
		f.least = min(f.least, size)
		m.recountLocked(f)
	}
	f.live.size = size
}

// cut returns c without the bytes from size on. It changes c's slice, and no page that owner does not mark.
func (c content) cut(size int64, owner *owner) content {
	keep := min(len(c.pages), pagesOf(size))
	c.pages = slices.Delete(c.pages, keep, len(c.pages))
	c.size = min(c.size, size)
	edge := size % pageSize
	if edge == 0 || keep < pagesOf(size) || c.pages[keep-1] == nil {
		return c
	}
	last := c.pages[keep-1]
	if owner == nil || last.owner != owner {
		last = &page{owner: owner, data: last.data}
		c.pages[keep-1] = last
	}
	clear(last.data[edge:])
	return c
}

// pagesOf counts the pages that size bytes begin.
func pagesOf(size int64) int { return int((size + pageSize - 1) / pageSize) }

func (m *memFS) recountLocked(f *memNode) {
	f.reserved = min(f.reserved, pagesOf(f.live.size))
	taken := int64(f.reserved)
	for i := f.reserved; i < len(f.live.pages); i++ {
		if f.live.pages[i] != nil {
			taken++
		}
	}
	m.used += (taken - f.taken) * pageSize
	f.taken = taken
}

func (m *memFS) preallocateLocked(f *memNode, size int64) error {
	var missing int64
	for i := f.reserved; i < pagesOf(size); i++ {
		if !f.has(i) {
			missing++
		}
	}
	if err := m.takeLocked(f, missing); err != nil {
		return err
	}
	f.reserved = max(f.reserved, pagesOf(size))
	f.live.size = max(f.live.size, size)
	return nil
}

// syncLocked makes durable what changed since the last Sync.
func (f *memNode) syncLocked() {
	if f.clean.same(f.durable) {
		f.durable = f.live
	} else {
		f.durable = f.merge(func(int) bool { return true })
		if f.live.size != f.clean.size {
			f.durable.size = f.live.size
		}
	}
	f.settleLocked()
}

// same says whether two contents are one, without looking at bytes.
func (c content) same(d content) bool {
	return c.size == d.size && len(c.pages) == len(d.pages) && (len(c.pages) == 0 || &c.pages[0] == &d.pages[0])
}

// settleLocked ends a Sync, failed or not: nothing waits to be written any more.
func (f *memNode) settleLocked() {
	f.clean, f.owner, f.least = f.live, nil, f.live.size
}

// merge returns durable with the changed pages that keep accepts.
func (f *memNode) merge(keep func(i int) bool) content {
	out := content{pages: slices.Clone(f.durable.pages), size: f.durable.size}
	for i := range max(len(f.live.pages), len(f.clean.pages)) {
		if changed := f.live.page(i); changed != f.clean.page(i) && keep(i) {
			out.set(i, changed)
		}
	}
	return out
}

func (c *content) set(i int, p *page) {
	for len(c.pages) <= i {
		c.pages = append(c.pages, nil)
	}
	c.pages[i] = p
}

// memFile is a handle on a memNode.
type memFile struct {
	fs     *memFS
	node   *memNode
	name   string
	flag   int
	closed atomic.Bool
}

func (f *memFile) check(write bool) error {
	if f.closed.Load() {
		return fs.ErrClosed
	}
	switch mode := f.flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR); {
	case write && mode == os.O_RDONLY, !write && mode == os.O_WRONLY:
		return syscall.EBADF
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, pos int64) (n int, err error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if err = f.check(false); err == nil && pos < 0 {
		err = syscall.EINVAL
	}
	if err != nil {
		return 0, fmt.Errorf("read %s at position %d, %d bytes: %w", f.name, pos, len(p), err)
	}
	live := f.node.live
	for n < len(p) && pos < live.size {
		part := p[n:min(int64(len(p)), int64(n)+min(pageSize-pos%pageSize, live.size-pos))]
		if from := live.page(int(pos / pageSize)); from != nil {
			copy(part, from.data[pos%pageSize:])
		} else {
			clear(part)
		}
		n, pos = n+len(part), pos+int64(len(part))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, pos int64) (int, error) {
	return f.WriteVec([][]byte{p}, pos)
}

func (f *memFile) WriteVec(bufs [][]byte, pos int64) (n int, err error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err = f.check(true)
	for _, b := range bufs {
		if err != nil {
			break
		}
		var done int
		done, err = f.fs.writeLocked(f.node, b, pos+int64(n))
		n += done
	}
	if err != nil {
		err = fmt.Errorf("write %s at position %d after %d bytes: %w", f.name, pos, n, err)
	}
	return n, err
}

func (f *memFile) resize(verb string, size int64, run func() error) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err := f.check(true)
	switch {
	case err != nil:
	case size < 0:
		err = syscall.EINVAL
	case size > maxMemFile:
		err = syscall.EFBIG
	default:
		err = run()
	}
	if err != nil {
		return fmt.Errorf("%s %s to %d bytes: %w", verb, f.name, size, err)
	}
	return nil
}

func (f *memFile) Truncate(size int64) error {
	return f.resize("truncate", size, func() error {
		f.fs.truncateLocked(f.node, size)
		return nil
	})
}

func (f *memFile) Preallocate(size int64) error {
	return f.resize("preallocate", size, func() error { return f.fs.preallocateLocked(f.node, size) })
}

func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed.Load() {
		return fmt.Errorf("sync %s: %w", f.name, fs.ErrClosed)
	}
	f.node.syncLocked()
	return nil
}

func (f *memFile) loseUnsynced() {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.node.settleLocked()
}

func (f *memFile) Size() (int64, error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if f.closed.Load() {
		return 0, fmt.Errorf("size of %s: %w", f.name, fs.ErrClosed)
	}
	return f.node.live.size, nil
}

func (f *memFile) WithFd(func(fd uintptr) error) error { return ErrNoFd }

func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed.Swap(true) {
		return fmt.Errorf("close %s: %w", f.name, fs.ErrClosed)
	}
	f.node.opens--
	f.fs.freeLocked(f.node)
	return nil
}
