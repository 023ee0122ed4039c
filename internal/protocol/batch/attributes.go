package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The attribute bits above the codec's.
const (
	codecMask         = 0x07
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
	attrDeleteHorizon = 1 << 6
)

// NoTimestamp, NoProducerID, NoProducerEpoch and NoSequence stand for fields that are not set.
const (
	NoTimestamp     int64 = -1
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
)

// Attributes are the batch's flags; the methods below read them.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[posAttributes:])) }

// Codec is how the records are compressed; a value no codec has is possible, and refused by Validate.
func (b Batch) Codec() Codec { return Codec(b[posAttributes+1] & codecMask) }

// IsLogAppendTime reports whether MaxTimestamp, set by the broker, is the timestamp of every record (KIP-32).
func (b Batch) IsLogAppendTime() bool { return b[posAttributes+1]&attrLogAppendTime != 0 }

// IsTransactional reports whether the batch is part of a transaction, or is the marker that ends one (KIP-98).
func (b Batch) IsTransactional() bool { return b[posAttributes+1]&attrTransactional != 0 }

// IsControl reports whether the batch is a broker's marker, which consumers never see (KIP-98).
func (b Batch) IsControl() bool { return b[posAttributes+1]&attrControl != 0 }

// HasDeleteHorizon reports whether BaseTimestamp is the time from which compaction may drop tombstones (KIP-534).
func (b Batch) HasDeleteHorizon() bool { return b[posAttributes+1]&attrDeleteHorizon != 0 }

// DeleteHorizon is the time in ms from which compaction may drop the batch's tombstones, if it has one.
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	if !b.HasDeleteHorizon() {
		return NoTimestamp, false
	}
	return b.BaseTimestamp(), true
}

// Size is the whole batch's size in bytes as the header says; of a batch got from Next it is len(b).
func (b Batch) Size() int { return LogOverhead + int(int32(binary.BigEndian.Uint32(b[posLength:]))) }

// RecordsBytes is the size in bytes of the records as stored.
func (b Batch) RecordsBytes() int { return b.Size() - HeaderSize }

// Records are the bytes after the header: the records, compressed as Codec says. Empty for a view from HeaderOf.
func (b Batch) Records() []byte { return b[HeaderSize:] }

// HasProducerID reports whether an idempotent producer wrote the batch.
func (b Batch) HasProducerID() bool { return b.ProducerID() > NoProducerID }

// LastSequence is the last record's sequence number, or NoSequence. Kept by compaction even when that record is gone.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base < 0 {
		return NoSequence
	}
	return AddSequence(base, b.LastOffsetDelta())
}

// AddSequence is seq + n, where 0 follows the largest int32 (Kafka's DefaultRecordBatch.incrementSequence). Both must
// not be negative.
func AddSequence(seq, n int32) int32 {
	if seq > math.MaxInt32-n {
		return n - (math.MaxInt32 - seq) - 1
	}
	return seq + n
}

// String is Kafka's name of the codec in compression.type.
func (c Codec) String() string {
	switch c {
	case CodecProducer:
		return "producer"
	case CodecNone:
		return "none"
	case CodecGzip:
		return "gzip"
	case CodecSnappy:
		return "snappy"
	case CodecLZ4:
		return "lz4"
	case CodecZstd:
		return "zstd"
	}
	return fmt.Sprintf("codec(%d)", int8(c))
}
