package vfs

import (
	"fmt"
	"sync/atomic"
)

// Faulty asks inject before each operation on base, which is not made when inject returns an error; the caller
// meets that error, wrapped. Two operations differ: a *ShortWriteError makes a write go through in part, and a
// failed Sync loses the file's unsynced bytes from a Mem below, though reads still see them and the next Sync
// says nil, which is what Linux does. inject may be called concurrently; Seq counts its calls.
func Faulty(base FS, inject func(Op) error) FS {
	var seq atomic.Uint64
	return &wrapped{
		base: base,
		before: func(op *Op) error {
			op.Seq = seq.Add(1)
			if err := inject(*op); err != nil {
				return fmt.Errorf("%s: %w", op, err)
			}
			return nil
		},
		after: func(Op) {},
	}
}

// ShortWriteError is the injected error of a write that reaches the file with its first N bytes only.
type ShortWriteError struct {
	N   int
	Err error
}

// Error says how far the write got.
func (s *ShortWriteError) Error() string {
	return fmt.Sprintf("short write of %d bytes: %v", s.N, s.Err)
}

// Unwrap returns the cause.
func (s *ShortWriteError) Unwrap() error { return s.Err }

// FailNth makes an injector that fails the n-th operation (from 1) that match accepts, and no other.
func FailNth(n int64, match func(Op) bool, err error) func(Op) error {
	var seen atomic.Int64
	return func(op Op) error {
		if match(op) && seen.Add(1) == n {
			return err
		}
		return nil
	}
}

// FailFrom makes an injector that fails the n-th operation (from 1) that match accepts, and all such after it.
func FailFrom(n int64, match func(Op) bool, err error) func(Op) error {
	var seen atomic.Int64
	return func(op Op) error {
		if match(op) && seen.Add(1) >= n {
			return err
		}
		return nil
	}
}
