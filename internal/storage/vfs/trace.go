package vfs

import "sync"

// Trace reports each operation on base to report once it is done, in one order, one call at a time; Op.String is
// its line. What report has been told when an acknowledgement leaves is what was done before it. report must not use the FS.
func Trace(base FS, report func(Op)) FS {
	var mu sync.Mutex
	var seq uint64
	return &wrapped{
		base:   base,
		before: func(*Op) error { return nil },
		after: func(op Op) {
			mu.Lock()
			defer mu.Unlock()
			seq++
			op.Seq = seq
			report(op)
		},
	}
}
