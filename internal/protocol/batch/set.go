package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// crc32.MakeTable returns the one shared table, which selects the processor's instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ComputeCRC is the CRC32C of everything from the attributes on.
func (b Batch) ComputeCRC() uint32 { return crc32.Checksum(b[posAttributes:], castagnoli) }

// CheckCRC is nil, or an ErrCorrupt that names both values.
func (b Batch) CheckCRC() error {
	if found, expected := b.ComputeCRC(), b.CRC(); found != expected {
		return corruptf("crc of %d bytes at offset %d is %08x, header says %08x", len(b), b.BaseOffset(), found, expected)
	}
	return nil
}

// SetBaseOffset changes the base offset in place; the CRC does not cover it.
func (b Batch) SetBaseOffset(o Offset) { binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(o)) }

// SetLeaderEpoch changes the leader epoch in place; the CRC does not cover it.
func (b Batch) SetLeaderEpoch(e Epoch) { binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(e)) }

// SetLogAppendTime makes ms the timestamp of every record, in place, and computes the CRC again.
func (b Batch) SetLogAppendTime(ms int64) {
	b[posAttributes+1] |= attrLogAppendTime
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(ms))
	b.setCRC()
}

// SetMaxTimestamp corrects the largest timestamp of a batch whose producer set its timestamps: in place, with the
// CRC, and only if it differs or the batch claims LogAppendTime, as Kafka's DefaultRecordBatch.setMaxTimestamp does.
func (b Batch) SetMaxTimestamp(ms int64) {
	if b.MaxTimestamp() == ms && !b.IsLogAppendTime() {
		return
	}
	b[posAttributes+1] &^= attrLogAppendTime
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(ms))
	b.setCRC()
}

func (b Batch) setCRC() { binary.BigEndian.PutUint32(b[posCRC:], b.ComputeCRC()) }
