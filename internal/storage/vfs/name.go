package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

var (
	// ErrName marks the refusal of a name that is empty, absolute, holds a NUL or leaves the root.
	ErrName = errors.New("name leaves the data directory or is not a relative path")
	// ErrFlag marks the refusal of an open flag that no FS here supports, such as os.O_APPEND.
	ErrFlag = errors.New("open flag is not supported")
	// ErrNotRegular is met when OpenFile finds something else than a regular file.
	ErrNotRegular = errors.New("not a regular file")
)

// openFlags are the flags that OpenFile takes. O_APPEND is left out because it makes the kernel ignore positions.
const openFlags = os.O_RDONLY | os.O_WRONLY | os.O_RDWR | os.O_CREATE | os.O_EXCL | os.O_TRUNC

// cleanName returns name in its shortest form, or an error that wraps ErrName.
func cleanName(op, name string) (string, error) {
	if !filepath.IsLocal(name) || strings.IndexByte(name, 0) >= 0 {
		return "", &fs.PathError{Op: op, Path: name, Err: ErrName}
	}
	return path.Clean(name), nil
}

// cleanEntry is cleanName for operations that change the entry itself, which the root does not have.
func cleanEntry(op, name string) (string, error) {
	name, err := cleanName(op, name)
	if err == nil && name == "." {
		err = &fs.PathError{Op: op, Path: name, Err: syscall.EBUSY}
	}
	return name, err
}

// cleanEntries is cleanEntry for operations on two names.
func cleanEntries(op, from, to string) (string, string, error) {
	from, err := cleanEntry(op, from)
	if err != nil {
		return "", "", err
	}
	to, err = cleanEntry(op, to)
	return from, to, err
}

func checkOpen(name string, flag int) (string, error) {
	name, err := cleanName("open", name)
	if err != nil {
		return "", err
	}
	if flag&^openFlags != 0 {
		return "", &fs.PathError{Op: "open", Path: name, Err: ErrFlag}
	}
	return name, nil
}
