package journal_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// world is some partitions over one journal, with a crash at every change of the disk.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	disk    *vfs.Mem
	journal *journal.Journal
	parts   []*part
	n       int // values written
	cycles  int
	turns   int
}

// crash recovers what a power cut would leave now, through a second one during the replay now and then.
func (w *world) crash(when string) (*vfs.Mem, []*part) {
	w.cycles++
	keep := []int{0, 0, 20, 50, 80, 100}[w.rng.IntN(6)]
	disk := w.disk.CrashClone(vfs.CrashOptions{Keep: keep, Rand: w.rng})
	if w.rng.IntN(3) == 0 {
		disk = w.crashReplay(disk)
	}
	report, err := journal.Replay(disk, topicOf(disk))
	if err != nil {
		w.t.Fatalf("%s: keep %d: %v", when, keep, err)
	}
	if len(report.Damaged) > 0 {
		w.t.Fatalf("%s: keep %d: whole journal called damaged: %v", when, keep, report.Damaged)
	}
	after := make([]*part, len(w.parts))
	for i, p := range w.parts {
		if after[i], err = p.check(disk, report.Restored); err != nil {
			w.t.Fatalf("%s: keep %d, replay %+v: %v", when, keep, report, err)
		}
	}
	return disk, after
}

// crashReplay replays disk and returns what a power cut at some moment of it leaves.
func (w *world) crashReplay(disk *vfs.Mem) *vfs.Mem {
	left := disk
	at, n := w.rng.IntN(12), 0
	var mu sync.Mutex // segments are synced several at a time
	disk.OnOp(func(vfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == at+1 {
			left = disk.CrashClone(vfs.CrashOptions{Keep: w.rng.IntN(101), Rand: w.rng})
		}
	})
	if _, err := journal.Replay(disk, topicOf(disk)); err != nil {
		w.t.Fatal(err)
	}
	disk.OnOp(func(vfs.Op) {})
	return left
}

func (w *world) live(steps int) {
	w.journal = newJournal(w.disk, 24*journal.Block, w.rng.Uint64())
	openAll(w.t, w.disk, w.journal, w.parts)
	w.disk.OnOp(func(op vfs.Op) {
		if w.rng.IntN(2) == 0 {
			w.crash(op.String())
		}
	})
	if err := w.journal.Make(); err != nil {
		w.t.Fatal(err)
	}
	for range steps {
		was := w.journal.Generation()
		if err := w.step(); err != nil {
			w.t.Fatal(err)
		}
		if now := w.journal.Generation(); was > 0 && now > was {
			w.turns++
		}
	}
	w.disk.OnOp(func(vfs.Op) {})
}

func (w *world) step() error {
	p := w.parts[w.rng.IntN(len(w.parts))]
	switch w.rng.IntN(20) {
	case 0:
		return p.Settle()
	case 1:
		return w.truncate(p)
	case 2:
		p.point = p.log.RecoveryPoint()
		return nil
	case 3, 4, 5, 6:
		return w.journal.SettleOne()
	case 7:
		if err := p.Settle(); err != nil || len(p.history) == 0 {
			return err
		}
		p.start = p.history[w.rng.IntN(len(p.history))].base // checkpointed before, or what is deleted may be seen again
		return p.log.AdvanceStart(p.start)
	case 8:
		return w.journal.Turn()
	case 9:
		if w.rng.IntN(4) > 0 {
			return nil
		}
		if err := w.journal.Drain(); err != nil {
			return err
		}
		if _, err := w.disk.Stat(journal.File); err == nil {
			return errors.New("a drained journal is still there")
		}
		return w.journal.Make()
	}
	some := w.parts[:1+w.rng.IntN(len(w.parts))]
	for _, p := range some {
		if w.rng.IntN(3) > 0 {
			w.n++
			if err := p.append(value(w.rng, w.n)); err != nil {
				return err
			}
		}
	}
	return commit(w.journal, some)
}

func (w *world) truncate(p *part) error {
	if len(p.history) == 0 {
		return nil
	}
	i := w.rng.IntN(len(p.history))
	to := p.history[i].base
	if to <= p.log.Start() {
		return nil // what then is left is a question of the start's checkpoint alone
	}
	p.cutting = to
	p.point = min(p.point, to) // checkpointed before, as its callers must
	err := p.log.Truncate(to)
	if errors.Is(err, journal.ErrFull) { // to be tried again; nothing has changed
		p.cutting = -1
		return nil
	}
	p.history = p.history[:i]
	if err == nil && w.rng.IntN(4) == 0 {
		p.cutting, p.point = 0, 0
		if err = p.log.TruncateAll(to); err == nil {
			p.history = nil
		}
		if errors.Is(err, journal.ErrFull) {
			err = nil
		}
	}
	p.acked, p.cutting = min(p.acked, to), -1
	return err
}

// TestCrashes cuts the power at every other change of the disk while partitions append, roll, sync, truncate and use the journal round and
// round; after some of them it goes on with what was left.
func TestCrashes(t *testing.T) {
	t.Parallel()
	seeds := 24
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 7)), disk: vfs.NewMem(), parts: newParts(2 + seed%5)}
			for range 3 {
				w.live(60)
				w.disk, w.parts = w.crash("end of a life")
				for _, p := range w.parts {
					p.start, p.point = p.log.Start(), batch.Offset(0)
					if err := p.log.Close(false); err != nil {
						t.Fatal(err)
					}
				}
			}
			if w.turns < 3 {
				t.Errorf("the journal's halves changed %d times", w.turns)
			}
			t.Logf("%d crashes, %d changes of halves", w.cycles, w.turns)
		})
	}
}
