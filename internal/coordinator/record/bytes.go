package record

import (
	"github.com/twmb/franz-go/pkg/kbin"
)

// StringMax is the longest string of a record in bytes: Kafka reads no longer one. Requests have no longer ones either (protocol/wire
// refuses them); a string that gets here nevertheless is cut, since a record that cannot be read would block its shard.
const StringMax = 1<<15 - 1

// writer appends fields in Kafka's encoding: the plain one, or the compact one of flexible versions (KIP-482).
type writer struct {
	b        []byte
	flexible bool
}

func (w *writer) int8(v int8)   { w.b = kbin.AppendInt8(w.b, v) }
func (w *writer) int16(v int16) { w.b = kbin.AppendInt16(w.b, v) }
func (w *writer) int32(v int32) { w.b = kbin.AppendInt32(w.b, v) }
func (w *writer) int64(v int64) { w.b = kbin.AppendInt64(w.b, v) }
func (w *writer) id(v [16]byte) { w.b = append(w.b, v[:]...) }
func (w *writer) uvarint(v int) { w.b = kbin.AppendUvarint(w.b, uint32(v)) }

func (w *writer) text(s string) {
	s = s[:min(len(s), StringMax)]
	if w.flexible {
		w.b = kbin.AppendCompactString(w.b, s)
		return
	}
	w.b = kbin.AppendString(w.b, s)
}

func (w *writer) nullableText(s *string) {
	switch {
	case s != nil:
		w.text(*s)
	case w.flexible:
		w.uvarint(0)
	default:
		w.int16(-1)
	}
}

func (w *writer) blob(b []byte) {
	if w.flexible {
		w.b = kbin.AppendCompactBytes(w.b, b)
		return
	}
	w.b = kbin.AppendBytes(w.b, b)
}

// count begins an array of n elements.
func (w *writer) count(n int) {
	if w.flexible {
		w.b = kbin.AppendCompactArrayLen(w.b, n)
		return
	}
	w.b = kbin.AppendArrayLen(w.b, n)
}

func (w *writer) texts(all []string) {
	w.count(len(all))
	for _, s := range all {
		w.text(s)
	}
}

func (w *writer) int32s(all []int32) {
	w.count(len(all))
	for _, v := range all {
		w.int32(v)
	}
}

// noTags ends a struct that has no tagged fields.
func (w *writer) noTags() { w.uvarint(0) }

// oneTag ends a struct with the one tagged field that any struct here has, tag 0.
func (w *writer) oneTag(write func(field *writer)) {
	field := writer{flexible: true}
	write(&field)
	w.uvarint(1)
	w.uvarint(0)
	w.uvarint(len(field.b))
	w.b = append(w.b, field.b...)
}

// reader takes fields in Kafka's encoding. After the first that is not there it is not Ok, and the rest are zero. What it returns
// keeps no reference to what it reads.
type reader struct {
	kbin.Reader
	flexible bool
}

// fail makes the reader not Ok.
func (r *reader) fail() { r.Span(-1) }

// size is a length that plain encoding has in 4 bytes; -1: null.
func (r *reader) size() int {
	if r.flexible {
		return int(r.Uvarint()) - 1
	}
	return int(r.Int32())
}

// length is the length of a string; -1: null.
func (r *reader) length() int {
	if !r.flexible {
		return int(r.Int16())
	}
	n := int(r.Uvarint()) - 1
	if n > StringMax {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) text() string { return string(r.Span(r.length())) }

func (r *reader) nullableText() *string {
	n := r.length()
	if n < 0 {
		return nil
	}
	s := string(r.Span(n))
	return &s
}

func (r *reader) blob() []byte { return append([]byte{}, r.Span(r.size())...) }

// nullableCount is the number of elements of an array, each of at least size bytes; -1: null.
func (r *reader) nullableCount(size int) int {
	n := r.size()
	if n > len(r.Src)/size {
		r.fail()
		return 0
	}
	return n
}

// count is the number of elements of an array that cannot be null.
func (r *reader) count(size int) int {
	n := r.nullableCount(size)
	if n < 0 {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) texts() []string {
	all := make([]string, r.count(1))
	for i := range all {
		all[i] = r.text()
	}
	return all
}

func (r *reader) int32s() []int32 { return r.int32sOf(r.count(4)) }

func (r *reader) nullableInt32s() []int32 {
	n := r.nullableCount(4)
	if n < 0 {
		return nil
	}
	return r.int32sOf(n)
}

func (r *reader) int32sOf(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = r.Int32()
	}
	return all
}

// tags reads the tagged fields that end a struct of a flexible version: tag 0 is read by read, if not nil; what a newer Kafka added is skipped.
func (r *reader) tags(read func(field *reader)) {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		tag, size := r.Uvarint(), r.Uvarint()
		field := reader{Reader: kbin.Reader{Src: r.Span(int(size))}, flexible: true}
		if tag != 0 || read == nil || !r.Ok() {
			continue
		}
		if read(&field); !field.Ok() || len(field.Src) > 0 {
			r.fail()
		}
	}
}
