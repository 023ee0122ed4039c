package batch

import (
	"fmt"
	"sync"
)

// Checks is what Validate asks for beside CRC and structure.
type Checks struct {
	// Client refuses what only a broker may write: control batches, LogAppendTime, delete horizons.
	Client bool
	// Deep decompresses compressed records to walk them too. Without it, their count and timestamps are the header's word.
	Deep bool
	// Keys refuses records without a key (compacted topics). It decompresses.
	Keys bool
	// Timestamps refuses records outside [MinTimestamp, MaxTimestamp]; NoTimestamp passes. Compressed records are
	// decompressed only if the header's timestamps are outside, or Deep is set.
	Timestamps                 bool
	MinTimestamp, MaxTimestamp int64
	// Limit bounds what is decompressed. With Keys, no record may be larger than Limit.Record: compaction will have to hold it.
	Limit Limit
}

// Report is what Validate saw of the records.
type Report struct {
	// Walked: every record was looked at; otherwise MaxTimestamp is the header's and MaxTimestampDelta the last record's.
	Walked bool
	// MaxTimestamp is the records' largest, or NoTimestamp; see SetMaxTimestamp for a header that says something else.
	MaxTimestamp int64
	// MaxTimestampDelta is the offset delta of the first record with MaxTimestamp.
	MaxTimestampDelta int32
}

// Validate judges a batch offered for append, as Kafka's LogValidator does: the CRC, the header, then the records.
// Records must have the offset deltas 0, 1, ... in order. It allocates nothing for a good uncompressed batch.
//
// Errors: ErrCorrupt, ErrInvalid, ErrTimestamp, ErrTooLarge. A wrong header MaxTimestamp is no error: see Report.
func (b Batch) Validate(checks *Checks) (Report, error) {
	if err := b.CheckCRC(); err != nil {
		return Report{}, err
	}
	if err := b.validateHeader(checks.Client); err != nil {
		return Report{}, err
	}
	if b.Codec() != CodecNone && !b.Decompresses(checks) {
		return Report{MaxTimestamp: b.MaxTimestamp(), MaxTimestampDelta: b.LastOffsetDelta()}, nil
	}
	s := streams.Get().(*stream)
	defer streams.Put(s)
	defer s.close()
	if err := s.reset(b, checks.Limit); err != nil {
		return Report{}, err
	}
	if checks.Keys {
		s.most = int64(s.limit.Record)
	}
	return b.walk(s, checks)
}

// streams have idle memory for records that are decompressed only to be looked at.
var streams = sync.Pool{New: func() any { return new(stream) }}

// Decompresses reports whether Validate looks into compressed records, since the checks cannot be made by the header.
func (b Batch) Decompresses(checks *Checks) bool {
	return b.Codec() != CodecNone && (checks.Deep || checks.Keys ||
		checks.Timestamps && (checks.outside(b.BaseTimestamp()) || checks.outside(b.MaxTimestamp())))
}

func (c *Checks) outside(timestamp int64) bool {
	return timestamp != NoTimestamp && (timestamp < c.MinTimestamp || timestamp > c.MaxTimestamp)
}

// validateHeader makes the checks of LogValidator.validateBatch.
func (b Batch) validateHeader(client bool) error {
	count, codec := b.Count(), b.Codec()
	switch {
	case count < 1:
		return invalidf("record count is %d, expected at least 1", count)
	case int64(b.LastOffsetDelta()) != int64(count)-1:
		return invalidf("last offset delta is %d, expected %d for %d records", b.LastOffsetDelta(), count-1, count)
	case codec > CodecZstd:
		return invalidf("compression codec is %d, expected at most %d", codec, CodecZstd)
	case b.HasProducerID() && !b.IsControl() && b.BaseSequence() < 0:
		return invalidf("base sequence is %d for producer id %d, expected 0 or more", b.BaseSequence(), b.ProducerID())
	case b.IsTransactional() && !b.HasProducerID():
		return invalidf("transactional batch has producer id %d, expected 0 or more", b.ProducerID())
	case !client:
		return nil
	case b.IsControl():
		return invalidf("clients may not write control batches")
	case b.HasDeleteHorizon():
		return invalidf("clients may not set a delete horizon")
	case b.IsLogAppendTime():
		return &InvalidError{Reason: "producers may not set the timestamp type to LogAppendTime", Timestamp: true}
	}
	return nil
}

// walk looks at every record of s, which stands at the batch's first. No record is held in memory.
func (b Batch) walk(s *stream, checks *Checks) (Report, error) {
	var (
		at    layout
		p     = s.p
		pos   = s.at
		bad   *InvalidError
		seen  = Report{Walked: true, MaxTimestamp: NoTimestamp}
		base  = b.BaseTimestamp()
		extra = checks.Keys || checks.Timestamps
	)
	for i := range b.Count() {
		wrong := at.parse(p, pos)
		if wrong == flawSize && !s.done {
			s.at = pos
			wrong = s.next(&at, false)
			p = s.p
		}
		if wrong == flawNone && at.offsetDelta != int64(i) {
			wrong = flawDelta
		}
		if wrong != flawNone {
			return Report{}, s.malformed(i, wrong)
		}
		pos = at.end
		timestamp := base + at.timestampDelta
		if timestamp > seen.MaxTimestamp {
			seen.MaxTimestamp, seen.MaxTimestampDelta = timestamp, i
		}
		if extra {
			bad = checks.record(bad, i, timestamp, &at)
		}
	}
	s.at = pos
	if err := s.trailer(b.Count()); err != nil {
		return Report{}, err
	}
	if bad != nil {
		return Report{}, bad
	}
	return seen, nil
}

// record makes the per-record checks and adds what they refuse to bad, which it makes when it must.
func (c *Checks) record(bad *InvalidError, index int32, timestamp int64, at *layout) *InvalidError {
	var message string
	switch {
	case c.Keys && at.key.length < 0:
		message = "a compacted topic cannot accept a record without key"
	case c.Timestamps && c.outside(timestamp):
		message = fmt.Sprintf("timestamp %d is outside of [%d, %d]", timestamp, c.MinTimestamp, c.MaxTimestamp)
	default:
		return bad
	}
	if bad == nil {
		bad = &InvalidError{Reason: "one or more records were refused"}
	}
	bad.Timestamp = bad.Timestamp || (!c.Keys || at.key.length >= 0)
	if len(bad.Records) < MaxRecordErrors {
		bad.Records = append(bad.Records, RecordError{Index: index, Message: message})
	}
	return bad
}

// malformed is why the record of that index cannot be read: what is wrong with it, or with the decompression before it.
func (s *stream) malformed(index int32, wrong flaw) error {
	if s.err != nil {
		return s.err
	}
	return &InvalidError{Reason: "malformed record", Records: []RecordError{{Index: index, Message: wrong.String()}}}
}

// trailer refuses bytes that stand after the last of n records.
func (s *stream) trailer(n int32) error {
	switch ends := s.ends(); {
	case s.err != nil:
		return s.err
	case !ends:
		return invalidf("bytes stand after the last of %d records", n)
	}
	return nil
}
