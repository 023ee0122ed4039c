package vfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockName is the file that Kafka locks in each of its log directories (kafka.utils.FileLock in LogManager).
const lockName = ".lock"

// ErrLocked marks the refusal of a data directory that another broker, ours or Kafka's, has in use.
var ErrLocked = errors.New("data directory is in use")

// DirLock is the exclusive use of a data directory, until Release or the end of the process.
type DirLock struct{ file *os.File }

// Lock takes the data directory dir, which must exist, and writes our pid into its .lock file. A directory in
// use, by this process too, is refused with an error that wraps ErrLocked and names the owner's pid where it is known.
func Lock(dir string) (*DirLock, error) {
	name := filepath.Join(dir, lockName)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	pid, err := lockFile(file)
	if errors.Is(err, ErrLocked) {
		err = fmt.Errorf("%w: %s is held by %s; stop it or choose another directory", ErrLocked, name, holder(file, pid))
	} else if err != nil {
		err = fmt.Errorf("lock %s: %w", name, err)
	}
	if err == nil {
		err = writePid(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &DirLock{file: file}, nil
}

// Release gives the directory back. The file stays, as Kafka's does: removing it would let two owners lock two files.
func (l *DirLock) Release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// writePid writes over what the last owner left, which needs no room. On a full disk the file may stay empty: the lock holds all the same.
func writePid(file *os.File) error {
	text := append(strconv.AppendInt(nil, int64(os.Getpid()), 10), '\n')
	if _, err := file.WriteAt(text, 0); IsShortage(err) {
		return file.Truncate(0)
	} else if err != nil {
		return err
	}
	return file.Truncate(int64(len(text)))
}

// holder names who holds the lock: by pid from the kernel (Kafka's locks carry it), else by what its holder wrote.
func holder(file *os.File, pid int) string {
	if pid <= 0 {
		text := make([]byte, 32)
		n, _ := file.ReadAt(text, 0)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:n])))
	}
	if pid <= 0 {
		return "a process that left no pid"
	}
	return fmt.Sprintf("pid %d", pid)
}
