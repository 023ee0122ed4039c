package segment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Kind is what one of a segment's files holds, by its file name's extension.
type Kind string

// The files of a segment (Kafka's LogFileUtils).
const (
	Log       Kind = ".log"
	Index     Kind = ".index"
	TimeIndex Kind = ".timeindex"
	TxnIndex  Kind = ".txnindex"
)

// Kinds are all kinds; the log, which alone matters, comes first.
func Kinds() []Kind { return []Kind{Log, Index, TimeIndex, TxnIndex} }

// State is the second extension of a file that is not, or no more, a part of the log.
type State string

// The states of a file (Kafka's LogFileUtils).
const (
	// Live files are the log.
	Live State = ""
	// Cleaned files are being written by compaction and mean nothing after a crash.
	Cleaned State = ".cleaned"
	// Swap files are whole and replace what they overlap; after a crash the swap is completed.
	Swap State = ".swap"
	// Deleted files only wait for their last reader.
	Deleted State = ".deleted"
)

// Name is the file name of the segment that begins at base.
func Name(base batch.Offset, kind Kind, state State) string {
	return fmt.Sprintf("%020d%s%s", int64(base), kind, state)
}

// ParseName is the inverse of Name; ok is false for every other file's name.
func ParseName(name string) (base batch.Offset, kind Kind, state State, ok bool) {
	digits, rest, found := strings.Cut(name, ".")
	if !found || len(digits) != 20 {
		return 0, "", "", false
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, "", "", false
	}
	first, second, found := strings.Cut(rest, ".")
	if found {
		state = State("." + second)
	}
	kind = Kind("." + first)
	if !known(kind, state) {
		return 0, "", "", false
	}
	return batch.Offset(n), kind, state, true
}

func known(kind Kind, state State) bool {
	switch kind {
	case Log, Index, TimeIndex, TxnIndex:
	default:
		return false
	}
	switch state {
	case Live, Cleaned, Swap, Deleted:
		return true
	}
	return false
}
