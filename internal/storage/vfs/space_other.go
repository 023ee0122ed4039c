//go:build !linux && !darwin

package vfs

import (
	"errors"
	"os"
)

func spaceOf(*os.File) (Space, error) { return Space{}, errors.ErrUnsupported }
