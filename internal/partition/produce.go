package partition

import "github.com/ottla-io/ottla/internal/protocol/batch"

// Produce is one batch offered for append, and what became of it.
type Produce struct {
	// Records is the records field of a produce request for one partition: exactly one batch, not yet checked.
	// Append changes its offsets in place, or replaces it where the topic's compression.type differs; it keeps no
	// reference.
	Records []byte
	// Internal is set by coordinators, which may write to internal topics, control batches and transactions.
	Internal bool

	// Err is nil, or a *kerr.Error (perhaps wrapped; RecordErrors may say more).
	Err error
	// RecordErrors names the offending records of an INVALID_RECORD or INVALID_TIMESTAMP (KIP-467).
	RecordErrors []RecordError
	// Base is the first offset the batch got; of a duplicate, the original's; -1 with an error.
	Base batch.Offset
	// End is the offset an acks=all answer waits for: see Await.
	End batch.Offset
	// AppendTime is the LogAppendTime in ms, or -1. Of a duplicate it is the largest timestamp of the first batch.
	AppendTime int64
	// Count and Bytes are what was appended (0 for a duplicate).
	Count int32
	Bytes int
	// Duplicate: the batch was there already.
	Duplicate bool
}

// RecordError names one bad record by its index in the batch.
type RecordError = batch.RecordError

// reset clears the results.
func (pr *Produce) reset() {
	*pr = Produce{Records: pr.Records, Internal: pr.Internal, Base: -1, End: -1, AppendTime: batch.NoTimestamp}
}

// refuse makes err the batch's only result.
func (pr *Produce) refuse(err error) {
	pr.reset()
	pr.Err = err
}
