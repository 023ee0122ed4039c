package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// Log is what a journal needs of the log it writes to (storage/log).
type Log interface {
	Append(now time.Time, group []batch.Batch) error
	Sync() (batch.Offset, error)
	Start() batch.Offset
	End() batch.Offset
	Read(from, limit batch.Offset, most int, whole bool) (log.Range, error)
	LatestEpoch() batch.Epoch
}

// readSize is how many bytes of the log a replay reads at once.
const readSize = 1 << 20

// Local is the journal of a lone node: what is synced is committed.
type Local struct {
	log   Log
	clock func() time.Time
	epoch batch.Epoch
	write batch.Builder
}

// NewLocal writes to l, at an epoch that does not go back behind the log's last.
func NewLocal(l Log, clock func() time.Time) *Local {
	return &Local{log: l, clock: clock, epoch: max(l.LatestEpoch(), 1)}
}

// End is the offset of the next record.
func (j *Local) End() batch.Offset { return j.log.End() }

// Commit appends records as one batch and syncs. A write that fails is refused, since the log cuts back to where it was; a sync that fails
// is final.
func (j *Local) Commit(_ context.Context, records [][]byte) (batch.Offset, error) {
	now := j.clock()
	base := j.log.End()
	fields := batch.NewFields(base)
	fields.LeaderEpoch = j.epoch
	j.write.Reset(fields)
	for i, value := range records {
		j.write.Append(batch.Record{Offset: base + batch.Offset(i), Timestamp: now.UnixMilli(), Value: value})
	}
	b, err := j.write.Build()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := j.log.Append(now, []batch.Batch{b}); err != nil {
		if j.log.End() != base {
			return 0, fmt.Errorf("append metadata at offset %d: %w", base, err)
		}
		return 0, fmt.Errorf("%w: append at offset %d: %w", ErrRefused, base, err)
	}
	if _, err := j.log.Sync(); err != nil {
		return 0, fmt.Errorf("sync metadata at offset %d: %w", base, err)
	}
	return base, nil
}

// Replay gives fn every record from offset from on. Batches are checked: a log of metadata is small, and nothing else checks it.
func (j *Local) Replay(from batch.Offset, fn func(batch.Offset, []byte) error) error {
	if start := j.log.Start(); from < start {
		return fmt.Errorf("the log starts at offset %d, but the newest snapshot that can be read ends at offset %d", start, from)
	}
	var (
		cursor batch.Cursor
		buffer []byte
	)
	for from < j.log.End() {
		var err error
		if buffer, err = j.read(buffer, from); err != nil {
			return err
		}
		next, err := replay(&cursor, buffer, from, fn)
		if err != nil {
			return err
		}
		if next == from {
			return fmt.Errorf("%w: no whole batch at metadata offset %d", batch.ErrCorrupt, from)
		}
		from = next
	}
	return nil
}

// read reads batches from offset from on into buffer, which may grow.
func (j *Local) read(buffer []byte, from batch.Offset) ([]byte, error) {
	r, err := j.log.Read(from, j.log.End(), readSize, true)
	if err != nil {
		return nil, fmt.Errorf("read metadata at offset %d: %w", from, err)
	}
	defer r.Release()
	if cap(buffer) < r.Len() {
		buffer = make([]byte, r.Len())
	}
	buffer = buffer[:r.Len()]
	if _, err := r.ReadAt(buffer, 0); err != nil {
		return nil, fmt.Errorf("read metadata at offset %d: %w", from, err)
	}
	return buffer, nil
}

// replay gives fn the records, from offset from on, of the whole batches in bytes, and returns the offset after them.
func replay(cursor *batch.Cursor, bytes []byte, from batch.Offset, fn func(batch.Offset, []byte) error) (batch.Offset, error) {
	for len(bytes) > 0 {
		b, rest, err := batch.Next(bytes)
		if errors.Is(err, batch.ErrTruncated) {
			return from, nil
		}
		if err == nil {
			err = b.CheckCRC()
		}
		if err == nil && b.BaseOffset() > from {
			err = fmt.Errorf("%w: a batch at offset %d follows", batch.ErrCorrupt, b.BaseOffset())
		}
		if err != nil {
			return from, fmt.Errorf("%s, offset %d: %w", topic.Dir(topic.ClusterMetadata, 0), from, err)
		}
		if from, err = replayBatch(cursor, b, from, fn); err != nil {
			return from, err
		}
		bytes = rest
	}
	return from, nil
}

func replayBatch(cursor *batch.Cursor, b batch.Batch, from batch.Offset, fn func(batch.Offset, []byte) error) (batch.Offset, error) {
	if b.IsControl() {
		if b.LastOffset() < from {
			return from, nil
		}
		return b.NextOffset(), fn(b.LastOffset(), nil)
	}
	err := cursor.Reset(b, batch.Limit{})
	for err == nil && cursor.Next() {
		if r := cursor.Record(); r.Offset >= from {
			err = fn(r.Offset, present(r.Value))
		}
	}
	if err == nil {
		err = cursor.Err()
	}
	return max(from, b.NextOffset()), err
}

// present is value, never nil: nil stands for a control record, and a record without a value is one that the decoder refuses.
func present(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
