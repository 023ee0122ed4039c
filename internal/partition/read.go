package partition

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// Isolation is a reader's isolation level.
type Isolation int8

// The isolation levels, by their wire values.
const (
	ReadUncommitted Isolation = 0
	ReadCommitted   Isolation = 1
)

// Offsets are the partition's marks at one moment.
type Offsets struct {
	Start         batch.Offset
	HighWatermark batch.Offset
	LastStable    batch.Offset
	End           batch.Offset
}

// limit is the offset below which a reader with that isolation may see.
func (o Offsets) limit(iso Isolation) batch.Offset {
	if iso == ReadCommitted {
		return o.LastStable
	}
	return o.HighWatermark
}

// Offsets returns the marks. There are no transactions yet, so all that is committed is stable.
func (p *Partition) Offsets() Offsets {
	// Each mark only rises, and never past the next: read in this order, they are in order.
	start := p.log.Start()
	committed := batch.Offset(p.highWatermark.Load())
	return Offsets{Start: start, HighWatermark: committed, LastStable: committed, End: p.log.End()}
}

// Fetch is a consumer's read of one partition.
type Fetch struct {
	Offset      batch.Offset
	LeaderEpoch batch.Epoch // the client's current leader epoch, or NoEpoch: fenced or unknown (KIP-320)
	MaxBytes    int
	Whole       bool // the first batch whole, even above MaxBytes (KIP-74)
	Isolation   Isolation
}

// Read answers a fetch with what is committed now; the caller releases the range. The error is a *kerr.Error, perhaps
// wrapped: CORRUPT_MESSAGE where a damaged batch stands at the offset. The marks are valid with OFFSET_OUT_OF_RANGE too. An offset between the high watermark and the end is not
// out of range: there is nothing to read yet.
func (p *Partition) Read(f Fetch) (log.Range, Offsets, error) {
	if err := p.refusal(); err != nil {
		return log.Range{}, Offsets{}, err
	}
	if err := p.CheckEpoch(f.LeaderEpoch); err != nil {
		return log.Range{}, Offsets{}, err
	}
	marks := p.Offsets()
	if f.Offset < marks.Start || f.Offset > marks.End {
		return log.Range{}, marks, outOfRange(f.Offset, marks)
	}
	r, err := p.log.Read(f.Offset, marks.limit(f.Isolation), f.MaxBytes, f.Whole)
	switch {
	case err == nil:
		return r, marks, nil
	case errors.Is(err, log.ErrOffsetOutOfRange): // the start has moved since
		marks = p.Offsets()
		return log.Range{}, marks, outOfRange(f.Offset, marks)
	}
	return log.Range{}, marks, p.readFailed(err)
}

func outOfRange(offset batch.Offset, marks Offsets) error {
	return fmt.Errorf("offset %d is outside of [%d, %d]: %w", offset, marks.Start, marks.End, kerr.OffsetOutOfRange)
}

// readFailed is the answer to a question that the log did not answer: CORRUPT_MESSAGE where the bytes were read and are not what
// they should be, else KAFKA_STORAGE_ERROR. It is not final: writes and syncs, which acknowledgements rest on, find out for themselves.
func (p *Partition) readFailed(err error) error {
	if f := p.failure.Load(); f != nil { // it was closed, or went offline, beside the read
		return f.err
	}
	code := kerr.KafkaStorageError
	if errors.Is(err, batch.ErrCorrupt) || errors.Is(err, batch.ErrTooLarge) {
		code = kerr.CorruptMessage
	}
	return fmt.Errorf("read %s: %w: %w", p.dir, err, code)
}
