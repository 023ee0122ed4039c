package wire

import (
	"encoding/binary"
	"fmt"
)

// Limits on one request body. Lengths alone do not bound what decoding takes: an array element of 3 bytes on the
// wire becomes a struct of 80, so that a frame of 10 MiB would decode to 200 MiB.
const (
	// MaxElements is the most array elements and tagged fields of one body, all arrays together. Kafka advises at
	// most 200,000 partitions in a cluster, and the largest honest request names each once.
	MaxElements = 1 << 18
	// freeCost is decoded size, in bytes, that is allowed whatever the size of the body.
	freeCost = 256 << 10
	// maxCostRatio bounds decoded bytes per byte of body above freeCost. Honest requests stay below 8: the worst
	// are topic names of a few letters.
	maxCostRatio = 16

	// answerCost is what the answer to one element of an array of structs takes, in bytes, beside the element: a struct of the
	// response, perhaps an error and a message. Above answerFree it is bounded by maxCostRatio too, decoded size and answers together:
	// a produce that names 200,000 partitions without records had some 80 MiB made of 2.
	answerCost = 160
	answerFree = 4 << 20
	// partitionAnswerCost is it for a bare number of a partition whose offset is asked for.
	partitionAnswerCost = 112

	// stringCost is a copied string's own overhead: rounding up to a size class, and a pointer when nullable.
	stringCost = 32
	// tagsCost is the map that kmsg makes for the unknown tagged fields of a struct, with room for tagsFree of them.
	tagsCost = 352
	tagsFree = 8
	// tagCost is each one more.
	tagCost = 128

	// stringMax is the longest string in bytes, whatever its encoding could hold: Kafka's generated readers refuse longer ones, and its
	// records have no room for them.
	stringMax = 1<<15 - 1
)

// skimmer walks a body by its layout without decoding it. After the first fault, reason is set, src is empty and
// every read gives zero, so that callers check once.
type skimmer struct {
	src      []byte
	version  int16
	flexible bool
	elements int
	cost     int
	answers  int
	reason   string
}

// fail records the first fault.
func (s *skimmer) fail(reason string) {
	if s.reason == "" {
		s.reason = reason
	}
	s.src = nil
}

// err is the fault as an error that names the request.
func (s *skimmer) err(h Header, part string) error {
	return fmt.Errorf("%w: %s v%d %s: %s", ErrMalformed, Name(h.Key), h.Version, part, s.reason)
}

// span takes the next n bytes.
func (s *skimmer) span(n int64, what string) []byte {
	if n < 0 || n > int64(len(s.src)) {
		if s.reason == "" {
			s.fail(fmt.Sprintf("%s of %d bytes where %d remain", what, n, len(s.src)))
		}
		return nil
	}
	b := s.src[:n:n]
	s.src = s.src[n:]
	return b
}

func (s *skimmer) int16() int16 {
	b := s.span(2, "length")
	if b == nil {
		return 0
	}
	return int16(binary.BigEndian.Uint16(b))
}

