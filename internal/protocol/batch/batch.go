package batch

import (
	"encoding/binary"
)

// Offset is a record's place in its partition's log. Never a byte position.
type Offset int64

// Epoch is a partition's leader epoch; NoEpoch where it is not known.
type Epoch int32

// NoEpoch stands for "no leader epoch known".
const NoEpoch Epoch = -1

// Batch is a view of exactly one whole record batch of magic 2; it never copies. Get one from Next.
// Layout: https://kafka.apache.org/documentation/#recordbatch (Kafka's DefaultRecordBatch).
type Batch []byte

// Sizes of the fixed parts, in bytes.
const (
	// LogOverhead is the base offset and the length field, which the length does not count.
	LogOverhead = 12
	// HeaderSize is all that stands before the records.
	HeaderSize = 61
)

// Positions of the header's fields.
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

// BaseOffset is the first record's offset.
func (b Batch) BaseOffset() Offset { return Offset(binary.BigEndian.Uint64(b[posBaseOffset:])) }

// LastOffset is the last record's offset (kept by compaction even when that record is gone).
func (b Batch) LastOffset() Offset { return b.BaseOffset() + Offset(b.LastOffsetDelta()) }

// NextOffset is the offset after the batch.
func (b Batch) NextOffset() Offset { return b.LastOffset() + 1 }

// LeaderEpoch is the epoch of the leader that appended the batch.
func (b Batch) LeaderEpoch() Epoch { return Epoch(binary.BigEndian.Uint32(b[posLeaderEpoch:])) }

// Magic is the format version.
func (b Batch) Magic() int8 { return int8(b[posMagic]) }

// CRC is the stored CRC32C of everything from the attributes on.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[posCRC:]) }

// LastOffsetDelta is LastOffset - BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return int32(binary.BigEndian.Uint32(b[posLastOffsetDelta:])) }

// BaseTimestamp is the first record's timestamp in ms, or the delete horizon if the attributes say so (KIP-534).
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posBaseTimestamp:])) }

// MaxTimestamp is the largest timestamp in ms.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])) }

// ProducerID is the idempotent producer's id, or -1.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[posProducerID:])) }

// ProducerEpoch is the idempotent producer's epoch, or -1.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[posProducerEpoch:])) }

// BaseSequence is the first record's sequence number, or -1.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[posBaseSequence:])) }

// Count is the number of records the header claims.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[posCount:])) }

// Codec is how a batch's records are compressed, by Kafka's attribute values.
type Codec int8

// The codecs. CodecProducer is a topic's setting "keep what the producer chose"; no batch has it.
const (
	CodecProducer Codec = -1
	CodecNone     Codec = 0
	CodecGzip     Codec = 1
	CodecSnappy   Codec = 2
	CodecLZ4      Codec = 3
	CodecZstd     Codec = 4
)
