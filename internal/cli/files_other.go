//go:build !linux && !darwin

package cli

import "errors"

func raiseFiles() (uint64, error) { return 0, errors.ErrUnsupported }
