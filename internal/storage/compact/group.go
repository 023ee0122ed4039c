package compact

import (
	"math"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Source is a segment that is to be compacted.
type Source struct {
	Base, Next   batch.Offset // its first offset, and the next segment's
	Bytes        int64
	Index, Times int64 // bytes of its indexes
}

// Group splits consecutive segments into runs that become one segment each: within maxBytes of log and maxIndex of each
// index, and with all relative offsets in 31 bits (KAFKA-5413, KAFKA-6264). It returns each run's length. A segment that is
// too large alone is a run (Kafka's Cleaner.groupSegmentsBySize).
func Group(sources []Source, maxBytes, maxIndex int64) (runs []int) {
	var sum Source
	n := 0
	for _, s := range sources {
		fits := sum.Bytes+s.Bytes <= maxBytes && sum.Index+s.Index <= maxIndex && sum.Times+s.Times <= maxIndex &&
			s.Next-1-sum.Base <= math.MaxInt32
		if n > 0 && !fits {
			runs = append(runs, n)
			n = 0
		}
		if n == 0 {
			sum = Source{Base: s.Base}
		}
		n++
		sum.Bytes, sum.Index, sum.Times = sum.Bytes+s.Bytes, sum.Index+s.Index, sum.Times+s.Times
	}
	if n > 0 {
		runs = append(runs, n)
	}
	return runs
}
