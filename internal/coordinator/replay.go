package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// loadRead is how much of a log is read at a time.
const loadRead = 1 << 20

// replay applies the records of the shard's log to m, and counts them. It waits for records that are not committed yet: nobody writes here
// while the shard is loaded, so there is an end.
func (s *shard) replay(ctx context.Context, m *group.Machine) (*partition.Partition, int, error) {
	p, err := s.c.opts.Node.Partition(Topic, s.index)
	if err != nil {
		return nil, 0, err
	}
	w := partition.NewWaiter()
	defer p.Unwatch(w)
	r := replayer{machine: m}
	for at := p.Offsets().Start; ; {
		p.Watch(w)
		marks := p.Offsets()
		if at >= marks.End {
			return p, r.count, nil
		}
		next, err := r.read(p, at)
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange):
			next = p.Offsets().Start // it was compacted or cut meanwhile
		case err != nil:
			return nil, 0, err
		case next == at:
			next = max(at, marks.HighWatermark) // all that was there is compacted away
		}
		if next == at {
			if _, err := p.Await(marks.End); err != nil {
				return nil, 0, err
			}
			select {
			case <-w.C:
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			}
		}
		at = max(at, next)
	}
}

// replayer feeds a machine with a log.
type replayer struct {
	machine *group.Machine
	count   int
	buf     []byte
	cursor  batch.Cursor
	// open are transactions that have no end yet, by producer.
	open map[int64]*transaction
}

// transaction is the records of one, which count once it is committed: of each key, the last one.
type transaction struct {
	records []pending
	byKey   map[string]int
}

// pending is a record of a transaction; without a key, it counts no more.
type pending struct {
	offset     batch.Offset
	timestamp  int64
	key, value []byte
}

// read applies the batches from at on that one read gives, and returns the offset after them: at itself if there are none.
func (r *replayer) read(p *partition.Partition, at batch.Offset) (batch.Offset, error) {
	found, _, err := p.Read(partition.Fetch{Offset: at, LeaderEpoch: batch.NoEpoch, MaxBytes: loadRead, Whole: true})
	if err != nil {
		return at, err
	}
	defer found.Release()
	r.buf = slices.Grow(r.buf[:0], found.Len())[:found.Len()]
	if n, err := found.ReadAt(r.buf, 0); n < len(r.buf) && err != nil && !errors.Is(err, io.EOF) {
		return at, err
	}
	for from, rest := at, r.buf; len(rest) > 0; {
		b, after, err := batch.Next(rest)
		if errors.Is(err, batch.ErrTruncated) && at > from {
			break
		}
		if err == nil {
			err = b.CheckCRC()
		}
		if err == nil {
			err = r.apply(b, at)
		}
		if err != nil {
			return at, fmt.Errorf("replay the batch at offset %d: %w", at, err)
		}
		at, rest = b.NextOffset(), after
	}
	return at, nil
}

// apply applies the records of a batch from offset from on.
func (r *replayer) apply(b batch.Batch, from batch.Offset) error {
	err := r.cursor.Reset(b, batch.Limit{})
	for err == nil && r.cursor.Next() {
		rec := r.cursor.Record()
		switch {
		case rec.Offset < from:
			continue
		case b.IsControl():
			err = r.end(b.ProducerID(), rec)
		case b.IsTransactional():
			r.hold(b.ProducerID(), rec)
		default:
			err = r.take(pending{rec.Offset, rec.Timestamp, rec.Key, rec.Value})
		}
	}
	if err == nil {
		err = r.cursor.Err()
	}
	return err
}

// take applies a record that counts. A tombstone is for what open transactions have of its key, too (OffsetMetadataManager.replay).
func (r *replayer) take(rec pending) error {
	if rec.value == nil {
		for _, t := range r.open {
			t.forget(rec.key)
		}
	}
	r.count++
	if err := r.machine.Apply(rec.offset, rec.timestamp, rec.key, rec.value); err != nil {
		return fmt.Errorf("record at offset %d: %w", rec.offset, err)
	}
	return nil
}

// hold keeps a record of an open transaction: offsets that a Kafka broker's directory brought (TxnOffsetCommit).
func (r *replayer) hold(producerID int64, rec batch.Record) {
	t := r.open[producerID]
	if t == nil {
		if r.open == nil {
			r.open = make(map[int64]*transaction)
		}
		t = &transaction{byKey: make(map[string]int)}
		r.open[producerID] = t
	}
	held := pending{rec.Offset, rec.Timestamp, append([]byte{}, rec.Key...), bytes.Clone(rec.Value)}
	if i, ok := t.byKey[string(rec.Key)]; ok {
		t.records[i] = held
		return
	}
	t.byKey[string(rec.Key)] = len(t.records)
	t.records = append(t.records, held)
}

// forget gives up what the transaction has of key.
func (t *transaction) forget(key []byte) {
	if i, ok := t.byKey[string(key)]; ok {
		t.records[i] = pending{}
		delete(t.byKey, string(key))
	}
}

// end applies, or forgets, what a transaction wrote.
func (r *replayer) end(producerID int64, rec batch.Record) error {
	marker, ok, err := batch.ParseMarker(rec)
	if err != nil || !ok {
		return err
	}
	t := r.open[producerID]
	delete(r.open, producerID)
	if t == nil || marker.Type != batch.ControlCommit {
		return nil
	}
	for _, held := range t.records {
		if held.key == nil {
			continue
		}
		if err := r.take(held); err != nil {
			return err
		}
	}
	return nil
}
