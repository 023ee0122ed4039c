package vfs

import (
	"errors"
	"syscall"
)

// IsShortage reports whether err is about room on the disk, descriptors or memory: the call may succeed later. Of a Sync it
// says nothing, see IsUnopened.
func IsShortage(err error) bool {
	for _, short := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.ENOMEM} {
		if errors.Is(err, short) {
			return true
		}
	}
	return IsUnopened(err)
}

// IsUnopened reports whether err is that there were no descriptors, so that the operation, whatever it was, did not begin: a file
// of the Cache is opened when it is used.
func IsUnopened(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
