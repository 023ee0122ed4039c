package vfs

import (
	"io"
	"io/fs"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxVecs is the kernel's IOV_MAX: the most buffers that one pwritev takes.
const maxVecs = 1024

// vecWrite is the state of one WriteVec. It is pooled, with call made once, so that a write allocates nothing.
type vecWrite struct {
	iov   [maxVecs]unix.Iovec
	count int   // iov[:count] are to be written
	pos   int64 // at this position
	n     int   // how many bytes call wrote
	errno syscall.Errno
	call  func(fd uintptr) // one pwritev
}

func newVecWrite() *vecWrite {
	v := &vecWrite{}
	v.call = v.pwritev
	return v
}

func (f *diskFile) writeVec(bufs [][]byte, pos int64) (int, error) {
	v := f.disk.vecs.Get().(*vecWrite)
	defer f.disk.vecs.Put(v)
	return v.write(f.conn, bufs, pos)
}

// write calls pwritev until all bytes are written. next and skip say where the rest begins: at byte skip of bufs[next].
func (v *vecWrite) write(conn syscall.RawConn, bufs [][]byte, pos int64) (total int, err error) {
	for next, skip := 0, 0; ; {
		v.fill(bufs[next:], skip)
		if v.count == 0 {
			return total, nil
		}
		v.pos = pos + int64(total)
		err := conn.Control(v.call)
		clear(v.iov[:v.count]) // the pool must not hold the caller's bytes
		switch {
		case err != nil: // Control's only error
			return total, fs.ErrClosed
		case v.errno == unix.EINTR:
			continue
		case v.errno != 0:
			return total, v.errno
		case v.n == 0:
			return total, io.ErrShortWrite
		}
		total += v.n
		next, skip = advance(bufs, next, skip, v.n)
	}
}

// fill points iov at bufs, less the first skip bytes of the first.
func (v *vecWrite) fill(bufs [][]byte, skip int) {
	v.count = 0
	for _, b := range bufs {
		if v.count == maxVecs {
			return
		}
		b, skip = b[skip:], 0
		if len(b) == 0 {
			continue
		}
		v.iov[v.count].Base = &b[0]
		v.iov[v.count].SetLen(len(b))
		v.count++
	}
}

// advance moves a place in bufs on by n bytes.
func advance(bufs [][]byte, next, skip, n int) (int, int) {
	skip += n
	for next < len(bufs) && skip >= len(bufs[next]) {
		skip -= len(bufs[next])
		next++
	}
	return next, skip
}

func (v *vecWrite) pwritev(fd uintptr) {
	// The kernel takes the position as two longs; where a long has 64 bits the second is ignored.
	high := uintptr(uint64(v.pos) >> (unix.SizeofLong*8 - 1) >> 1)
	n, _, errno := unix.Syscall6(unix.SYS_PWRITEV, fd, uintptr(unsafe.Pointer(&v.iov[0])), uintptr(v.count),
		uintptr(v.pos), high, 0)
	v.n, v.errno = int(n), errno
}

func (f *diskFile) datasync() error {
	return f.retry(unix.Fdatasync)
}

func (f *diskFile) allocate(size int64) error {
	return f.retry(func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
}

// retry runs call with the descriptor until it is not interrupted.
func (f *diskFile) retry(call func(fd int) error) error {
	return f.WithFd(func(fd uintptr) error {
		for {
			if err := call(int(fd)); err != unix.EINTR { //nolint:errorlint // A bare errno.
				return err
			}
		}
	})
}
