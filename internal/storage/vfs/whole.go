package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge marks a file that has more bytes than its reader takes.
var ErrTooLarge = errors.New("file is too large")

// ReadFile reads a whole file of at most limit bytes. The error is fs.ErrNotExist if it is not there and ErrTooLarge if it is longer,
// both perhaps wrapped.
func ReadFile(files FS, name string, limit int64) ([]byte, error) {
	f, err := files.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, the limit is %d: %w", name, size, limit, ErrTooLarge)
	}
	content := make([]byte, size)
	n, err := f.ReadAt(content, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return content[:n], nil
}

// WriteFile makes content the whole of a file, new or not; durable syncs it, but not its directory entry. After an error or a crash the
// file may hold part of it: see ReplaceFile.
func WriteFile(files FS, name string, content []byte, durable bool) error {
	f, err := files.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// ReplaceFile makes content the whole of a file: after an error or a crash it is the old one or the new one. Which of them a crash leaves
// is settled by SyncDir, which is the caller's. It writes NAME.tmp.
func ReplaceFile(files FS, name string, content []byte) error {
	temporary := name + ".tmp"
	if err := WriteFile(files, temporary, content, true); err != nil {
		return err
	}
	return files.Rename(temporary, name)
}
