package batch

import (
	"errors"
	"fmt"
)

// The marks of this package's errors, for errors.Is. The Kafka error a produce is answered with stands behind each.
var (
	// ErrTruncated: the bytes end before the batch does. A *TruncatedError says how many are needed.
	ErrTruncated = errors.New("truncated batch")
	// ErrCorrupt: the header cannot be believed or the CRC differs (CORRUPT_MESSAGE).
	ErrCorrupt = errors.New("corrupt batch")
	// ErrMagic: not magic 2. A *MagicError has the value; it is also ErrCorrupt when no format has that value.
	ErrMagic = errors.New("unsupported batch magic")
	// ErrInvalid: bytes that arrived as they were sent, but not what Kafka accepts (INVALID_RECORD). An *InvalidError says more.
	ErrInvalid = errors.New("invalid record")
	// ErrTimestamp: records outside the accepted time range (INVALID_TIMESTAMP). An *InvalidError names them.
	ErrTimestamp = errors.New("invalid timestamp")
	// ErrTooLarge: the records decompress to more than the limit, or one of them does (INVALID_RECORD: trying again cannot help).
	ErrTooLarge = errors.New("decompressed records too large")
)

// TruncatedError is an ErrTruncated.
type TruncatedError struct {
	Have int // bytes there
	Need int // bytes needed to go on: a header's, or the whole batch's
}

// Error implements error.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%v: have %d bytes, need %d", ErrTruncated, e.Have, e.Need)
}

// Is makes errors.Is(err, ErrTruncated) true.
func (e *TruncatedError) Is(target error) bool { return target == ErrTruncated }

// MagicError is an ErrMagic: a batch of an older format (0, 1) or of none.
type MagicError struct{ Magic int8 }

// Error implements error.
func (e *MagicError) Error() string {
	return fmt.Sprintf("%v: found %d, expected 2", ErrMagic, e.Magic)
}

// Is matches ErrMagic, and ErrCorrupt for a value that no message format has.
func (e *MagicError) Is(target error) bool {
	return target == ErrMagic || target == ErrCorrupt && (e.Magic < 0 || e.Magic > 2)
}

// RecordError names one bad record of a batch by its index (KIP-467).
type RecordError struct {
	Index   int32
	Message string
}

// MaxRecordErrors bounds the records an InvalidError names, so that an answer is not larger than what it answers.
const MaxRecordErrors = 64

// InvalidError is an ErrInvalid, or an ErrTimestamp if Timestamp is set.
type InvalidError struct {
	Reason    string
	Timestamp bool          // records were refused for their timestamps (and perhaps for more)
	Records   []RecordError // at most MaxRecordErrors; none when the batch as a whole is wrong
}

// Error implements error.
func (e *InvalidError) Error() string {
	mark := ErrInvalid
	if e.Timestamp {
		mark = ErrTimestamp
	}
	if len(e.Records) == 0 {
		return fmt.Sprintf("%v: %s", mark, e.Reason)
	}
	first := e.Records[0]
	return fmt.Sprintf("%v: %s: record %d: %s", mark, e.Reason, first.Index, first.Message)
}

// Is matches ErrTimestamp or ErrInvalid, never both: they have different codes.
func (e *InvalidError) Is(target error) bool {
	return target == ErrTimestamp && e.Timestamp || target == ErrInvalid && !e.Timestamp
}

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

func invalidf(format string, args ...any) error {
	return &InvalidError{Reason: fmt.Sprintf(format, args...)}
}
