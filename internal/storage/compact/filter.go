package compact

import (
	"fmt"
	"math"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Limit bounds what a pass reads of a batch. The records together have no limit, since a pass must be able to read whatever was
// once accepted, also before a limit was lowered (KAFKA-6834): they go by. Each one is held.
func Limit() batch.Limit { return batch.Limit{Bytes: math.MaxInt64, Record: 256 << 20} }

// Rules say what one pass keeps.
type Rules struct {
	// Now is the time in ms.
	Now int64
	// DeleteRetention is how long, in ms, tombstones and the markers of emptied transactions stay
	// (delete.retention.ms).
	DeleteRetention int64
	// End is where the key map's knowledge ends: it has each key's last offset below.
	End batch.Offset
	// Codec and Level are the topic's compression, whose level is used where a batch has that codec.
	Codec batch.Codec
	Level int
	// Newest reports whether a batch holds the newest state of a producer that is still known, and so must stay.
	Newest func(header batch.Batch) bool
}

// Counts are a pass's figures.
type Counts struct {
	Batches, BatchesKept int64 // kept: also those without a record
	Records, RecordsKept int64
	Keyless              int64 // records removed because they had no key
}

// Filter decides about the batches of a log, which it must see in order, from the log's start.
type Filter struct {
	rules  Rules
	keys   *KeyMap
	txns   *Transactions
	counts Counts

	// unmarked are the producers with a batch since their last marker.
	unmarked map[int64]struct{}

	cursor  batch.Cursor
	builder batch.Builder
	seen    int      // records of the batch
	keep    []uint64 // bit i: its record i stays; a batch may have very many
}

// NewFilter returns a filter.
func NewFilter(rules Rules, keys *KeyMap, txns *Transactions) *Filter {
	if rules.Newest == nil {
		rules.Newest = func(batch.Batch) bool { return false }
	}
	return &Filter{rules: rules, keys: keys, txns: txns, unmarked: make(map[int64]struct{})}
}

// Counts are the figures so far.
func (f *Filter) Counts() Counts { return f.counts }

// Batch returns what is to be written for b: b itself, a batch in the filter's memory that is valid until the next call,
// or nil. With last, something is. Errors are those of a batch that cannot be read.
func (f *Filter) Batch(b batch.Batch, last bool) (batch.Batch, error) {
	f.counts.Batches++
	f.counts.Records += int64(b.Count())
	stay := last || b.HasProducerID() && f.rules.Newest(b)
	out, err := f.judge(b, stay)
	if err != nil {
		return nil, fmt.Errorf("compact batch at offset %d: %w", b.BaseOffset(), err)
	}
	if out != nil {
		f.counts.BatchesKept++
		f.counts.RecordsKept += int64(out.Count())
	}
	return out, nil
}

func (f *Filter) judge(b batch.Batch, stay bool) (batch.Batch, error) {
	if b.IsControl() {
		return f.control(b, stay)
	}
	if b.IsTransactional() {
		f.unmarked[b.ProducerID()] = struct{}{}
	}
	switch {
	case b.BaseOffset() >= f.rules.End:
		return b, nil
	case f.txns.Aborted(b):
		return f.empty(b, stay)
	}
	kept, tombstones, err := f.records(b)
	if err != nil {
		return nil, err
	}
	if kept == 0 {
		return f.empty(b, stay)
	}
	// Kafka marks a batch that the end splits too, and so may drop its tombstones in the pass that first sees them.
	mark := tombstones && !b.HasDeleteHorizon() && b.LastOffset() < f.rules.End
	if kept == f.seen && !mark {
		return b, nil
	}
	return f.rewrite(b, mark)
}

// records decides about each record of b and notes it in f.keep.
func (f *Filter) records(b batch.Batch) (kept int, tombstones bool, err error) {
	if err := f.begin(b); err != nil {
		return 0, false, err
	}
	for f.cursor.Next() {
		r := f.cursor.Record()
		stays := f.stays(b, &r)
		f.note(stays)
		if stays {
			kept++
			tombstones = tombstones || r.Value == nil
		}
	}
	return kept, tombstones, f.cursor.Err()
}

// begin points the cursor before the first record of b, of which nothing is noted yet.
func (f *Filter) begin(b batch.Batch) error {
	f.seen, f.keep = 0, f.keep[:0]
	return f.cursor.Reset(b, Limit())
}

// note adds to f.keep whether the batch's next record stays.
func (f *Filter) note(stays bool) {
	if f.seen%64 == 0 {
		f.keep = append(f.keep, 0)
	}
	if stays {
		f.keep[f.seen/64] |= 1 << (f.seen % 64)
	}
	f.seen++
}

func (f *Filter) stays(b batch.Batch, r *batch.Record) bool {
	if r.Offset >= f.rules.End {
		return true
	}
	if r.Key == nil {
		f.counts.Keyless++
		return false
	}
	if last, ok := f.keys.Last(r.Key); ok && r.Offset < last {
		return false
	}
	if r.Value != nil {
		return true
	}
	horizon, ok := b.DeleteHorizon()
	return !ok || f.rules.Now < horizon
}

// rewrite is b with the records of f.keep; mark gives it its delete horizon.
func (f *Filter) rewrite(b batch.Batch, mark bool) (batch.Batch, error) {
	fields := batch.FieldsOf(b)
	if fields.Codec == f.rules.Codec {
		fields.Level = f.rules.Level
	}
	if mark {
		fields.HasDeleteHorizon, fields.DeleteHorizon = true, f.rules.Now+f.rules.DeleteRetention
	}
	f.builder.Reset(fields)
	if err := f.cursor.Rewind(); err != nil {
		return nil, err
	}
	for i := 0; f.cursor.Next(); i++ {
		if f.keep[i/64]&(1<<(i%64)) != 0 {
			f.builder.Append(f.cursor.Record())
		}
	}
	if err := f.cursor.Err(); err != nil {
		return nil, err
	}
	return f.builder.Build()
}

// empty is b without records, if it is to stay (Kafka's DefaultRecordBatch.writeEmptyHeader).
func (f *Filter) empty(b batch.Batch, stay bool) (batch.Batch, error) {
	switch {
	case !stay:
		return nil, nil
	case b.Count() == 0:
		return b, nil
	}
	fields := batch.FieldsOf(b)
	fields.HasDeleteHorizon, fields.DeleteHorizon = false, 0
	f.builder.Reset(fields)
	return f.builder.Build()
}

// all notes in f.keep that every record of b stays.
func (f *Filter) all(b batch.Batch) error {
	if err := f.begin(b); err != nil {
		return err
	}
	for f.cursor.Next() {
		f.note(true)
	}
	return f.cursor.Err()
}
