package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

const (
	fileMode = 0o644
	dirMode  = 0o755
)

// Disk is a directory of the operating system's file system. Symbolic links that lead out of it are refused
// (os.Root).
type Disk struct {
	root *os.Root
	vecs sync.Pool // of *vecWrite
}

// OS opens dir, creating it durably where it is missing.
func OS(dir string) (*Disk, error) {
	if err := makeDurableDir(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Disk{root: root, vecs: sync.Pool{New: func() any { return newVecWrite() }}}, nil
}

// makeDurableDir creates dir and its missing parents, then syncs each directory that gained an entry; the one above dir in
// any case, since whoever made dir may not have.
func makeDurableDir(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	_, missing := os.Stat(abs)
	gained := []string{filepath.Dir(abs)}
	for p := gained[0]; ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) || p == filepath.Dir(p) {
			break
		}
		gained = append(gained, filepath.Dir(p))
	}
	if err := os.MkdirAll(abs, dirMode); err != nil {
		return err
	}
	for _, p := range slices.Backward(gained) {
		d, err := os.Open(p)
		if missing == nil && errors.Is(err, fs.ErrPermission) {
			continue // it was made for us, by someone who may do what we may not
		}
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("sync directory %s: %w", p, err)
		}
	}
	return nil
}

// Close lets go of the directory; open files stay usable.
func (d *Disk) Close() error { return d.root.Close() }

// OpenFile implements FS.
func (d *Disk) OpenFile(name string, flag int) (File, error) {
	name, err := checkOpen(name, flag)
	if err != nil {
		return nil, err
	}
	file, err := d.root.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err
	}
	f, err := d.wrap(file)
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: file.Name(), Err: err}, file.Close())
	}
	return f, nil
}

func (d *Disk) wrap(file *os.File) (*diskFile, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &diskFile{disk: d, file: file, conn: conn}, nil
}

// Remove implements FS.
func (d *Disk) Remove(name string) error {
	name, err := cleanEntry("remove", name)
	if err != nil {
		return err
	}
	return d.root.Remove(name)
}

// RemoveAll implements FS.
func (d *Disk) RemoveAll(name string) error {
	name, err := cleanEntry("removeall", name)
	if err != nil {
		return err
	}
	return d.root.RemoveAll(name)
}

// Rename implements FS.
func (d *Disk) Rename(from, to string) error {
	from, to, err := cleanEntries("rename", from, to)
	if err != nil {
		return err
	}
	return d.root.Rename(from, to)
}

// MkdirAll implements FS.
func (d *Disk) MkdirAll(name string) error {
	name, err := cleanName("mkdir", name)
	if err != nil {
		return err
	}
	return d.root.MkdirAll(name, dirMode)
}

// ReadDir implements FS.
func (d *Disk) ReadDir(name string) ([]fs.DirEntry, error) {
	name, err := cleanName("readdir", name)
	if err != nil {
		return nil, err
	}
	dir, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	list, err := dir.ReadDir(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat implements FS.
func (d *Disk) Stat(name string) (fs.FileInfo, error) {
	name, err := cleanName("stat", name)
	if err != nil {
		return nil, err
	}
	return d.root.Stat(name)
}

// SyncDir implements FS.
func (d *Disk) SyncDir(name string) error {
	name, err := cleanName("syncdir", name)
	if err != nil {
		return err
	}
	dir, err := d.root.Open(name)
	if err != nil {
		return err
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir.Name(), err)
	}
	return nil
}

// Space implements FS.
func (d *Disk) Space() (Space, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return Space{}, err
	}
	space, err := spaceOf(dir)
	if err := errors.Join(err, dir.Close()); err != nil {
		return Space{}, fmt.Errorf("free space of %s: %w", d.root.Name(), err)
	}
	return space, nil
}

type diskFile struct {
	disk    *Disk
	file    *os.File
	conn    syscall.RawConn
	syncErr atomic.Pointer[error] // the first failed Sync; final
}

func (f *diskFile) ReadAt(p []byte, pos int64) (int, error) {
	n, err := f.file.ReadAt(p, pos)
	if err != nil && err != io.EOF { //nolint:errorlint // os.File returns io.EOF bare, and so must we.
		err = fmt.Errorf("read %s at position %d, %d bytes: %w", f.file.Name(), pos, len(p), cause(err))
	}
	return n, err
}

func (f *diskFile) WriteAt(p []byte, pos int64) (int, error) {
	n, err := f.file.WriteAt(p, pos)
	return n, f.writeError(pos, n, err)
}

func (f *diskFile) WriteVec(bufs [][]byte, pos int64) (int, error) {
	n, err := f.writeVec(bufs, pos)
	return n, f.writeError(pos, n, err)
}

func (f *diskFile) writeError(pos int64, n int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s at position %d after %d bytes: %w", f.file.Name(), pos, n, cause(err))
}

func (f *diskFile) Truncate(size int64) error {
	if err := f.file.Truncate(size); err != nil {
		return fmt.Errorf("truncate %s to %d bytes: %w", f.file.Name(), size, cause(err))
	}
	return nil
}

func (f *diskFile) Preallocate(size int64) error {
	if size == 0 {
		return nil
	}
	err := f.allocate(size)
	if errors.Is(err, errors.ErrUnsupported) {
		err = f.growTo(size)
	}
	if err != nil {
		return fmt.Errorf("preallocate %d bytes of %s: %w", size, f.file.Name(), cause(err))
	}
	return nil
}

// growTo sets the size without reserving disk, for file systems that cannot.
func (f *diskFile) growTo(size int64) error {
	have, err := f.Size()
	if err != nil || have >= size {
		return err
	}
	return f.file.Truncate(size)
}

// Sync keeps its first error: the kernel reports a lost page once and then says nil.
func (f *diskFile) Sync() error {
	if failed := f.syncErr.Load(); failed != nil {
		return *failed
	}
	err := f.datasync()
	if err == nil {
		return nil
	}
	err = fmt.Errorf("sync %s: %w", f.file.Name(), cause(err))
	if !f.syncErr.CompareAndSwap(nil, &err) {
		return *f.syncErr.Load()
	}
	return err
}

func (f *diskFile) Size() (int64, error) {
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *diskFile) Close() error { return f.file.Close() }

func (f *diskFile) WithFd(fn func(fd uintptr) error) error {
	var err error
	if f.conn.Control(func(fd uintptr) { err = fn(fd) }) != nil {
		return fmt.Errorf("descriptor of %s: %w", f.file.Name(), fs.ErrClosed)
	}
	return err
}

// cause drops the *fs.PathError around an error, whose name the caller's message has already.
func cause(err error) error {
	if pe, ok := err.(*fs.PathError); ok { //nolint:errorlint // Only the outermost layer is dropped.
		return pe.Err
	}
	return err
}
