package partition

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// CheckEpoch compares a client's leader epoch with this leader's: nil, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH
// (KIP-320).
func (p *Partition) CheckEpoch(epoch batch.Epoch) error {
	leads := p.LeaderEpoch()
	switch {
	case epoch == batch.NoEpoch || epoch == leads:
		return nil
	case epoch < leads:
		return fmt.Errorf("leader epoch %d of %s is older than %d: %w", epoch, p.id, leads, kerr.FencedLeaderEpoch)
	}
	return fmt.Errorf("leader epoch %d of %s is newer than %d: %w", epoch, p.id, leads, kerr.UnknownLeaderEpoch)
}

// FindTimestamp is log.FindTimestamp below what iso may see.
func (p *Partition) FindTimestamp(ts int64, iso Isolation) (log.TimestampOffset, bool, error) {
	if err := p.refusal(); err != nil {
		return log.TimestampOffset{}, false, err
	}
	found, ok, err := p.log.FindTimestamp(ts, p.Offsets().limit(iso))
	if err != nil {
		return log.TimestampOffset{}, false, p.readFailed(err)
	}
	return found, ok, nil
}

// MaxTimestamp is log.MaxTimestamp below what iso may see.
func (p *Partition) MaxTimestamp(iso Isolation) (log.TimestampOffset, bool, error) {
	if err := p.refusal(); err != nil {
		return log.TimestampOffset{}, false, err
	}
	found, ok, err := p.log.MaxTimestamp(p.Offsets().limit(iso))
	if err != nil {
		return log.TimestampOffset{}, false, p.readFailed(err)
	}
	return found, ok, nil
}

// EpochEnd answers OffsetForLeaderEpoch (KIP-101, KIP-279): the largest epoch at most the asked one and the offset
// where it ends. The epoch it leads at is known before it has a record, as in Kafka's epoch cache.
func (p *Partition) EpochEnd(epoch batch.Epoch) (batch.Epoch, batch.Offset) {
	return p.log.EpochEnd(epoch)
}

// EpochOf is the leader epoch of the record at offset, or NoEpoch.
func (p *Partition) EpochOf(offset batch.Offset) batch.Epoch { return p.log.EpochOf(offset) }
