package batch

import (
	"encoding/binary"
	"math"
)

// minLength is the smallest value of the length field: a header with no records, without the LogOverhead.
const minLength = HeaderSize - LogOverhead

// maxLength is the largest value of the length field: with it, the whole size still is an int on 32-bit machines. A
// segment, which has at most as many bytes, holds no larger batch.
const maxLength = math.MaxInt32 - LogOverhead

// PeekLen is how many bytes PeekSize needs in order to see the magic too.
const PeekLen = posMagic + 1

// Next splits the first whole batch off b. The batch and rest alias b; on an error rest is b.
//
// Errors: ErrTruncated (with the bytes needed), ErrMagic, ErrCorrupt. Only the header is judged here: see CheckCRC and
// Validate for the rest.
func Next(b []byte) (first Batch, rest []byte, err error) {
	size, err := PeekSize(b)
	if err != nil {
		return nil, b, err
	}
	if size > len(b) {
		return nil, b, &TruncatedError{Have: len(b), Need: size}
	}
	first = Batch(b[:size:size])
	if err := first.checkHeader(); err != nil {
		return nil, b, err
	}
	return first, b[size:], nil
}

// PeekSize is the whole size in bytes of the batch that begins at b, from its first LogOverhead bytes; given PeekLen
// bytes or more it checks the magic first. The size is what the bytes claim: bound it before reading or allocating.
func PeekSize(b []byte) (int, error) {
	if len(b) < LogOverhead {
		return 0, &TruncatedError{Have: len(b), Need: LogOverhead}
	}
	if len(b) >= PeekLen && b[posMagic] != 2 {
		return 0, &MagicError{Magic: int8(b[posMagic])}
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < minLength {
		return 0, corruptf("length is %d, expected at least %d", length, minLength)
	}
	if length > maxLength {
		return 0, corruptf("length is %d, expected at most %d", length, maxLength)
	}
	return LogOverhead + int(length), nil
}

// HeaderOf is a view of only the header of the batch that begins at b, for scans that skip the records. Everything
// that reads header fields works on it; Records, CheckCRC, Validate and iteration do not. Errors are those of Next.
func HeaderOf(b []byte) (Batch, error) {
	if _, err := PeekSize(b); err != nil {
		return nil, err
	}
	if len(b) < HeaderSize {
		return nil, &TruncatedError{Have: len(b), Need: HeaderSize}
	}
	header := Batch(b[:HeaderSize:HeaderSize])
	if err := header.checkHeader(); err != nil {
		return nil, err
	}
	return header, nil
}

// checkHeader refuses the fields that would make offsets or counts go backwards or overflow.
func (b Batch) checkHeader() error {
	switch base, delta, count := b.BaseOffset(), b.LastOffsetDelta(), b.Count(); {
	case base < 0 || base > math.MaxInt64-math.MaxInt32-1:
		return corruptf("base offset is %d, expected 0 or more", base)
	case delta < 0:
		return corruptf("last offset delta is %d, expected 0 or more", delta)
	case count < 0:
		return corruptf("record count is %d, expected 0 or more", count)
	}
	return nil
}
