package batch

import "iter"

// Cursor reads the records of one batch after another and allocates for none of them. The zero value is ready.
//
//	defer c.Close()
//	for err := c.Reset(b, limit); err == nil && c.Next(); {
//		use(c.Record())
//	}
//	if err := c.Err(); err != nil { ... }
//
// Records alias the batch or, if it was compressed, the cursor's own memory: they are valid until the next call of Next or Reset.
// A compressed batch is decompressed while its records are read, so of any number of records only a few are in memory.
type Cursor struct {
	batch  Batch
	s      stream
	limit  Limit
	bare   bool // records without key, value and headers
	index  int32
	last   int64 // offset delta of the record before
	record Record
	err    error
}

// Reset points the cursor before the first record of b. Errors of decompression come here or from a later Next; all are kept for Err.
// They are ErrTooLarge and ErrInvalid.
func (c *Cursor) Reset(b Batch, limit Limit) error {
	*c = Cursor{batch: b, s: c.s, limit: limit, last: -1}
	c.err = c.s.reset(b, limit)
	return c.err
}

// ResetBare is Reset for records of which only offset, timestamp and sequence are wanted: they have no key, value or headers, and
// their size has no limit, since they are not held.
func (c *Cursor) ResetBare(b Batch, limit Limit) error {
	err := c.Reset(b, limit)
	c.bare = true
	return err
}

// Rewind points the cursor before the first record again; of a large compressed batch it decompresses once more.
func (c *Cursor) Rewind() error {
	if !c.s.rewind() {
		bare := c.bare
		err := c.Reset(c.batch, c.limit)
		c.bare = bare
		return err
	}
	*c = Cursor{batch: c.batch, s: c.s, limit: c.limit, bare: c.bare, last: -1}
	return nil
}

// Close gives back the memory of a decompression that was not read to its end. The cursor may be Reset again.
func (c *Cursor) Close() {
	c.s.close()
	*c = Cursor{s: c.s}
}

// Next moves to the next record; false at the end or at an error, which Err tells apart.
// Offset deltas must rise and not pass the header's, but may have gaps, as compaction leaves them.
func (c *Cursor) Next() bool {
	if c.err != nil || c.batch == nil {
		return false
	}
	if c.index >= c.batch.Count() {
		if c.err = c.s.trailer(c.index); c.err != nil {
			c.record = Record{}
		}
		return false
	}
	var at layout
	wrong := at.parse(c.s.p, c.s.at)
	if wrong == flawNone {
		c.s.at = at.end
	} else {
		wrong = c.s.next(&at, !c.bare)
	}
	if wrong == flawNone && (at.offsetDelta <= c.last || at.offsetDelta > int64(c.batch.LastOffsetDelta())) {
		wrong = flawDelta
	}
	if wrong != flawNone {
		c.err = c.s.malformed(c.index, wrong)
		return false
	}
	c.fill(&at)
	return true
}

func (c *Cursor) fill(at *layout) {
	r := &c.record
	r.Delta = int32(at.offsetDelta)
	r.Offset = c.batch.BaseOffset() + Offset(at.offsetDelta)
	r.Timestamp = c.batch.BaseTimestamp() + at.timestampDelta
	if c.batch.IsLogAppendTime() {
		r.Timestamp = c.batch.MaxTimestamp()
	}
	r.Sequence = NoSequence
	if base := c.batch.BaseSequence(); base >= 0 {
		r.Sequence = AddSequence(base, r.Delta)
	}
	if !c.bare {
		p := c.s.p
		r.Key, r.Value = at.key.of(p), at.value.of(p)
		r.Headers = Headers(p[at.headers:at.end:at.end])
	}
	c.last = at.offsetDelta
	c.index++
}

// Record is the record that Next moved to.
func (c *Cursor) Record() Record { return c.record }

// Err is why Next or Reset stopped, or nil at the end of a good batch.
func (c *Cursor) Err() error { return c.err }

// All yields the records of b, decompressed within limit; an error comes last, with an empty Record. A record is valid until the
// next one. Use a Cursor to read many batches without allocating.
func (b Batch) All(limit Limit) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var c Cursor
		defer c.Close()
		for err := c.Reset(b, limit); err == nil && c.Next(); {
			if !yield(c.Record(), nil) {
				return
			}
		}
		if c.err != nil {
			yield(Record{}, c.err)
		}
	}
}
