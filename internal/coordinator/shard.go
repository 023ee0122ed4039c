package coordinator

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// state is what a shard is.
type state int8

const (
	loading state = iota // answers COORDINATOR_LOAD_IN_PROGRESS
	active
	failed // its log cannot be replayed or written: COORDINATOR_NOT_AVAILABLE, until it is tried again
	closed // NOT_COORDINATOR
)

// shard is the groups of one partition.
type shard struct {
	c     *Coordinator
	index int32
	// next is when a tick is due: for the machine, or to load it.
	next alarm
	// seen is the metadata that the machine has seen.
	seen atomic.Pointer[meta.Image]

	mu struct {
		sync.Mutex
		state   state
		machine *group.Machine
		p       *partition.Partition  // nil until there is something to read or write
		calls   map[group.Token]*Call // that the machine has not answered
		served  time.Time             // when the machine began to serve
		trouble string                // why the log could not be replayed; it is told once
		builder batch.Builder
		produce []*partition.Produce // scratch
		counts  counts
	}
}

func newShard(c *Coordinator, index int32) *shard {
	s := &shard{c: c, index: index}
	s.mu.calls = make(map[group.Token]*Call)
	return s
}

// ask steps the machine with a call's input.
func (s *shard) ask(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.mu.state {
	case loading:
		call.fail(kerr.CoordinatorLoadInProgress)
	case failed:
		call.fail(kerr.CoordinatorNotAvailable)
	case closed:
		call.fail(kerr.NotCoordinator)
	case active:
		s.seeLocked()
		if s.mu.state != active { // what it saw could not be written
			call.fail(kerr.NotCoordinator)
			return
		}
		s.mu.calls[group.TokenOf(call.in)] = call
		s.stepLocked(s.c.opts.Now(), call.in)
	}
}

// tick steps the machine if its time has come, or with new metadata.
func (s *shard) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state == failed && !s.next.time().After(now) {
		s.loadLocked()
	}
	if s.mu.state != active {
		return
	}
	s.seeLocked()
	for s.mu.state == active {
		next := s.mu.machine.Next()
		if next.IsZero() || next.After(now) {
			return
		}
		s.stepLocked(now, group.Tick{})
	}
}

// seeLocked shows the machine the newest metadata.
func (s *shard) seeLocked() {
	if image := s.c.opts.Node.Image(); image != s.seen.Load() {
		s.seen.Store(image)
		s.stepLocked(s.c.opts.Now(), group.NewImage{Image: image})
	}
}

// stepLocked steps the machine, appends and applies its records, and answers.
func (s *shard) stepLocked(now time.Time, in group.Input) {
	effects := s.mu.machine.Step(now, in)
	end, err := s.writeLocked(now, effects.Records)
	switch {
	case err == nil:
		s.countLocked(in, effects)
		for _, r := range effects.Replies {
			s.answerLocked(r, max(r.Wait, end))
		}
	case effects.Retractable:
		for _, r := range effects.Replies {
			if call := s.takeLocked(r.Token); call != nil {
				call.fail(unwritten(err))
			}
		}
	default:
		s.reloadLocked(err)
		return
	}
	for _, r := range effects.Rebalances {
		s.rebalancedLocked(r)
	}
	s.scheduleLocked()
}

// scheduleLocked tells Run if the machine wants to be stepped earlier than it knows.
func (s *shard) scheduleLocked() {
	if s.next.set(s.mu.machine.Next()) {
		s.c.poke()
	}
}

// takeLocked is the call with that token, which is then answered; nil if nobody waits for it.
func (s *shard) takeLocked(t group.Token) *Call {
	call := s.mu.calls[t]
	delete(s.mu.calls, t)
	return call
}

func (s *shard) answerLocked(r group.Reply, wait batch.Offset) {
	if call := s.takeLocked(r.Token); call != nil {
		call.settle(r.Result, s.mu.p, wait)
	}
}

