//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package vfs

import (
	"errors"
	"os"
)

func lockFile(*os.File) (pid int, err error) { return 0, errors.ErrUnsupported }
