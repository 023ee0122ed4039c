//go:build linux || darwin

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// spaceOf asks the file system that dir is on. Free is what a process without privileges may take.
func spaceOf(dir *os.File) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return Space{}, err
	}
	size := int64(st.Bsize) //nolint:unconvert // it has another type on macOS
	return Space{Free: int64(st.Bavail) * size, Total: int64(st.Blocks) * size}, nil
}
