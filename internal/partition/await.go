package partition

import "github.com/ottla-io/ottla/internal/protocol/batch"

// Await reports whether everything below end is committed: durable here if the topic says so, and below the high
// watermark. An error (*kerr.Error) says that it never will be known here. It takes no lock and never waits.
func (p *Partition) Await(end batch.Offset) (done bool, err error) {
	f := p.failure.Load() // first: what was committed before it is
	switch {
	case end <= batch.Offset(p.highWatermark.Load()):
		return true, nil
	case f != nil:
		return false, f.err
	}
	return false, nil
}
