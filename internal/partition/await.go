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

// Promised returns the offset below which every later request must find the records, once [Partition.Await] says that
// they are committed: the end of the log. With acks=1 the broker acknowledges a record before the sync that commits it,
// so until that sync returns, a reader that looks at once misses a record that its own client was promised.
//
// This holds while this replica alone is in sync: then only its own sync stands between a record and its readers. With
// more replicas in sync, acks=1 promises the leader's copy alone, as in Kafka, and the offset is the high watermark.
func (p *Partition) Promised() batch.Offset { return p.log.End() }
