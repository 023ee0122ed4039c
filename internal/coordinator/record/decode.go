package record

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// ErrMalformed marks a record that cannot be decoded.
var ErrMalformed = errors.New("malformed record of __consumer_offsets")

// The types of records that are kept here, which are the first two bytes of their keys (Kafka's CoordinatorRecordType).
const (
	typeLegacyOffset      = 0 // Kafka before 0.9 wrote it; what it means is the same
	typeOffset            = 1
	typeClassic           = 2
	typeConsumerGroup     = 3
	typeConsumerTopics    = 4
	typeConsumerMember    = 5
	typeTargetEpoch       = 6
	typeTargetAssignment  = 7
	typeCurrentAssignment = 8
	typeRegex             = 16
)

// Decode decodes a record; value is nil for a tombstone. Strings and bytes are copied. The error is an ErrMalformed.
func Decode(key, value []byte) (Entry, error) {
	d := decoder{key: reader{Reader: kbin.Reader{Src: key}}, value: value}
	kind := d.key.Int16()
	if !d.key.Ok() {
		return nil, fmt.Errorf("%w: a key of %d bytes has no type", ErrMalformed, len(key))
	}
	e := d.entry(kind)
	if e == nil {
		return Unknown{Type: kind, Raw: Record{Key: clone(key), Value: clone(value)}}, nil
	}
	if left := len(d.key.Src); !d.key.Ok() || left > 0 {
		return nil, fmt.Errorf("%w: type %d: a key of %d bytes: ends early, or %d bytes late", ErrMalformed, kind, len(key), left)
	}
	if d.err != nil {
		return nil, fmt.Errorf("%w: type %d: %w", ErrMalformed, kind, d.err)
	}
	return e, nil
}

// entry reads what is of kind; nil: it is not kept here.
func (d *decoder) entry(kind int16) Entry {
	switch kind {
	case typeLegacyOffset, typeOffset:
		return d.offset()
	case typeClassic:
		return d.classic()
	case typeConsumerGroup:
		return d.consumerGroup()
	case typeConsumerTopics:
		return d.consumerTopics()
	case typeConsumerMember:
		return d.consumerMember()
	case typeTargetEpoch:
		return d.targetEpoch()
	case typeTargetAssignment:
		return d.targetAssignment()
	case typeCurrentAssignment:
		return d.currentAssignment()
	case typeRegex:
		return d.regex()
	}
	return nil
}

// decoder is a record that is being decoded.
type decoder struct {
	key   reader
	value []byte
	err   error // of the value
}

// valueIn reads the value, nil of a tombstone: its version, at most newest and flexible from flexible on, and what read makes of the rest.
func valueIn[T any](d *decoder, newest, flexible int16, read func(r *reader, version int16) *T) *T {
	if d.value == nil {
		return nil
	}
	r := reader{Reader: kbin.Reader{Src: d.value}}
	version := r.Int16()
	if !r.Ok() || version < 0 || version > newest {
		d.err = fmt.Errorf("a value of %d bytes has version %d: known are 0 to %d", len(d.value), version, newest)
		return nil
	}
	r.flexible = version >= flexible
	v := read(&r, version)
	if left := len(r.Src); !r.Ok() || left > 0 {
		d.err = fmt.Errorf("a value of %d bytes of version %d: ends early, or %d bytes late", len(d.value), version, left)
	}
	return v
}

// keyOf begins a key.
func keyOf(kind int16, texts ...string) *writer {
	size := 2 + 4
	for _, s := range texts {
		size += 2 + len(s)
	}
	w := &writer{b: make([]byte, 0, size)}
	w.int16(kind)
	for _, s := range texts {
		w.text(s)
	}
	return w
}

// valueOf begins a value of about size bytes.
func valueOf(version int16, flexible bool, size int) *writer {
	w := &writer{b: make([]byte, 0, 2+size), flexible: flexible}
	w.int16(version)
	return w
}

// Record is the record as it was read.
func (e Unknown) Record() Record { return e.Raw }

// clone copies b; nil stays nil.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
