//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile uses flock, which on these systems stands in one list with fcntl's locks and so excludes the JVM's too.
func lockFile(file *os.File) (pid int, err error) {
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK { //nolint:errorlint // A bare errno.
		return 0, ErrLocked
	}
	return 0, err
}
