package server

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// sendfileMax is the most that one call of sendfile is asked for; the kernel takes less than 2 GiB.
const sendfileMax = 1 << 30

// writeRange writes a range of a file, by sendfile where there is a socket and a descriptor, so that no record comes into user space.
func (c *conn) writeRange(cut *api.Cut) error {
	if c.raw == nil {
		return c.copyRange(cut)
	}
	err := cut.Range.WithFd(func(fd uintptr, pos int64) error {
		return c.sendfile(fd, pos, cut.Range.Len())
	})
	if errors.Is(err, vfs.ErrNoFd) {
		return c.copyRange(cut)
	}
	return err
}

// sendfile sends n bytes from pos. The offset is explicit, for others read the same file. A file that ends early is an error: the size was
// sent.
func (c *conn) sendfile(fd uintptr, pos int64, n int) error {
	var failed error
	c.extend()
	err := c.raw.Write(func(sock uintptr) bool {
		for n > 0 {
			sent, err := unix.Sendfile(int(sock), int(fd), &pos, min(n, sendfileMax))
			switch {
			case sent > 0:
				n -= sent
				c.extend()
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				return false
			case err == nil:
				failed = fmt.Errorf("sendfile at %d: %w: %d bytes are missing", pos, io.ErrUnexpectedEOF, n)
				return true
			default:
				failed = fmt.Errorf("sendfile at %d: %w", pos, err)
				return true
			}
		}
		return true
	})
	return errors.Join(failed, err)
}

// peerGone reports whether the client has closed its end, though there may be bytes that were not read.
func (c *conn) peerGone() bool {
	if c.raw == nil {
		return false
	}
	gone := false
	err := c.raw.Control(func(fd uintptr) {
		set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(set, 0)
		gone = err == nil && n > 0 && set[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}
