package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// sendfileMin is the smallest range, in bytes, that leaves by sendfile; smaller ones are read into the response, which then
// leaves in one write. Measured: at 64 KiB the two cost the same.
const sendfileMin = 64 << 10

// noOffsets stands for marks that are not told, as with every error.
var noOffsets = partition.Offsets{Start: -1, HighWatermark: -1, LastStable: -1, End: -1}

// read takes what the partitions have now and reports whether that is reason to answer before the deadline: enough bytes, an error, a
// divergence, or nothing to wait for (Kafka's ReplicaManager.fetchMessages); nor is there at the end of a segment that is not the last
// (DelayedFetch.tryComplete). settled is false while a partition has no more to read only because the sync of acknowledged
// records is under way, and nothing went wrong.
func (r *fetchReply) read() (enough, settled bool) {
	left, whole, got, missing := r.maxBytes, true, 0, 0
	settled, failed := true, false
	for i := range r.parts {
		p := &r.parts[i]
		p.take(min(left, p.wish.maxBytes), whole, r.isolation)
		if p.err != nil && p.partition != nil {
			p.err = r.api.closed(p.partition, r.header.Version >= 13, p.err)
		}
		switch {
		case isMissing(p.refused):
			missing++
		case p.err != nil || p.diverges:
			enough, failed = true, true
		case p.data.More():
			enough = true
		}
		if p.unsettled {
			settled = false
		}
		if n := p.data.Len(); n > 0 {
			whole = false
			got += n
			left = max(left-n, 0)
		}
	}
	return enough || got >= r.minBytes || missing == len(r.parts), settled || failed
}

// isMissing reports whether err says that there is no such partition (what Kafka's KafkaApis.handleFetchRequest finds before it reads).
func isMissing(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}

// take reads one partition.
func (p *fetchPart) take(maxBytes int, whole bool, iso partition.Isolation) {
	p.marks, p.diverges, p.unsettled = noOffsets, false, false
	if p.err = p.refused; p.err != nil || p.diverge() {
		return
	}
	p.data, p.marks, p.err = p.partition.Read(partition.Fetch{
		Offset:      p.wish.offset,
		LeaderEpoch: p.wish.leaderEpoch,
		MaxBytes:    maxBytes,
		Whole:       whole,
		Isolation:   iso,
	})
	p.unsettled = p.data.Len() < maxBytes && p.marks.HighWatermark < p.promised
	switch n := p.data.Len(); {
	case p.err != nil:
		p.fail(p.err)
	case !whole && n > 0 && n >= maxBytes:
		p.dropTorn()
	}
}

// diverge reports whether the client has read records that the log does not hold, which it tells by the epoch of the last one that it has
// (KIP-595; Kafka's Partition.readRecords).
func (p *fetchPart) diverge() bool {
	if p.wish.lastEpoch < 0 || p.partition.CheckEpoch(p.wish.leaderEpoch) != nil {
		return false
	}
	epoch, end := p.partition.EpochEnd(p.wish.lastEpoch)
	switch {
	case epoch < 0 || end < 0:
		p.err = refuse(kerr.OffsetOutOfRange, "no epoch at or below %d is known", p.wish.lastEpoch)
		return true
	case epoch < p.wish.lastEpoch || end < p.wish.offset:
		p.diverges, p.diverged = true, wire.EpochEnd{Epoch: epoch, End: end}
		p.marks = p.partition.Offsets()
		return true
	}
	return false
}

// dropTorn gives up a range that holds less than its first batch: a client cannot use it, and it would count against
// min bytes (Kafka's ReplicaManager.readFromLog, firstEntryIncomplete).
func (p *fetchPart) dropTorn() {
	var head [batch.LogOverhead]byte
	size := batch.LogOverhead
	if p.data.Len() >= size {
		if _, err := p.data.ReadAt(head[:], 0); err == nil {
			size = batch.Batch(head[:]).Size()
		}
	}
	if p.data.Len() < size {
		p.drop()
	}
}

// drop gives up the range.
func (p *fetchPart) drop() {
	p.data.Release()
	p.data = log.Range{}
}

// fail gives up what was read because of err.
func (p *fetchPart) fail(err error) {
	p.drop()
	p.err, p.marks = err, noOffsets
}
