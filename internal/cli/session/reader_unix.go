//go:build unix

package session

import (
	"golang.org/x/sys/unix"
)

// readerGone reports whether what reads a pipe or a terminal at the other end of fd is gone.
func readerGone(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0 && poll[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}
