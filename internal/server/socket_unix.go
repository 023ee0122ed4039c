//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// rawOf is what reads a TCP connection without a buffer that waits with it; nil for any other.
func rawOf(nc net.Conn) syscall.RawConn {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// readReady is called with the socket's descriptor at once, and again whenever there may be something to read, until it reports true.
func (c *conn) readReady(fd uintptr) bool {
	if !c.lend() {
		c.claim.short = true
		return true
	}
	for {
		n, err := syscall.Read(int(fd), c.in.space())
		switch {
		case n > 0:
		case err == nil:
			err = io.EOF
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			c.claim.short = !c.park()
			return c.claim.short
		}
		c.readN, c.readErr = max(n, 0), err
		return true
	}
}
