package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// ErrNoFd is returned by File.WithFd for a file that no descriptor stands behind (an in-memory one).
var ErrNoFd = errors.New("file has no descriptor")

// FS is what storage needs of a file system. Names are slash-separated and relative to the root the FS
// was opened on; an FS refuses a name that leaves it. All methods may be called concurrently.
//
// Nothing is durable until it is synced: bytes and size by File.Sync, the entries of a directory
// (creation, removal, rename) by SyncDir of that directory.
type FS interface {
	// OpenFile opens a regular file with os.O_* flags and mode 0644.
	OpenFile(name string, flag int) (File, error)
	Remove(name string) error
	RemoveAll(name string) error
	// Rename replaces the file to atomically. A directory is never replaced.
	Rename(from, to string) error
	MkdirAll(name string) error
	// ReadDir lists a directory sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	SyncDir(name string) error
	// Space reports the bytes free to this process and in all on the disk under the root.
	Space() (Space, error)
}

// Space is a disk's room in bytes.
type Space struct{ Free, Total int64 }

// File is one open file. ReadAt may run concurrently with everything but Close; one writer at a time.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// WriteVec writes bufs one after the other at off and continues short writes until all is written or
	// an error is met; n says how many bytes reached the file. bufs and their bytes are left as they were.
	WriteVec(bufs [][]byte, off int64) (n int, err error)
	Truncate(size int64) error
	// Preallocate reserves disk for [0, size) and sets the size to at least size.
	Preallocate(size int64) error
	// Sync makes bytes and size durable (fdatasync). After an error the file must not be trusted again.
	Sync() error
	Size() (int64, error)
	// WithFd runs fn with the file's descriptor, which stays open while fn runs, or returns ErrNoFd.
	WithFd(fn func(fd uintptr) error) error
}