func (s *skimmer) int32() int32 {
	b := s.span(4, "length")
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

// uvarint reads an unsigned varint of at most 5 bytes and 32 bits.
func (s *skimmer) uvarint() uint32 {
	if len(s.src) > 0 && s.src[0] < 0x80 {
		v := s.src[0]
		s.src = s.src[1:]
		return uint32(v)
	}
	v, n := binary.Uvarint(s.src)
	if n <= 0 || n > 5 || v > 1<<32-1 {
		s.fail("broken varint")
		return 0
	}
	s.src = s.src[n:]
	return uint32(v)
}

// length reads a length: compact in flexible versions, else of two bytes (strings) or four. Null is -1.
func (s *skimmer) length(short bool) int64 {
	switch {
	case s.flexible:
		return int64(s.uvarint()) - 1
	case short:
		return int64(s.int16())
	default:
		return int64(s.int32())
	}
}

// run walks the whole body.
func (s *skimmer) run(l *layout) {
	s.cost = l.size
	allowed := freeCost + maxCostRatio*len(s.src)
	s.structure(l.fields)
	if s.reason == "" && s.cost > allowed {
		s.fail(fmt.Sprintf("decodes to %d bytes, allowed are %d for its size", s.cost, allowed))
	}
	if allowed += answerFree; s.reason == "" && s.cost+s.answers > allowed {
		s.fail(fmt.Sprintf("decodes to %d bytes, and its answers to %d, allowed are %d for its size", s.cost, s.answers, allowed))
	}
}

// structure walks one struct: its fields, then in flexible versions its tagged fields.
func (s *skimmer) structure(fields []field) {
	for i := range fields {
		f := &fields[i]
		if f.tag == untagged && s.version >= f.since && s.version <= f.until {
			s.field(f)
		}
	}
	if s.flexible {
		s.tags(fields)
	}
}

// field walks one field.
func (s *skimmer) field(f *field) {
	switch f.kind {
	case fixed:
		s.span(int64(f.size), "field")
	case text:
		s.text(f)
	case blob:
		if n := s.length(false); n >= 0 || !s.nullable(f) {
			s.span(n, "bytes")
		}
	case array:
		s.array(f)
	case inline:
		s.structure(f.elem)
	case optional:
		s.optional(f)
	}
}

// text walks a string.
func (s *skimmer) text(f *field) {
	n := s.length(true)
	if n < 0 && s.nullable(f) {
		return
	}
	if n > stringMax {
		s.fail(fmt.Sprintf("string of %d bytes, the limit is %d", n, stringMax))
		return
	}
	s.cost += roundedUp(len(s.span(n, "string"))) + stringCost
}

// array walks an array. An element takes at least a byte, so the count is checked before any is looked at.
func (s *skimmer) array(f *field) {
	n := s.length(false)
	if n < 0 && s.nullable(f) {
		return
	}
	if n < 0 || n > int64(len(s.src)) {
		s.fail(fmt.Sprintf("array of %d elements where %d bytes remain", n, len(s.src)))
		return
	}
	if !s.count(n) {
		return
	}
	s.cost += roundedUp(int(n) * f.size)
	s.answers += int(n) * f.answer
	if f.elem == nil {
		s.span(n*int64(f.size), "array")
		return
	}
	for ; n > 0 && s.reason == ""; n-- {
		s.element(f)
	}
}

// optional walks a struct that may be absent, which one byte tells: -1 or 1.
func (s *skimmer) optional(f *field) {
	b := s.span(1, "field")
	if len(b) == 0 || b[0] == 0xff {
		return
	}
	if b[0] > 0x7f {
		s.fail(fmt.Sprintf("presence byte %d, known are -1 and 1", int8(b[0])))
		return
	}
	s.cost += f.size
	s.structure(f.elem)
}

// roundedUp is what an allocation of n bytes takes at most: size classes waste an eighth.
func roundedUp(n int) int { return n + n/8 + 16 }

// element walks one element of an array of strings or structs.
func (s *skimmer) element(f *field) {
	if f.bare {
		s.field(&f.elem[0])
		return
	}
	s.structure(f.elem)
}

// nullable reports whether null is allowed for the field at this version.
func (s *skimmer) nullable(f *field) bool { return f.null != never && s.version >= f.null }

// count adds n to the elements seen and reports whether the body may go on.
func (s *skimmer) count(n int64) bool {
	s.elements += int(n)
	if s.elements > MaxElements {
		s.fail(fmt.Sprintf("more than %d elements", MaxElements))
		return false
	}
	return true
}

// tags walks a struct's tagged fields. Known ones are walked as their layout says; the rest are kept by kmsg in a map.
func (s *skimmer) tags(fields []field) {
	n := s.uvarint()
	if n == 0 || !s.count(int64(n)) {
		return
	}
	s.cost += tagsCost + tagCost*max(0, int(n)-tagsFree)
	for ; n > 0 && s.reason == ""; n-- {
		key := s.uvarint()
		value := s.span(int64(s.uvarint()), "tagged field")
		if f := s.tagged(fields, key); f != nil && s.reason == "" {
			s.inside(f, value)
		}
	}
}

// tagged finds the field with the tag.
func (s *skimmer) tagged(fields []field, tag uint32) *field {
	for i := range fields {
		if f := &fields[i]; f.tag != untagged && uint32(f.tag) == tag && s.version >= f.since && s.version <= f.until {
			return f
		}
	}
	return nil
}

// inside walks a known tagged field within its own bytes.
func (s *skimmer) inside(f *field, value []byte) {
	rest := s.src
	s.src = value
	s.field(f)
	if s.reason == "" {
		s.src = rest
	}
}
