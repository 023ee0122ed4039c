package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
)

// FinalFS is an FS whose first failed sync is its last. See Final.
type FinalFS struct {
	FS
	failed func(error)
	first  atomic.Pointer[error]
}

// Final makes the first failed sync of any file or directory final for all of base: failed is told of it once, before the caller of the
// sync is, and every later Sync and SyncDir returns that error without asking base. The kernel reports lost pages to one fsync and
// answers the next one with nil, so a second try proves nothing. A sync that did not begin (see SyncBegan) is no failed sync.
//
// failed runs in the goroutine of the sync, which may hold locks: it must neither wait nor use the FS.
func Final(base FS, failed func(error)) *FinalFS { return &FinalFS{FS: base, failed: failed} }

// SyncBegan reports whether err, of a Sync or SyncDir, may come from the fsync itself. It is false where no descriptor could be had, the
// name is gone, or the file was closed before.
func SyncBegan(err error) bool {
	return err != nil && !IsUnopened(err) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrClosed)
}

// Fail takes err, of a sync that was made behind this FS, for the first failed one, unless there was one before.
func (f *FinalFS) Fail(err error) {
	if f.first.CompareAndSwap(nil, &err) {
		f.failed(err)
	}
}

// sync runs one sync of the base.
func (f *FinalFS) sync(run func() error) error {
	if first := f.first.Load(); first != nil {
		return fmt.Errorf("nothing is synced after a failed sync: %w", *first)
	}
	err := run()
	if SyncBegan(err) {
		f.Fail(err)
	}
	return err
}

// OpenFile implements FS.
func (f *FinalFS) OpenFile(name string, flag int) (File, error) {
	file, err := f.FS.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return &finalFile{file, f}, nil
}

// SyncDir implements FS.
func (f *FinalFS) SyncDir(name string) error {
	return f.sync(func() error { return f.FS.SyncDir(name) })
}

// finalFile is the base's file but for its Sync.
type finalFile struct {
	File
	fs *FinalFS
}

func (f *finalFile) Sync() error { return f.fs.sync(f.File.Sync) }

func (f *finalFile) loseUnsynced() {
	if base, ok := f.File.(unsynced); ok {
		base.loseUnsynced()
	}
}
