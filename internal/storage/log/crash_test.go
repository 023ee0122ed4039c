package log_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// script is one life of a log: appends, syncs, rolls, a truncation, deletions, a clean and an unclean reopening. Which is
// what, random decides.
type script struct {
	machine
	t    *testing.T
	rand *rand.Rand
	base vfs.FS
	// atLeast and atMost bound what a crash now must leave: all that was synced, nothing that was not written.
	atLeast, atMost batch.Offset
	startMost       batch.Offset
	// point and startPoint are what the checkpoints say: the recovery point and the start, perhaps of long ago.
	point, startPoint batch.Offset
}

func newScript(t *testing.T, seed uint64) *script {
	s := &script{t: t, rand: rand.New(rand.NewPCG(seed, 7))}
	s.machine = machine{fs: vfs.NewMem(), opts: defaults(), now: epoch0}
	s.base = s.fs
	s.opts.SegmentBytes = []int64{700, 2000, 9000}[s.rand.IntN(3)]
	s.opts.IndexInterval = []int{0, 200}[s.rand.IntN(2)]
	s.opts.Preallocate = s.rand.IntN(3) == 0
	s.opts.RetentionAge = -1
	return s
}

func (s *script) open(clean bool) error {
	l, err := log.Open(s.base, "topic-0", s.now, log.OpenOptions{
		Options: s.opts, Clean: clean, RecoveryPoint: s.synced, StartOffset: s.start,
	})
	if err == nil {
		s.l = l
	}
	return err
}

// step does one thing and keeps the twin and the bounds in step with it.
func (s *script) step() error {
	if s.rand.IntN(4) == 0 {
		s.point, s.startPoint = s.synced, s.start
	}
	switch n := s.rand.IntN(20); {
	case n < 11:
		return s.appendSome()
	case n < 15:
		end, err := s.l.Sync()
		if err == nil {
			s.synced, s.atLeast = end, end
		}
		return err
	case n < 16:
		return s.l.RollIfOld(s.now.Add(365 * 24 * time.Hour))
	case n < 17:
		return s.truncateSome()
	case n < 18:
		to := s.start + batch.Offset(s.rand.Int64N(int64(s.end-s.start)+1))
		s.startMost = to
		s.advance(to)
		return s.l.AdvanceStart(to)
	default:
		return s.reopenSome(n == 19)
	}
}

func (s *script) appendSome() error {
	var group []batch.Batch
	next := s.end
	for range 1 + s.rand.IntN(3) {
		if s.rand.IntN(8) == 0 {
			s.epoch++
		}
		b := mk(s.t, next, 1+s.rand.IntN(3), s.rand.IntN(200), s.epoch, s.now.UnixMilli())
		group = append(group, b)
		next = b.NextOffset()
	}
	for len(group) > 0 {
		n := s.l.Fit(group)
		s.atMost = group[n-1].NextOffset()
		s.batches = append(s.batches, group[:n]...)
		err := s.l.Append(s.now, group[:n])
		if err != nil {
			s.batches = s.batches[:len(s.batches)-n]
			return err
		}
		s.end = s.atMost
		group = group[n:]
	}
	return nil
}

func (s *script) truncateSome() error {
	to := s.end - batch.Offset(s.rand.Int64N(min(int64(s.end-s.start), 6)+1))
	if to == s.end {
		return nil
	}
	s.atLeast = min(s.atLeast, to)
	for _, b := range s.batches {
		if b.BaseOffset() < to && to < b.NextOffset() {
			s.atLeast = min(s.atLeast, b.BaseOffset())
		}
	}
	s.synced, s.point = s.atLeast, min(s.point, s.atLeast) // the caller's checkpoint goes first
	err := s.l.Truncate(to)
	if err == nil {
		s.truncate(to)
		s.atMost = s.end
	}
	return err
}

func (s *script) reopenSome(clean bool) error {
	err := s.l.Close(clean)
	if err != nil {
		return err
	}
	if clean {
		s.synced, s.atLeast = s.end, s.end
	}
	s.point, s.startPoint = s.synced, s.start
	return s.open(clean)
}

// survives opens what a crash left and checks it against the twin.
func (s *script) survives(disk *vfs.Mem) error {
	left := machine{model: s.model, fs: disk, opts: s.opts, now: s.now}
	left.batches = append([]batch.Batch(nil), s.batches...)
	l, err := log.Open(disk, "topic-0", s.now, log.OpenOptions{Options: s.opts, RecoveryPoint: s.point, StartOffset: s.startPoint})
	if err != nil {
		return err
	}
	defer func() { _ = l.Close(false) }()
	from := max(l.Start(), s.startMost)
	if end := l.End(); end < s.atLeast && s.atLeast > s.startMost || end > max(s.atMost, s.end, s.startMost) {
		return fmt.Errorf("log ends at %d, expected [%d, %d]: %+v", end, s.atLeast, s.atMost, l.Recovery())
	}
	if l.Start() > s.startMost && s.atLeast > s.startMost {
		return fmt.Errorf("log starts at %d, synced are [%d, %d)", l.Start(), s.startMost, s.atLeast)
	}
	if err := prefix(l, left.batches, from); err != nil {
		return fmt.Errorf("log [%d, %d), recovery point %d, %+v: %w", l.Start(), l.End(), s.point, l.Recovery(), err)
	}
	return nil
}

