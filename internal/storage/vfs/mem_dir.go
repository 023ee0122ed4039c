package vfs

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// inode is a *memDir or a *memNode (a file).
type inode interface {
	size() int64
	mode() fs.FileMode
}

// memDir is a directory: its entries as programs see them, and the changes that no SyncDir has made durable.
// Undoing these from the last to the first gives the durable entries.
type memDir struct {
	id      uint64
	entries map[string]inode
	changes []change
}

// change is one entry's. The two of a rename inside a directory share their op and survive a crash together.
type change struct {
	op       uint64
	name     string
	old, new inode // nil for none
}

func (d *memDir) size() int64       { return 0 }
func (d *memDir) mode() fs.FileMode { return fs.ModeDir | dirMode }

// find returns the entry base, the directory itself for ".", or nil.
func (d *memDir) find(base string) inode {
	if base == "." {
		return d
	}
	if node, ok := d.entries[base]; ok {
		return node
	}
	return nil
}

// parent finds the directory that holds name.
func (m *memFS) parent(name string) (dir *memDir, base string, err error) {
	dir = m.root
	for {
		head, rest, more := strings.Cut(name, "/")
		if !more {
			return dir, name, nil
		}
		switch node := dir.entries[head].(type) {
		case nil:
			return nil, "", syscall.ENOENT
		case *memDir:
			dir, name = node, rest
		default:
			return nil, "", syscall.ENOTDIR
		}
	}
}

func (m *memFS) lookup(name string) (inode, error) {
	dir, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	if node := dir.find(base); node != nil {
		return node, nil
	}
	return nil, syscall.ENOENT
}

func (m *memFS) lookupDir(op, name string) (*memDir, error) {
	name, err := cleanName(op, name)
	if err != nil {
		return nil, err
	}
	node, err := m.lookup(name)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	dir, ok := node.(*memDir)
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	return dir, nil
}

// linkLocked makes base of dir mean node, or nothing when node is nil.
func (m *memFS) linkLocked(dir *memDir, base string, node inode, op uint64) {
	old := dir.find(base)
	dir.changes = append(dir.changes, change{op: op, name: base, old: old, new: node})
	if f, ok := node.(*memNode); ok {
		f.links++
	}
	if node == nil {
		delete(dir.entries, base)
	} else {
		if dir.entries == nil {
			dir.entries = make(map[string]inode)
		}
		dir.entries[base] = node
	}
	if f, ok := old.(*memNode); ok {
		f.links--
		m.freeLocked(f)
	}
}

func (m *memFS) Remove(name string) error {
	return m.removeWith("remove", name, func(dir *memDir, base string) error {
		node := dir.find(base)
		if node == nil {
			return syscall.ENOENT
		}
		if sub, ok := node.(*memDir); ok && len(sub.entries) > 0 {
			return syscall.ENOTEMPTY
		}
		m.lastOp++
		m.linkLocked(dir, base, nil, m.lastOp)
		return nil
	})
}

func (m *memFS) RemoveAll(name string) error {
	err := m.removeWith("removeall", name, func(dir *memDir, base string) error {
		m.removeAllLocked(dir, base)
		return nil
	})
	if pe, ok := err.(*fs.PathError); ok && pe.Err == syscall.ENOENT { //nolint:errorlint // Made just above.
		return nil
	}
	return err
}

func (m *memFS) removeWith(op, name string, remove func(dir *memDir, base string) error) error {
	name, err := cleanEntry(op, name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err == nil {
		err = remove(dir, base)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// removeAllLocked unlinks each entry by an operation of its own: a crash may leave any of them.
func (m *memFS) removeAllLocked(dir *memDir, base string) {
	node := dir.find(base)
	if sub, ok := node.(*memDir); ok {
		for _, name := range slices.Sorted(maps.Keys(sub.entries)) {
			m.removeAllLocked(sub, name)
		}
	}
	if node != nil {
		m.lastOp++
		m.linkLocked(dir, base, nil, m.lastOp)
	}
}

func (m *memFS) Rename(from, to string) error {
	from, to, err := cleanEntries("rename", from, to)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.renameLocked(from, to); err != nil {
		return &fs.PathError{Op: "rename", Path: from + " to " + to, Err: err}
	}
	return nil
}

// renameLocked makes one change of a rename inside a directory. Between two directories it makes two, since
// only syncing both makes it durable, and what a crash leaves in between is the file system's choice.
func (m *memFS) renameLocked(from, to string) error {
	fromDir, fromBase, err := m.parent(from)
	if err != nil {
		return err
	}
	toDir, toBase, err := m.parent(to)
	if err != nil {
		return err
	}
	node := fromDir.find(fromBase)
	if node == nil {
		return syscall.ENOENT
	}
	if from == to {
		return nil
	}
	if err := refuseRename(node, toDir.find(toBase), from, to); err != nil {
		return err
	}
	m.lastOp++
	m.linkLocked(toDir, toBase, node, m.lastOp)
	if fromDir != toDir {
		m.lastOp++
	}
	m.linkLocked(fromDir, fromBase, nil, m.lastOp)
	return nil
}

func refuseRename(node, target inode, from, to string) error {
	_, isDir := node.(*memDir)
	if isDir && strings.HasPrefix(to, from+"/") {
		return syscall.EINVAL
	}
	switch target.(type) {
	case *memDir:
		return syscall.EEXIST
	case *memNode:
		if isDir {
			return syscall.ENOTDIR
		}
	}
	return nil
}

func (m *memFS) MkdirAll(name string) error {
	name, err := cleanName("mkdir", name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir := m.root
	for base := range strings.SplitSeq(name, "/") {
		switch node := dir.find(base).(type) {
		case nil:
			m.lastID++
			sub := &memDir{id: m.lastID}
			m.lastOp++
			m.linkLocked(dir, base, sub, m.lastOp)
			dir = sub
		case *memDir:
			dir = node
		default:
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
		}
	}
	return nil
}

func (m *memFS) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	dir, err := m.lookupDir("readdir", name)
	if err != nil {
		return nil, err
	}
	list := make([]fs.DirEntry, 0, len(dir.entries))
	for _, base := range slices.Sorted(maps.Keys(dir.entries)) {
		list = append(list, fs.FileInfoToDirEntry(infoOf(base, dir.entries[base])))
	}
	return list, nil
}

func (m *memFS) Stat(name string) (fs.FileInfo, error) {
	name, err := cleanName("stat", name)
	if err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	node, err := m.lookup(name)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return infoOf(path.Base(name), node), nil
}

func (m *memFS) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.lookupDir("syncdir", name)
	if err != nil {
		return err
	}
	dir.changes = nil
	return nil
}

// memInfo is what Stat tells, as it was when asked.
type memInfo struct {
	name  string
	bytes int64
	bits  fs.FileMode
}

func infoOf(name string, node inode) memInfo {
	return memInfo{name: name, bytes: node.size(), bits: node.mode()}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.bytes }
func (i memInfo) Mode() fs.FileMode  { return i.bits }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.bits.IsDir() }
func (i memInfo) Sys() any           { return nil }