// writeLocked appends records, as one batch if they fit one, and applies them. end is that of the log then, or 0 without records.
func (s *shard) writeLocked(now time.Time, records []record.Record) (end batch.Offset, err error) {
	if len(records) == 0 {
		return 0, nil
	}
	if s.mu.p == nil {
		if s.mu.p, err = s.c.opts.Node.Partition(Topic, s.index); err != nil {
			s.mu.p = nil
			return 0, err
		}
	}
	limit := s.c.batchMax()
	for rest := records; len(rest) > 0; {
		n, err := s.appendLocked(now, rest, limit)
		if err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return s.mu.p.Offsets().End, nil
}

// appendLocked appends as many of records as fit one batch, applies them, and returns how many these are.
func (s *shard) appendLocked(now time.Time, records []record.Record, limit int) (n int, err error) {
	w := &s.mu.builder
	w.Reset(batch.NewFields(0))
	for _, r := range records {
		if n > 0 && w.Size()+len(r.Key)+len(r.Value)+recordOverhead > limit {
			break
		}
		w.Append(batch.Record{Offset: batch.Offset(n), Timestamp: now.UnixMilli(), Key: r.Key, Value: r.Value})
		n++
	}
	built, err := w.Build()
	if err != nil {
		return 0, fmt.Errorf("build a batch for %s: %w", s.mu.p.ID(), err)
	}
	pr := partition.Produce{Records: built, Internal: true}
	s.mu.produce = append(s.mu.produce[:0], &pr)
	s.mu.p.Append(now, s.mu.produce)
	if pr.Err != nil {
		return 0, pr.Err
	}
	for i, r := range records[:n] {
		if err := s.mu.machine.Apply(pr.Base+batch.Offset(i), now.UnixMilli(), r.Key, r.Value); err != nil {
			return 0, fmt.Errorf("apply what was written to %s at offset %d: %w", s.mu.p.ID(), pr.Base+batch.Offset(i), err)
		}
	}
	return n, nil
}

// batchMax is the most bytes of a batch.
func (c *Coordinator) batchMax() int {
	opts := c.opts.Node.TopicOptions(Topic)
	return int(min(int64(opts.MaxMessageBytes), opts.Log.SegmentBytes))
}

// recordOverhead is more than a record takes in a batch beside its key and value.
const recordOverhead = 64

// unwritten is what a client is told when a record could not be written, or was written and is not known to be committed
// (GroupCoordinatorService.handleOperationException): who is refused by a full or broken disk asks for the coordinator again.
func unwritten(err error) error {
	for _, seen := range []struct{ is, as *kerr.Error }{
		{kerr.KafkaStorageError, kerr.NotCoordinator},
		{kerr.NotLeaderForPartition, kerr.NotCoordinator},
		{kerr.UnknownTopicOrPartition, kerr.CoordinatorNotAvailable},
		{kerr.NotEnoughReplicas, kerr.CoordinatorNotAvailable},
		{kerr.NotEnoughReplicasAfterAppend, kerr.CoordinatorNotAvailable},
		{kerr.RequestTimedOut, kerr.CoordinatorNotAvailable},
	} {
		if errors.Is(err, seen.is) {
			return fmt.Errorf("%w: %w", seen.as, err)
		}
	}
	return fmt.Errorf("%w: %w", kerr.UnknownServerError, err)
}

// reloadPause is the least time from one load of a shard to the next, where nothing can be written for a while.
const reloadPause = time.Second

// reloadLocked throws the machine away after a failed append, and replays the log.
func (s *shard) reloadLocked(err error) {
	s.c.faults.Warn("cannot write what became of consumer groups: they are loaded again", slog.String("topic", Topic), slog.Any("partition", s.index), slog.Any("err", err))
	s.dropLocked(kerr.NotCoordinator)
	if again := s.mu.served.Add(reloadPause); again.After(s.c.opts.Now()) {
		s.restLocked(again)
		return
	}
	s.loadLocked()
}

// loadLocked has the shard loaded.
func (s *shard) loadLocked() {
	s.next.set(time.Time{})
	s.mu.state = loading
	s.c.loads.add(s)
}

// restLocked has the shard loaded later.
func (s *shard) restLocked(until time.Time) {
	s.mu.state = failed
	s.next.set(until)
	s.c.poke()
}

// dropLocked ends the machine; who waits is told err.
func (s *shard) dropLocked(err error) {
	s.mu.machine, s.mu.p = nil, nil
	s.next.set(time.Time{})
	s.seen.Store(nil)
	for token, call := range s.mu.calls {
		delete(s.mu.calls, token)
		call.fail(err)
	}
}

// close ends the shard for good.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(kerr.NotCoordinator)
	s.mu.state = closed
}
