package vfs

import (
	"errors"
	"io/fs"
	"os"
)

// wrapped passes every operation to base between two calls. An error of before takes the operation's place.
type wrapped struct {
	base   FS
	before func(*Op) error
	after  func(Op)
}

func (w *wrapped) do(op Op, run func(*Op) error) error {
	if op.Err = w.before(&op); op.Err == nil {
		op.Err = run(&op)
	}
	w.after(op)
	return op.Err
}

func (w *wrapped) OpenFile(name string, flag int) (File, error) {
	op := Op{Kind: OpOpen, Name: name, Flag: flag}
	if flag&os.O_CREATE != 0 {
		op.Kind = OpCreate
	}
	var file File
	err := w.do(op, func(*Op) (err error) {
		file, err = w.base.OpenFile(name, flag)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &wrappedFile{fs: w, base: file, name: name}, nil
}

func (w *wrapped) Remove(name string) error {
	return w.do(Op{Kind: OpRemove, Name: name}, func(*Op) error { return w.base.Remove(name) })
}

func (w *wrapped) RemoveAll(name string) error {
	return w.do(Op{Kind: OpRemoveAll, Name: name}, func(*Op) error { return w.base.RemoveAll(name) })
}

func (w *wrapped) Rename(from, to string) error {
	return w.do(Op{Kind: OpRename, Name: from, To: to}, func(*Op) error { return w.base.Rename(from, to) })
}

func (w *wrapped) MkdirAll(name string) error {
	return w.do(Op{Kind: OpMkdirAll, Name: name}, func(*Op) error { return w.base.MkdirAll(name) })
}

func (w *wrapped) SyncDir(name string) error {
	return w.do(Op{Kind: OpSyncDir, Name: name}, func(*Op) error { return w.base.SyncDir(name) })
}

func (w *wrapped) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = w.do(Op{Kind: OpReadDir, Name: name}, func(*Op) (err error) {
		list, err = w.base.ReadDir(name)
		return err
	})
	return list, err
}

func (w *wrapped) Stat(name string) (info fs.FileInfo, err error) {
	err = w.do(Op{Kind: OpStat, Name: name}, func(*Op) (err error) {
		info, err = w.base.Stat(name)
		return err
	})
	return info, err
}

func (w *wrapped) Space() (space Space, err error) {
	err = w.do(Op{Kind: OpSpace}, func(*Op) (err error) {
		space, err = w.base.Space()
		return err
	})
	return space, err
}

type wrappedFile struct {
	fs   *wrapped
	base File
	name string
}

func (f *wrappedFile) ReadAt(p []byte, pos int64) (n int, err error) {
	err = f.fs.do(Op{Kind: OpRead, Name: f.name, Pos: pos, Len: int64(len(p))}, func(op *Op) (err error) {
		n, err = f.base.ReadAt(p, pos)
		op.Done = int64(n)
		return err
	})
	return n, err
}

func (f *wrappedFile) WriteAt(p []byte, pos int64) (int, error) {
	return f.write([][]byte{p}, pos, func() (int, error) { return f.base.WriteAt(p, pos) })
}

func (f *wrappedFile) WriteVec(bufs [][]byte, pos int64) (int, error) {
	return f.write(bufs, pos, func() (int, error) { return f.base.WriteVec(bufs, pos) })
}

// write is do for writes, which alone may be done in part when before fails with a ShortWriteError.
func (f *wrappedFile) write(bufs [][]byte, pos int64, run func() (int, error)) (int, error) {
	op := Op{Kind: OpWrite, Name: f.name, Pos: pos}
	for _, b := range bufs {
		op.Len += int64(len(b))
	}
	var n int
	if op.Err = f.fs.before(&op); op.Err == nil {
		n, op.Err = run()
	} else if short, ok := errors.AsType[*ShortWriteError](op.Err); ok {
		var err error
		if n, err = f.base.WriteVec(head(bufs, short.N), pos); err != nil {
			op.Err = errors.Join(op.Err, err)
		}
	}
	op.Done = int64(n)
	f.fs.after(op)
	return n, op.Err
}

// head returns the first n bytes of bufs, which it leaves as they were, or all there are.
func head(bufs [][]byte, n int) [][]byte {
	var out [][]byte
	for _, b := range bufs {
		b = b[:min(len(b), max(n, 0))]
		n -= len(b)
		out = append(out, b)
	}
	return out
}

func (f *wrappedFile) Truncate(size int64) error {
	return f.fs.do(Op{Kind: OpTruncate, Name: f.name, Len: size}, func(*Op) error { return f.base.Truncate(size) })
}

func (f *wrappedFile) Preallocate(size int64) error {
	return f.fs.do(Op{Kind: OpPreallocate, Name: f.name, Len: size}, func(*Op) error { return f.base.Preallocate(size) })
}

// unsynced is a file whose unsynced changes can be lost from the disk while reads go on seeing them, as the
// kernel does to the pages of a failed fsync.
type unsynced interface{ loseUnsynced() }

func (f *wrappedFile) Sync() error {
	reached := false
	err := f.fs.do(Op{Kind: OpSync, Name: f.name}, func(*Op) error {
		reached = true
		return f.base.Sync()
	})
	if !reached && !IsUnopened(err) {
		f.loseUnsynced()
	}
	return err
}

func (f *wrappedFile) loseUnsynced() {
	if base, ok := f.base.(unsynced); ok {
		base.loseUnsynced()
	}
}

func (f *wrappedFile) Size() (size int64, err error) {
	err = f.fs.do(Op{Kind: OpSize, Name: f.name}, func(*Op) (err error) {
		size, err = f.base.Size()
		return err
	})
	return size, err
}

func (f *wrappedFile) WithFd(fn func(fd uintptr) error) error {
	return f.fs.do(Op{Kind: OpWithFd, Name: f.name}, func(*Op) error { return f.base.WithFd(fn) })
}

// Close gives the base's descriptor back even when a fault takes its place, as close(2) does.
func (f *wrappedFile) Close() error {
	reached := false
	err := f.fs.do(Op{Kind: OpClose, Name: f.name}, func(*Op) error {
		reached = true
		return f.base.Close()
	})
	if !reached {
		_ = f.base.Close()
	}
	return err
}
