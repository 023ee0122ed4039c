package batch

import "iter"

// keepBuffer is the largest decompression buffer, in bytes, that a Cursor keeps for its next batch.
const keepBuffer = 4 << 20

// Cursor reads the records of one batch after another and allocates for none of them. The zero value is ready.
//
//	for err := c.Reset(b, limit); err == nil && c.Next(); {
//		use(c.Record())
//	}
//	if err := c.Err(); err != nil { ... }
//
// Records alias the batch or, if it was compressed, the cursor's own memory: they are valid until the next Reset.
type Cursor struct {
	batch  Batch
	data   []byte // the records, uncompressed
	buffer []byte // what data aliases when the batch is compressed
	pos    int
	index  int32
	last   int64 // offset delta of the record before
	record Record
	err    error
}

// Reset points the cursor before the first record of b, decompressing it within limit.
// Errors (also kept for Err): ErrTooLarge, ErrInvalid.
func (c *Cursor) Reset(b Batch, limit Limit) error {
	if cap(c.buffer) > keepBuffer {
		c.buffer = nil
	}
	*c = Cursor{batch: b, data: b.Records(), buffer: c.buffer, last: -1}
	if b.Codec() == CodecNone || b.Count() == 0 && len(c.data) == 0 {
		return nil
	}
	c.buffer, c.err = Decompress(c.buffer[:0], b.Codec(), c.data, limit)
	c.data = c.buffer
	return c.err
}

// Rewind points the cursor before the first record again, without decompressing anything. Only after a Reset that succeeded.
func (c *Cursor) Rewind() {
	*c = Cursor{batch: c.batch, data: c.data, buffer: c.buffer, last: -1}
}

// Next moves to the next record; false at the end or at an error, which Err tells apart.
// Offset deltas must rise and not pass the header's, but may have gaps, as compaction leaves them.
func (c *Cursor) Next() bool {
	if c.err != nil || c.batch == nil {
		return false
	}
	if c.index >= c.batch.Count() {
		if rest := len(c.data) - c.pos; rest != 0 {
			c.err = invalidf("%d bytes stand after the last of %d records", rest, c.index)
		}
		return false
	}
	var at layout
	wrong := at.parse(c.data, c.pos)
	if wrong == flawNone && (at.offsetDelta <= c.last || at.offsetDelta > int64(c.batch.LastOffsetDelta())) {
		wrong = flawDelta
	}
	if wrong != flawNone {
		c.err = malformed(c.index, wrong)
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
	r.Key, r.Value = at.key.of(c.data), at.value.of(c.data)
	r.Headers = Headers(c.data[at.headers:at.end:at.end])
	c.pos, c.last = at.end, at.offsetDelta
	c.index++
}

// Record is the record that Next moved to.
func (c *Cursor) Record() Record { return c.record }

// Err is why Next or Reset stopped, or nil at the end of a good batch.
func (c *Cursor) Err() error { return c.err }

// All yields the records of b, decompressed within limit; an error comes last, with an empty Record. The records
// may be kept as long as b is not changed. Use a Cursor to read many batches without allocating.
func (b Batch) All(limit Limit) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var c Cursor
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
