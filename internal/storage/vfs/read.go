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
