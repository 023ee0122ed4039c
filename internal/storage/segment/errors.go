package segment

import (
	"fmt"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// CorruptError says that bytes on disk are not what was written. It is batch.ErrCorrupt.
type CorruptError struct {
	File     string
	Position int64 // the byte in File where the batch or entry begins
	Expected string
	Found    string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s at position %d: expected %s, found %s", batch.ErrCorrupt, e.File, e.Position, e.Expected, e.Found)
}

// Is makes errors.Is(err, batch.ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == batch.ErrCorrupt }
