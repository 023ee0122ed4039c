package vfs

import (
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// memCapacity is the room of a new Mem in bytes: more than a test fills by accident.
const memCapacity = 1 << 40

// Mem is a file system in memory that knows what a power cut would leave of it. Bytes, sizes and directory
// entries that were not synced are lost in a crash; see CrashClone. Modification times are zero.
type Mem struct {
	*wrapped
	core *memFS
	hook atomic.Pointer[func(Op)]
	seq  atomic.Uint64
}

// NewMem makes an empty file system with room for a TiB.
func NewMem() *Mem {
	return newMem(&memFS{root: &memDir{}, capacity: memCapacity})
}

func newMem(core *memFS) *Mem {
	m := &Mem{core: core}
	m.wrapped = &wrapped{base: core, before: func(*Op) error { return nil }, after: m.report}
	return m
}

// OnOp has fn told of every mutating operation once it is done, in the goroutine that did it. No lock is held:
// fn may make a CrashClone.
func (m *Mem) OnOp(fn func(Op)) { m.hook.Store(&fn) }

func (m *Mem) report(op Op) {
	if fn := m.hook.Load(); fn != nil && op.Mutates() {
		op.Seq = m.seq.Add(1)
		(*fn)(op)
	}
}

// SetCapacity sets the room in bytes. Only file pages of 4 KiB take room; what is stored already stays.
func (m *Mem) SetCapacity(bytes int64) {
	m.core.mu.Lock()
	defer m.core.mu.Unlock()
	m.core.capacity = bytes
}

// memFS holds the tree of a Mem. One lock guards all of it.
type memFS struct {
	mu       sync.RWMutex
	root     *memDir
	capacity int64
	used     int64  // bytes in pages of files that have a name or are open
	lastID   uint64 // of the newest inode
	lastOp   uint64 // of the newest directory operation
}

func (m *memFS) OpenFile(name string, flag int) (File, error) {
	name, err := checkOpen(name, flag)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.openLocked(name, flag)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f.opens++
	if flag&os.O_TRUNC != 0 {
		m.truncateLocked(f, 0)
	}
	return &memFile{fs: m, node: f, name: name, flag: flag}, nil
}

func (m *memFS) openLocked(name string, flag int) (*memNode, error) {
	dir, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	create := flag&os.O_CREATE != 0
	found := dir.find(base)
	switch node := found.(type) {
	case nil:
		if !create {
			return nil, syscall.ENOENT
		}
		m.lastID++
		f := &memNode{id: m.lastID}
		m.lastOp++
		m.linkLocked(dir, base, f, m.lastOp)
		return f, nil
	case *memNode:
		if create && flag&os.O_EXCL != 0 {
			return nil, syscall.EEXIST
		}
		return node, nil
	default:
		return nil, syscall.EISDIR
	}
}

// Space implements FS.
func (m *memFS) Space() (Space, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return Space{Free: max(0, m.capacity-m.used), Total: m.capacity}, nil
}
