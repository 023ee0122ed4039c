package batch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Fields are a batch's header as its author decides it; the rest follows from the records.
type Fields struct {
	BaseOffset  Offset
	LeaderEpoch Epoch
	// LastOffset is the batch's, if it is to stay behind the last record's (compaction), or -1.
	LastOffset Offset

	Codec Codec
	Level int // see CheckLevel

	Transactional bool
	Control       bool
	// LogAppendTime makes MaxTimestamp the timestamp of every record.
	LogAppendTime bool
	// MaxTimestamp counts for LogAppendTime and for a batch without records; otherwise it is the records' largest.
	MaxTimestamp int64
	// HasDeleteHorizon stores DeleteHorizon, in ms, in the place of the base timestamp (KIP-534).
	HasDeleteHorizon bool
	DeleteHorizon    int64

	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
}

// NewFields is the header of a batch from base on with no producer id, epoch or compression.
func NewFields(base Offset) Fields {
	return Fields{
		BaseOffset: base, LastOffset: -1, LeaderEpoch: NoEpoch, MaxTimestamp: NoTimestamp,
		ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch, BaseSequence: NoSequence,
	}
}

// FieldsOf is the header of b, for writing it again with some of its records.
func FieldsOf(b Batch) Fields {
	horizon, has := b.DeleteHorizon()
	return Fields{
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), LeaderEpoch: b.LeaderEpoch(), Codec: b.Codec(),
		Transactional: b.IsTransactional(), Control: b.IsControl(),
		LogAppendTime: b.IsLogAppendTime(), MaxTimestamp: b.MaxTimestamp(),
		HasDeleteHorizon: has, DeleteHorizon: horizon,
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
	}
}

// attributes are the attribute bits that the fields ask for.
func (f *Fields) attributes() uint16 {
	a := uint16(f.Codec) & codecMask
	for _, flag := range [...]struct {
		set bool
		bit uint16
	}{
		{f.LogAppendTime, attrLogAppendTime},
		{f.Transactional, attrTransactional},
		{f.Control, attrControl},
		{f.HasDeleteHorizon, attrDeleteHorizon},
	} {
		if flag.set {
			a |= flag.bit
		}
	}
	return a
}

// compressAtOnce is up to how many bytes of records are compressed in one piece; more are compressed while they come.
const compressAtOnce = 1 << 20

// Builder writes one batch after another into memory it keeps; nothing is allocated for a record. The zero value is
// ready for Reset. Reset, then Append each record, then Build. Of records that are compressed no more than compressAtOnce
// bytes are held.
type Builder struct {
	fields  Fields
	plain   []byte      // room for a header, then the records
	packed  []byte      // the same, compressed
	stream  *compressor // what the first records, of flushed bytes, went to; nil: they are all in plain
	flushed int64
	count   int32
	last    int64 // offset delta of the last record, or -1
	base    int64 // base timestamp
	max     int64 // largest timestamp
	err     error
}

// Reset begins a batch. The batch that Build returned before is no longer valid.
func (w *Builder) Reset(f Fields) {
	if w.stream != nil {
		w.stream.abandon()
	}
	*w = Builder{
		fields: f, plain: slices.Grow(w.plain[:0], HeaderSize)[:HeaderSize], packed: w.packed,
		last: -1, base: f.DeleteHorizon, max: NoTimestamp,
	}
}

// Append adds a record by its Offset, Timestamp, Key, Value and Headers, which it copies. Offsets must rise; gaps are
// kept. A record that cannot be added makes Build fail.
func (w *Builder) Append(r Record) {
	delta := int64(r.Offset - w.fields.BaseOffset)
	if delta <= w.last || delta > math.MaxInt32 {
		w.fail(fmt.Errorf("offset %d cannot follow offset %d in a batch from offset %d",
			r.Offset, w.fields.BaseOffset+Offset(w.last), w.fields.BaseOffset))
		return
	}
	if w.count == 0 && !w.fields.HasDeleteHorizon {
		w.base = r.Timestamp
	}
	headers := r.Headers
	if len(headers) == 0 {
		headers = Headers{0}
	}
	sinceBase := r.Timestamp - w.base
	size := 1 + varintLen(sinceBase) + varintLen(delta) + nullableLen(r.Key) + nullableLen(r.Value) + len(headers)
	if size > math.MaxInt32-len(w.plain) {
		w.fail(fmt.Errorf("batch would exceed %d bytes", math.MaxInt32))
		return
	}
	b := binary.AppendVarint(w.plain, int64(size))
	b = append(b, 0)
	b = binary.AppendVarint(b, sinceBase)
	b = binary.AppendVarint(b, delta)
	b = appendNullable(b, r.Key)
	b = appendNullable(b, r.Value)
	b = append(b, headers...)
	w.plain = b
	if len(b) > HeaderSize+compressAtOnce && w.fields.Codec != CodecNone {
		w.flush()
	}
	w.last, w.count, w.max = delta, w.count+1, max(w.max, r.Timestamp)
}

