package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
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
	opts.RecordMax = max(s.c.batchMax()-batch.HeaderSize-recordOverhead, 1) // 0 would be no bound
	m := loadedMachine{group.New(opts), s.c.opts.Node.Image()}
	m.Step(s.c.opts.Now(), group.NewImage{Image: m.image})
	return m
}

// unloadableLocked notes that the log cannot be replayed. It is told once, and again when it is for another reason.
func (s *shard) unloadableLocked(err error) {
	level := slog.LevelError
	if s.mu.trouble == err.Error() {
		level = slog.LevelDebug
	}
	s.mu.trouble = err.Error()
	next := "mend what the error names"
	switch {
	case errors.Is(err, record.ErrMalformed):
		next = "see ottla log dump --offsets of its directory; put back a sound copy of it, or set it aside and lose its groups' offsets"
	case errors.Is(err, batch.ErrCorrupt):
		next = "stop the broker and put back a sound copy of its directory; or have ottla log repair pass over what is damaged, and lose what it held of its groups"
	case errors.Is(err, kerr.KafkaStorageError):
		next = "mend the disk or the directory, then restart"
	}
	s.c.opts.Log.Log(context.Background(), level, "consumer groups cannot be loaded and are not served: it is tried again until it goes",
		slog.String("topic", Topic), slog.Any("partition", s.index), slog.Any("err", err), slog.Duration("every", loadRetry), slog.String("next", next))
	s.restLocked(s.c.opts.Now().Add(loadRetry))
}

// serveLocked lets the shard serve with a machine that knows all of the log.
func (s *shard) serveLocked(m loadedMachine, p *partition.Partition) {
	s.mu.state, s.mu.machine, s.mu.p, s.mu.served = active, m.Machine, p, s.c.opts.Now()
	s.seen.Store(m.image)
	s.stepLocked(s.c.opts.Now(), group.Loaded{})
	if s.mu.state == active {
		s.seeLocked()
	}
}

// waits reports whether the shard is still to be loaded.
func (s *shard) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.state == loading
}

// load replays the shard's log and lets it serve.
func (s *shard) load(ctx context.Context) {
	var n int
	defer func() { s.c.loads.loaded(s, n) }()
	if !s.waits() { // its topic was deleted before its turn came
		return
	}
	m := s.newMachine()
	p, n, err := s.replay(ctx, m.Machine)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.state == closed || ctx.Err() != nil:
		return
	case err != nil:
		s.unloadableLocked(err)
		return
	}
	s.mu.trouble = ""
	s.serveLocked(m, p)
}
