package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// loaders is how many shards are loaded at a time.
const loaders = 2

// loadRetry is how long a shard waits whose log could not be replayed.
const loadRetry = 10 * time.Second

// loadQueue is the shards that wait to be loaded; none waits twice.
type loadQueue struct {
	more chan struct{} // has room for one
	mu   struct {
		sync.Mutex
		waiting []*shard
		// Of the loads since there last was none: those not finished, and what the others found.
		open           int
		began          time.Time
		shards, counts int
	}
}

func (q *loadQueue) add(s *shard) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.waiting = append(q.mu.waiting, s)
	if q.mu.open++; q.mu.open == 1 {
		q.mu.began, q.mu.shards, q.mu.counts = s.c.opts.Now(), 0, 0
	}
	q.wake()
}

// loaded notes that a load is over, which found that many records. If it was the last, it says so, once for all.
func (q *loadQueue) loaded(s *shard, records int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.open--
	q.mu.shards++
	q.mu.counts += records
	if q.mu.open == 0 && q.mu.counts > 0 {
		s.c.opts.Log.Info("consumer groups are loaded", slog.Int("partitions", q.mu.shards), slog.Int("records", q.mu.counts), slog.Duration("took", s.c.opts.Now().Sub(q.mu.began)))
	}
}

func (q *loadQueue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take is the next shard; nil when ctx ends.
func (q *loadQueue) take(ctx context.Context) *shard {
	for {
		if s := q.first(); s != nil {
			return s
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return nil
		}
	}
}

func (q *loadQueue) first() *shard {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mu.waiting) == 0 {
		return nil
	}
	s := q.mu.waiting[0]
	q.mu.waiting = q.mu.waiting[1:]
	if len(q.mu.waiting) > 0 {
		q.wake() // another loader
	}
	return s
}

// runLoader loads shards until ctx ends.
func (c *Coordinator) runLoader(ctx context.Context) {
	for {
		s := c.loads.take(ctx)
		if s == nil {
			return
		}
		s.load(ctx)
	}
}

// begin lets a new shard serve: at once if it has no log yet.
func (s *shard) begin() {
	if s.c.opts.Node.Stored(Topic, s.index) {
		s.c.loads.add(s)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state == loading {
		s.serveLocked(s.newMachine(), nil)
	}
}

// loadedMachine is a machine and the metadata that it has seen, while its log is replayed.
type loadedMachine struct {
	*group.Machine
	image *meta.Image
}

// newMachine makes the shard's machine, and shows it the metadata before anything else.
func (s *shard) newMachine() loadedMachine {
	opts := s.c.opts.Group
	opts.RecordMax = s.c.opts.Node.TopicOptions(Topic).MaxMessageBytes - batch.HeaderSize - recordOverhead
	m := loadedMachine{group.New(opts), s.c.opts.Node.Image()}
	m.Step(s.c.opts.Now(), group.NewImage{Image: m.image})
	return m
}

// serveLocked lets the shard serve with a machine that knows all of the log.
func (s *shard) serveLocked(m loadedMachine, p *partition.Partition) {
	s.mu.state, s.mu.machine, s.mu.p = active, m.Machine, p
	s.seen.Store(m.image)
	s.stepLocked(s.c.opts.Now(), group.Loaded{})
	if s.mu.state == active {
		s.seeLocked()
	}
}

// load replays the shard's log and lets it serve.
func (s *shard) load(ctx context.Context) {
	m := s.newMachine()
	p, n, err := s.replay(ctx, m.Machine)
	defer func() { s.c.loads.loaded(s, n) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.state == closed || ctx.Err() != nil:
		return
	case err != nil:
		s.c.opts.Log.Error("consumer groups cannot be loaded: it is tried again", slog.String("topic", Topic), slog.Any("partition", s.index), slog.Duration("after", loadRetry), slog.Any("err", err))
		s.mu.state = failed
		s.next.Store(s.c.opts.Now().Add(loadRetry).UnixNano())
		s.c.poke()
		return
	}
	s.serveLocked(m, p)
}

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
	// open are the records of transactions that have no end yet, by producer.
	open map[int64][]pending
}

// pending is a record that counts once its transaction is committed.
type pending struct {
	offset     batch.Offset
	timestamp  int64
	key, value []byte
}

// read applies the batches from at on that one read gives, and returns the offset after them: at itself if there are none yet.
func (r *replayer) read(p *partition.Partition, at batch.Offset) (batch.Offset, error) {
	found, _, err := p.Read(partition.Fetch{Offset: at, LeaderEpoch: batch.NoEpoch, MaxBytes: loadRead, Whole: true})
	if err != nil {
		return at, err
	}
	defer found.Release()
	if cap(r.buf) < found.Len() {
		r.buf = make([]byte, found.Len())
	}
	r.buf = r.buf[:found.Len()]
	if n, err := found.ReadAt(r.buf, 0); n < len(r.buf) && err != nil && !errors.Is(err, io.EOF) {
		return at, err
	}
	for rest := r.buf; ; {
		b, after, err := batch.Next(rest)
		if errors.Is(err, batch.ErrTruncated) {
			return at, nil
		}
		if err == nil {
			err = b.CheckCRC()
		}
		if err == nil {
			err = r.apply(b, at)
		}
		if err != nil {
			return at, fmt.Errorf("replay %s from offset %d: %w", p.ID(), at, err)
		}
		at, rest = b.NextOffset(), after
	}
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
			r.count++
			err = r.machine.Apply(rec.Offset, rec.Timestamp, rec.Key, rec.Value)
		}
	}
	if err == nil {
		err = r.cursor.Err()
	}
	return err
}

// hold keeps a record of an open transaction: offsets that a Kafka broker's directory brought (TxnOffsetCommit).
func (r *replayer) hold(producerID int64, rec batch.Record) {
	if r.open == nil {
		r.open = make(map[int64][]pending)
	}
	r.open[producerID] = append(r.open[producerID], pending{rec.Offset, rec.Timestamp, append([]byte(nil), rec.Key...), append([]byte(nil), rec.Value...)})
}

// end applies, or forgets, what a transaction wrote.
func (r *replayer) end(producerID int64, rec batch.Record) error {
	marker, ok, err := batch.ParseMarker(rec)
	if err != nil || !ok {
		return err
	}
	held := r.open[producerID]
	delete(r.open, producerID)
	if marker.Type != batch.ControlCommit {
		return nil
	}
	for _, p := range held {
		r.count++
		if err := r.machine.Apply(p.offset, p.timestamp, p.key, p.value); err != nil {
			return err
		}
	}
	return nil
}
