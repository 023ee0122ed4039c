package batch

import (
	"encoding/binary"
	"fmt"
)

// ControlType is what a control record does (Kafka's ControlRecordType).
type ControlType int16

// The control records of data partitions.
const (
	ControlAbort  ControlType = 0
	ControlCommit ControlType = 1
)

// Marker ends a transaction in one partition (Kafka's EndTransactionMarker, KIP-98).
type Marker struct {
	Type             ControlType
	CoordinatorEpoch int32
}

// controlVersion is that of the key and the value that are written here; higher ones only add fields.
const controlVersion = 0

// Batch is a control batch with the one marker, for the producer whose transaction it ends. ms is its timestamp.
func (m Marker) Batch(producerID int64, producerEpoch int16, ms int64) (Batch, error) {
	f := NewFields(0)
	f.Transactional, f.Control = true, true
	f.ProducerID, f.ProducerEpoch = producerID, producerEpoch
	var w Builder
	w.Reset(f)
	key := binary.BigEndian.AppendUint16(nil, controlVersion)
	key = binary.BigEndian.AppendUint16(key, uint16(m.Type))
	value := binary.BigEndian.AppendUint16(nil, controlVersion)
	value = binary.BigEndian.AppendUint32(value, uint32(m.CoordinatorEpoch))
	w.Append(Record{Timestamp: ms, Key: key, Value: value})
	return w.Build()
}

// ParseMarker reads the record of a control batch. ok is false for control records that are not a transaction's end,
// which are to be skipped. Errors: ErrInvalid.
func ParseMarker(r Record) (m Marker, ok bool, err error) {
	if len(r.Key) < 4 {
		return Marker{}, false, invalidf("control record at offset %d has a key of %d bytes, expected 4", r.Offset, len(r.Key))
	}
	m.Type = ControlType(binary.BigEndian.Uint16(r.Key[2:]))
	if m.Type != ControlAbort && m.Type != ControlCommit {
		return Marker{}, false, nil
	}
	if len(r.Value) < 6 {
		return Marker{}, false, invalidf("%v marker at offset %d has a value of %d bytes, expected 6", m.Type, r.Offset, len(r.Value))
	}
	m.CoordinatorEpoch = int32(binary.BigEndian.Uint32(r.Value[2:]))
	return m, true, nil
}

// String is Kafka's name of the type, in the lower case of our messages.
func (t ControlType) String() string {
	switch t {
	case ControlAbort:
		return "abort"
	case ControlCommit:
		return "commit"
	}
	return fmt.Sprintf("control(%d)", int16(t))
}
