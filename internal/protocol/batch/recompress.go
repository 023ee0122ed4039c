package batch

import (
	"encoding/binary"
	"math"
)

// Recompress is b with its records compressed by codec at level (see CheckLevel), in new memory; all header fields stay
// but codec, length and CRC. The limit bounds the decompression. It is what a broker-side compression.type does.
// Errors: ErrTooLarge, ErrInvalid.
func Recompress(b Batch, codec Codec, level int, limit Limit) (Batch, error) {
	records, err := Decompress(nil, b.Codec(), b.Records(), limit)
	if err != nil {
		return nil, err
	}
	out := make([]byte, HeaderSize, HeaderSize+len(records)+len(records)/8)
	copy(out, b)
	if out, err = Compress(out, codec, level, records); err != nil {
		return nil, err
	}
	if len(out) > math.MaxInt32 {
		return nil, invalidf("batch of %d bytes exceeds %d", len(out), math.MaxInt32)
	}
	re := Batch(out)
	binary.BigEndian.PutUint32(re[posLength:], uint32(len(re)-LogOverhead))
	re[posAttributes+1] = re[posAttributes+1]&^codecMask | byte(codec)
	re.setCRC()
	return re, nil
}
