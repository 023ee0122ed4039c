package partition

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// validate makes every check on one offered batch that needs no state, in Kafka's order (ProduceRequest.validateRecords,
// UnifiedLog.analyzeAndValidateRecords, LogValidator), and recompresses it if the topic wants another codec.
func (o *Options) validate(pr *Produce, checks batch.Checks) error {
	b, err := onlyBatch(pr.Records)
	if err != nil {
		return err
	}
	if err := o.checkSize(b); err != nil {
		return err
	}
	if !pr.Internal {
		if err := checkClient(b); err != nil {
			return err
		}
	}
	recompress := o.Compression != batch.CodecProducer && o.Compression != b.Codec() && !b.IsControl()
	checks.Client, checks.Deep = !pr.Internal, recompress
	if b.IsControl() {
		checks.Keys = false
	}
	checks.Limit.Record = max(batch.DefaultLimitRecord, o.MaxMessageBytes)
	if b.Decompresses(&checks) {
		defer o.Inflating.Enter(b)()
	}
	report, err := b.Validate(&checks)
	if err != nil {
		return err
	}
	if report.Walked && !o.LogAppendTime && !b.IsControl() {
		b.SetMaxTimestamp(report.MaxTimestamp)
	}
	if recompress {
		if b, err = o.recompress(b); err != nil {
			return err
		}
	}
	pr.Records = b
	return o.checkSize(b)
}

// recompress returns b as compression.type wants it. The result may be too large for the topic although b is not.
func (o *Options) recompress(b batch.Batch) (batch.Batch, error) {
	re, err := batch.Recompress(b, o.Compression, o.CompressionLevel, batch.Limit{}, o.MaxMessageBytes)
	if errors.Is(err, batch.ErrTooLarge) {
		err = fmt.Errorf("batch of %d bytes of %v exceeds max.message.bytes=%d by the topic's compression.type=%v: %w",
			len(b), b.Codec(), o.MaxMessageBytes, o.Compression, kerr.MessageTooLarge)
	}
	return re, err
}

// onlyBatch is the one batch that records must be. A remainder that is no batch is refused too; Kafka ignores it.
func onlyBatch(records []byte) (batch.Batch, error) {
	b, rest, err := batch.Next(records)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, fmt.Errorf("%d bytes follow the batch of %d bytes, expected exactly one batch for a partition: %w",
			len(rest), len(b), kerr.InvalidRecord)
	}
	return b, nil
}

// checkClient refuses what only brokers may write and batch.Validate does not know of.
func checkClient(b batch.Batch) error {
	switch {
	case b.BaseOffset() != 0:
		return fmt.Errorf("base offset is %d, expected 0 from a client: %w", b.BaseOffset(), kerr.InvalidRecord)
	case b.IsTransactional():
		// The partition was never added to a transaction: there are none yet.
		return fmt.Errorf("producer %d has no transaction on this partition: %w", b.ProducerID(), kerr.InvalidTxnState)
	}
	return nil
}

func (o *Options) checkSize(b batch.Batch) error {
	if len(b) > o.MaxMessageBytes {
		return fmt.Errorf("batch of %d bytes exceeds max.message.bytes=%d: %w", len(b), o.MaxMessageBytes, kerr.MessageTooLarge)
	}
	if int64(len(b)) > o.Log.SegmentBytes {
		return fmt.Errorf("batch of %d bytes exceeds segment.bytes=%d: %w", len(b), o.Log.SegmentBytes, kerr.RecordListTooLarge)
	}
	return nil
}

// checks are the record checks of the topic at time now.
func (o *Options) checks(now time.Time) batch.Checks {
	c := batch.Checks{Keys: o.Compact, MinTimestamp: math.MinInt64, MaxTimestamp: math.MaxInt64}
	if o.LogAppendTime {
		return c // the producers' timestamps do not count
	}
	const noLimit = time.Duration(math.MaxInt64)
	if o.TimestampBefore < noLimit {
		c.Timestamps, c.MinTimestamp = true, now.UnixMilli()-o.TimestampBefore.Milliseconds()
	}
	if o.TimestampAfter < noLimit {
		c.Timestamps, c.MaxTimestamp = true, now.UnixMilli()+o.TimestampAfter.Milliseconds()
	}
	return c
}

// refuseInvalid makes err, from validate, the batch's result with the protocol's error.
func (pr *Produce) refuseInvalid(err error) {
	var (
		known   *kerr.Error
		invalid *batch.InvalidError
		code    = kerr.CorruptMessage
	)
	switch {
	case errors.As(err, &known):
		pr.refuse(err)
		return
	case errors.Is(err, batch.ErrCorrupt):
	case errors.Is(err, batch.ErrTimestamp):
		code = kerr.InvalidTimestamp
	default: // no batch, an old format, or one that Kafka refuses
		code = kerr.InvalidRecord
	}
	pr.refuse(fmt.Errorf("%w: %w", err, code))
	if errors.As(err, &invalid) {
		pr.RecordErrors = invalid.Records
	}
}
