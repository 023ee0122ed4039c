//go:build !linux

package vfs

import "errors"

// vecWrite has no state where buffers are written one by one.
type vecWrite struct{}

func newVecWrite() *vecWrite { return &vecWrite{} }

func (f *diskFile) writeVec(bufs [][]byte, pos int64) (total int, err error) {
	for _, b := range bufs {
		n, err := f.file.WriteAt(b, pos+int64(total))
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// datasync uses os.File.Sync, which asks for F_FULLFSYNC on darwin.
func (f *diskFile) datasync() error { return f.file.Sync() }

func (f *diskFile) allocate(int64) error { return errors.ErrUnsupported }
