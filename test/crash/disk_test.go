package crash

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const page = 4096

// disk is a file system in memory that remembers, beside what programs see, what a power cut would leave: file bytes
// and sizes that were fsynced, and directory entries whose directory was.
type disk struct {
	mu struct {
		sync.Mutex
		next uint64
	}
	root *inode
}

// inode is a file or a directory. All fields are under disk.mu.
type inode struct {
	ino           uint64
	data, durable []byte
	lo, hi        int               // the bytes that differ from durable lie in [lo, hi)
	entries       map[string]*inode // nil: a file
	safe          map[string]*inode // the entries that are durable
}

func newDisk() *disk {
	d := new(disk)
	d.root = d.newInode(true)
	return d
}

func (d *disk) newInode(dir bool) *inode {
	d.mu.next++
	n := &inode{ino: d.mu.next}
	if dir {
		n.entries, n.safe = map[string]*inode{}, map[string]*inode{}
	}
	return n
}

func (n *inode) write(data []byte, off int) {
	end := off + len(data)
	n.grow(end)
	copy(n.data[off:], data)
	n.mark(off, end)
}

func (n *inode) grow(size int) {
	if old := len(n.data); size > old {
		n.data = slices.Grow(n.data, size-old)[:size]
		clear(n.data[old:])
		n.mark(old, size)
	}
}

func (n *inode) truncate(size int) {
	n.grow(size)
	if size < len(n.data) {
		n.mark(size, len(n.data))
		n.data = n.data[:size]
	}
}

func (n *inode) mark(lo, hi int) {
	if n.lo == n.hi {
		n.lo, n.hi = lo, hi
		return
	}
	n.lo, n.hi = min(n.lo, lo), max(n.hi, hi)
}

func (n *inode) sync() {
	if n.entries != nil {
		n.safe = maps.Clone(n.entries)
		return
	}
	size := len(n.data)
	if len(n.durable) > size {
		n.durable = n.durable[:size]
	}
	if grow := size - len(n.durable); grow > 0 {
		n.mark(len(n.durable), size)
		n.durable = slices.Grow(n.durable, grow)[:size]
	}
	if lo, hi := min(n.lo, size), min(n.hi, size); lo < hi {
		copy(n.durable[lo:hi], n.data[lo:hi])
	}
	n.lo, n.hi = 0, 0
}

// cut makes the tree what a power cut leaves, and returns how many unsynced bytes it took away. Of unsynced pages some
// survive, as on a real disk.
func (d *disk) cut(rng *rand.Rand) (dropped int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.root.cut(rng)
}

func (n *inode) cut(rng *rand.Rand) (dropped int) {
	if n.entries != nil {
		n.entries = maps.Clone(n.safe)
		for _, name := range slices.Sorted(maps.Keys(n.entries)) {
			dropped += n.entries[name].cut(rng)
		}
		return dropped
	}
	after := slices.Clone(n.durable)
	if keep := rng.IntN(3); keep > 0 && len(n.data) > len(after) && n.lo < n.hi {
		// The size reached the disk, and some of the pages with it; the others read as zeros.
		after = append(after, make([]byte, len(n.data)-len(after))...)
		if keep == 2 {
			after = after[:len(n.durable)+rng.IntN(len(after)-len(n.durable)+1)]
		}
		for at := n.lo / page * page; at < len(after); at += page {
			end := min(at+page, len(after))
			if rng.IntN(2) == 0 {
				copy(after[at:end], n.data[at:end])
			} else {
				dropped += end - max(at, n.lo)
			}
		}
	} else {
		dropped += max(n.hi-n.lo, 0)
	}
	n.data, n.durable, n.lo, n.hi = after, slices.Clone(after), 0, 0
	return dropped
}

// node shows an inode to the kernel.
type node struct {
	fs.Inode
	d *disk
	n *inode
}

var (
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeAllocater = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

func (v *node) child(ctx context.Context, n *inode) *fs.Inode {
	mode := uint32(syscall.S_IFREG)
	if n.entries != nil {
		mode = syscall.S_IFDIR
	}
	return v.NewInode(ctx, &node{d: v.d, n: n}, fs.StableAttr{Mode: mode, Ino: n.ino})
}

func (n *inode) attr(out *fuse.Attr) {
	out.Ino, out.Size, out.Mode, out.Nlink = n.ino, uint64(len(n.data)), syscall.S_IFREG|0o644, 1
	out.Blocks = (out.Size + 511) / 512
	if n.entries != nil {
		out.Mode = syscall.S_IFDIR | 0o755
	}
}

func (v *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	n := v.n.entries[name]
	if n == nil {
		return nil, syscall.ENOENT
	}
	n.attr(&out.Attr)
	return v.child(ctx, n), 0
}

func (v *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	var list []fuse.DirEntry
	for name, n := range v.n.entries {
		var a fuse.Attr
		n.attr(&a)
		list = append(list, fuse.DirEntry{Name: name, Mode: a.Mode, Ino: n.ino})
	}
	return fs.NewListDirStream(list), 0
}

func (v *node) add(ctx context.Context, name string, dir bool, out *fuse.EntryOut) *fs.Inode {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	n := v.d.newInode(dir)
	v.n.entries[name] = n
	n.attr(&out.Attr)
	return v.child(ctx, n)
}

func (v *node) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return v.add(ctx, name, false, out), nil, 0, 0
}

func (v *node) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return v.add(ctx, name, true, out), 0
}

func (v *node) remove(name string) syscall.Errno {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	n := v.n.entries[name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	delete(v.n.entries, name)
	return 0
}

func (v *node) Unlink(_ context.Context, name string) syscall.Errno { return v.remove(name) }
func (v *node) Rmdir(_ context.Context, name string) syscall.Errno  { return v.remove(name) }

func (v *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, _ uint32) syscall.Errno {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	n := v.n.entries[name]
	if n == nil {
		return syscall.ENOENT
	}
	delete(v.n.entries, name)
	to.(*node).n.entries[newName] = n
	return 0
}

func (v *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) { return nil, 0, 0 }

func (v *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	n := copy(dest, v.n.data[min(int(off), len(v.n.data)):])
	return fuse.ReadResultData(dest[:n]), 0
}

func (v *node) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	v.n.write(data, int(off))
	return uint32(len(data)), 0
}

func (v *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	v.n.sync()
	return 0
}

// OpendirHandle gives directories a handle, since only that is told of an fsync.
func (v *node) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	stream, errno := v.Readdir(ctx)
	return &dirHandle{stream: stream, v: v}, 0, errno
}

type dirHandle struct {
	stream fs.DirStream
	v      *node
}

func (h *dirHandle) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	if !h.stream.HasNext() {
		return nil, 0
	}
	e, errno := h.stream.Next()
	return &e, errno
}

func (h *dirHandle) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	return h.v.Fsync(ctx, nil, flags)
}

func (v *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	v.n.attr(&out.Attr)
	return 0
}

func (v *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		v.n.truncate(int(size))
	}
	v.n.attr(&out.Attr)
	return 0
}

func (v *node) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	if mode != 0 {
		return syscall.EOPNOTSUPP
	}
	v.n.grow(int(off + size))
	return 0
}

func (v *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Blocks, out.Bfree, out.Bavail = page, 1<<22, 1<<21, 1<<21
	return 0
}
