//go:build !linux && !darwin

package host

import "errors"

func raiseFiles() (uint64, error) { return 0, errors.ErrUnsupported }
