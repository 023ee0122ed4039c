package vfs

import (
	"fmt"
	"slices"
	"strconv"
)

// Kind names an operation as golden traces print it.
type Kind string

// The operations. A WriteVec is an OpWrite; an OpenFile with O_CREATE is an OpCreate, whether or not the file exists.
const (
	OpCreate      Kind = "create"
	OpOpen        Kind = "open"
	OpRemove      Kind = "remove"
	OpRemoveAll   Kind = "removeall"
	OpRename      Kind = "rename"
	OpMkdirAll    Kind = "mkdir"
	OpReadDir     Kind = "readdir"
	OpStat        Kind = "stat"
	OpSyncDir     Kind = "syncdir"
	OpSpace       Kind = "space"
	OpRead        Kind = "read"
	OpWrite       Kind = "write"
	OpTruncate    Kind = "truncate"
	OpPreallocate Kind = "preallocate"
	OpSync        Kind = "sync"
	OpSize        Kind = "size"
	OpWithFd      Kind = "fd"
	OpClose       Kind = "close"
)

// Op is one operation on a file system, as tests and traces see it.
type Op struct {
	Seq  uint64 // from 1, in the order of the wrapper that counts
	Kind Kind
	Name string // as given to the FS; of a file, the name that it was opened by
	To   string // of a rename
	Flag int    // of an open or create
	Pos  int64  // of a read or write
	Len  int64  // bytes to read or write; the size of a truncate or preallocate
	Done int64  // bytes read or written, once it is done
	Err  error  // how it ended, once it is done
}

// Mutates says whether the operation changes what a crash may leave.
func (op Op) Mutates() bool {
	switch op.Kind {
	case OpCreate, OpRemove, OpRemoveAll, OpRename, OpMkdirAll, OpSyncDir, OpWrite, OpTruncate, OpPreallocate, OpSync:
		return true
	default:
		return false
	}
}

// String is the operation's line in a golden trace. It leaves out Seq and Flag.
func (op Op) String() string {
	line := string(op.Kind)
	if op.Name != "" {
		line += " " + op.Name
	}
	switch op.Kind {
	case OpRename:
		line += " -> " + op.To
	case OpRead, OpWrite:
		line += fmt.Sprintf(" [%d, %d)", op.Pos, op.Pos+op.Len)
		if op.Err != nil {
			line += " done " + strconv.FormatInt(op.Done, 10)
		}
	case OpTruncate, OpPreallocate:
		line += " " + strconv.FormatInt(op.Len, 10)
	default: // the others are of the whole file
	}
	if op.Err != nil {
		line += ": " + op.Err.Error()
	}
	return line
}

// OfKind matches operations of the given kinds.
func OfKind(kinds ...Kind) func(Op) bool {
	return func(op Op) bool { return slices.Contains(kinds, op.Kind) }
}