// prefix checks that l has, from an offset on, batches in order and nothing else, without a hole.
func prefix(l *log.Log, batches []batch.Batch, from batch.Offset) error {
	next := batch.Offset(-1)
	for len(batches) > 0 && batches[0].LastOffset() < from {
		batches = batches[1:]
	}
	err := l.Scan(from, func(h batch.Batch) error {
		if len(batches) == 0 || string(h) != string(batches[0][:batch.HeaderSize]) {
			return fmt.Errorf("unexpected batch [%d, %d)", h.BaseOffset(), h.NextOffset())
		}
		next, batches = batches[0].NextOffset(), batches[1:]
		return nil
	})
	if err != nil {
		return err
	}
	if next >= 0 && next != l.End() {
		return fmt.Errorf("last batch ends at %d, the log at %d", next, l.End())
	}
	return nil
}

func (s *script) run(steps int) error {
	if err := s.open(false); err != nil {
		return err
	}
	for range steps {
		if err := s.step(); err != nil {
			return err
		}
		s.now = s.now.Add(time.Second)
	}
	return s.l.Close(true)
}

// TestCrash cuts the power at every operation that changes the disk, in several ways each. OTTLA_CRASH_CYCLES says how many
// crashes to recover from.
func TestCrash(t *testing.T) {
	t.Parallel()
	cycles := int64(3000)
	if v, err := strconv.ParseInt(os.Getenv("OTTLA_CRASH_CYCLES"), 10, 64); err == nil {
		cycles = v
	}
	var done, torn int64
	for seed := uint64(1); done < cycles; seed++ {
		s := newScript(t, seed)
		dice := rand.New(rand.NewPCG(seed, 8))
		s.fs.OnOp(func(op vfs.Op) {
			for _, keep := range []int{0, 50, 100}[dice.IntN(3):] {
				disk := s.fs.CrashClone(vfs.CrashOptions{Keep: keep, Rand: rand.New(rand.NewPCG(dice.Uint64(), 9))})
				if err := s.survives(disk); err != nil {
					t.Fatalf("seed %d, %d percent left after operation %d, %v: %v", seed, keep, op.Seq, op, err)
				}
				done++
			}
		})
		if err := s.run(40); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		torn++
	}
	t.Logf("%d crashes in %d lives", done, torn)
}

// TestFaults fails every operation of a life once, in each way, and then looks at what is left.
func TestFaults(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 2; seed++ {
		for _, fault := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE, &vfs.ShortWriteError{N: 100, Err: syscall.ENOSPC}, &vfs.ShortWriteError{N: 70, Err: syscall.EIO}} {
			n := int64(1)
			for failOnce(t, seed, n, fault) {
				n++
			}
			if n < 100 {
				t.Errorf("seed %d: only %d operations", seed, n)
			}
		}
	}
}

// failOnce runs a life whose n-th operation fails; false says that it had fewer.
func failOnce(t *testing.T, seed uint64, n int64, fault error) bool {
	t.Helper()
	var hit atomic.Pointer[vfs.Op]
	inject := vfs.FailNth(n, func(op vfs.Op) bool { return op.Kind != vfs.OpClose }, fault)
	s := newScript(t, seed)
	s.base = vfs.Faulty(s.fs, func(op vfs.Op) error {
		err := inject(op)
		if err != nil {
			hit.Store(&op)
		}
		return err
	})
	err := s.run(25)
	op := hit.Load()
	if op == nil {
		if err != nil {
			t.Fatalf("seed %d without a fault: %v", seed, err)
		}
		return false
	}
	fail := func(format string, args ...any) {
		t.Fatalf("seed %d, operation %d (%v) failed with %v: %s", seed, n, *op, fault, fmt.Sprintf(format, args...))
	}
	if errors.Is(err, log.ErrNoSpace) && !errors.Is(err, log.ErrFailed) {
		// Cut back: the same offsets are used again.
		switch err := s.appendSome(); {
		case errors.Is(err, log.ErrClosed): // it was the last sync that found no descriptor
		case err != nil:
			fail("append after no space: %v", err)
		default:
			if _, err := s.l.Sync(); err != nil {
				fail("sync after no space: %v", err)
			}
			s.synced, s.atLeast = s.end, s.end
		}
	}
	if errors.Is(err, log.ErrFailed) {
		if err := s.appendSome(); !errors.Is(err, log.ErrFailed) {
			fail("append after a final error: %v", err)
		}
		if _, err := s.l.Sync(); !errors.Is(err, log.ErrFailed) {
			fail("sync after a final error: %v", err)
		}
	}
	for _, keep := range []int{0, 50, 100} {
		disk := s.fs.CrashClone(vfs.CrashOptions{Keep: keep, Rand: rand.New(rand.NewPCG(seed, uint64(n)))})
		if err := s.survives(disk); err != nil {
			fail("%d percent left: %v", keep, err)
		}
	}
	return true
}
