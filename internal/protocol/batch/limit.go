package batch

import "math"

// Limit bounds what is read of one batch's records. A ratio is no bound: a megabyte of similar records may well come out of a few
// hundred bytes. Memory follows the window of the codec and the largest record that is held, see stream; the limit is for work.
// The zero value has the defaults below.
type Limit struct {
	Bytes  int64 // of all records together, uncompressed; 0: DefaultLimitBytes
	Record int   // of one record that is held in memory; 0: DefaultLimitRecord
}

const (
	// DefaultLimitBytes is the most that the length field of an uncompressed batch can say. Kafka cannot rebuild a larger
	// batch either, since its buffers have the same bound.
	DefaultLimitBytes = math.MaxInt32
	// DefaultLimitRecord is 64 times what Java's producer sends by default in one record (max.request.size).
	DefaultLimitRecord = 64 << 20
)

// orDefault returns the limit with its defaults in place of zeros.
func (l Limit) orDefault() Limit {
	if l.Bytes <= 0 {
		l.Bytes = DefaultLimitBytes
	}
	if l.Record <= 0 {
		l.Record = DefaultLimitRecord
	}
	return l
}
