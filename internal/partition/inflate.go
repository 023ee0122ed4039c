package partition

import "github.com/ottla-io/ottla/internal/protocol/batch"

// Inflating bounds how many batches are decompressed at a time by all partitions that share it, and so their memory: about
// batch.FootprintUsual each, and what the codec's format allows for one (128 MiB of zstd). Nil bounds nothing.
type Inflating struct {
	places chan struct{}
	large  chan struct{} // the one place for a batch above batch.FootprintUsual
}

// NewInflating returns an Inflating for n batches at a time.
func NewInflating(n int) *Inflating {
	return &Inflating{places: make(chan struct{}, n), large: make(chan struct{}, 1)}
}

// Enter waits for a place to decompress b at, and returns what gives it back.
func (i *Inflating) Enter(b batch.Batch) (done func()) {
	if i == nil {
		return func() {}
	}
	large := b.Footprint() > batch.FootprintUsual
	if large { // it takes no other place while it waits for this one
		i.large <- struct{}{}
	}
	i.places <- struct{}{}
	return func() {
		<-i.places
		if large {
			<-i.large
		}
	}
}
