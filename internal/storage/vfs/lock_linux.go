package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the whole file with an open file description lock. It excludes the JVM's fcntl locks, which
// flock would not, and a second open in this process, which a plain fcntl lock would not. When the lock is
// held, pid is its owner's if the owner used a fcntl lock, else not positive.
func lockFile(file *os.File) (pid int, err error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock)
	if err != unix.EAGAIN && err != unix.EACCES {
		return 0, err
	}
	held := unix.Flock_t{Type: unix.F_WRLCK}
	if unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &held) == nil && held.Type != unix.F_UNLCK {
		pid = int(held.Pid)
	}
	return pid, ErrLocked
}