// flush gives the compressor the records in plain.
func (w *Builder) flush() {
	if w.stream == nil {
		w.packed = slices.Grow(w.packed[:0], HeaderSize)[:HeaderSize]
		var err error
		if w.stream, err = newCompressor(w.packed, w.fields.Codec, w.fields.Level); err != nil {
			w.fail(err)
			return
		}
	}
	if _, err := w.stream.Write(w.plain[HeaderSize:]); err != nil {
		w.fail(err)
	}
	w.flushed += int64(len(w.plain) - HeaderSize)
	w.plain = w.plain[:HeaderSize]
}

func (w *Builder) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Count is how many records were appended.
func (w *Builder) Count() int { return int(w.count) }

// Size is the batch's size in bytes so far, before compression.
func (w *Builder) Size() int { return len(w.plain) + int(w.flushed) }

// Build compresses the records and writes the header. A batch without records is never compressed and keeps the fields'
// offsets, timestamp and sequence: compaction leaves such batches for their producer's sake. The batch aliases the
// builder's memory until Reset.
func (w *Builder) Build() (Batch, error) {
	if w.err != nil {
		return nil, w.err
	}
	f := &w.fields
	out := w.plain
	if w.count == 0 {
		f.Codec = CodecNone
	}
	if f.Codec != CodecNone {
		if err := w.compress(); err != nil {
			return nil, err
		}
		out = w.packed
	}
	lastDelta := max(w.last, int64(f.LastOffset-f.BaseOffset), 0)
	if lastDelta > math.MaxInt32 || len(out) > math.MaxInt32 {
		return nil, fmt.Errorf("batch from offset %d to %d, of %d bytes, does not fit", f.BaseOffset, f.LastOffset, len(out))
	}
	if f.LogAppendTime || w.count == 0 {
		w.max = f.MaxTimestamp
	}
	if w.count == 0 && !f.HasDeleteHorizon {
		w.base = NoTimestamp
	}
	b := Batch(out)
	w.putHeader(b, int32(lastDelta))
	return b, nil
}

// compress puts the batch into packed.
func (w *Builder) compress() (err error) {
	if w.stream == nil {
		w.packed = slices.Grow(w.packed[:0], HeaderSize)[:HeaderSize]
		w.packed, err = Compress(w.packed, w.fields.Codec, w.fields.Level, w.plain[HeaderSize:])
		return err
	}
	if w.flush(); w.err != nil {
		return w.err
	}
	err = w.stream.Close()
	w.packed, w.stream = w.stream.out, nil
	return err
}

func (w *Builder) putHeader(b Batch, lastDelta int32) {
	f, be := &w.fields, binary.BigEndian
	b.SetBaseOffset(f.BaseOffset)
	be.PutUint32(b[posLength:], uint32(len(b)-LogOverhead))
	b.SetLeaderEpoch(f.LeaderEpoch)
	b[posMagic] = 2
	be.PutUint16(b[posAttributes:], f.attributes())
	be.PutUint32(b[posLastOffsetDelta:], uint32(lastDelta))
	be.PutUint64(b[posBaseTimestamp:], uint64(w.base))
	be.PutUint64(b[posMaxTimestamp:], uint64(w.max))
	be.PutUint64(b[posProducerID:], uint64(f.ProducerID))
	be.PutUint16(b[posProducerEpoch:], uint16(f.ProducerEpoch))
	be.PutUint32(b[posBaseSequence:], uint32(f.BaseSequence))
	be.PutUint32(b[posCount:], uint32(w.count))
	b.setCRC()
}

// varintLen is the size of v as a zigzag varint.
func varintLen(v int64) int {
	return (bits.Len64(uint64(v<<1)^uint64(v>>63)|1) + 6) / 7
}

func nullableLen(field []byte) int {
	if field == nil {
		return 1
	}
	return varintLen(int64(len(field))) + len(field)
}
