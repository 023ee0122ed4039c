package partition

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// client is one idempotent producer and what it was told.
type client struct {
	id       int64
	sequence int32      // of its next batch
	acked    []*Produce // in order
}

// workload drives a partition the way a few clients with acks=all do: groups of batches, retries, syncs, rolls.
type workload struct {
	t       *testing.T
	rand    *rand.Rand
	p       *Partition
	clients []*client
	flying  map[*client][]*Produce // sent, not acknowledged
	low     batch.Offset           // what DeleteRecords was asked to delete
	stopped bool
}

func newWorkload(t *testing.T, fs vfs.FS, seed uint64) *workload {
	w := &workload{t: t, rand: rand.New(rand.NewPCG(seed, 1)), flying: map[*client][]*Produce{}}
	for id := range int64(3) {
		w.clients = append(w.clients, &client{id: id})
	}
	w.p = openBriefly(t, fs, func(o *OpenOptions) { o.Log.SegmentBytes = 1500 })
	return w
}

// step appends one group, and syncs now and then.
func (w *workload) step() {
	var group []*Produce
	for range 1 + w.rand.IntN(4) {
		c := w.clients[w.rand.IntN(len(w.clients))]
		n := 1 + w.rand.Int32N(3)
		pr := from(c.id, 0, c.sequence, int(n)).produce(w.t)
		pr.End = 1 << 62
		group = append(group, pr)
		w.flying[c] = append(w.flying[c], pr)
		c.sequence += n
	}
	w.p.Append(start, group)
	for _, c := range w.clients { // what was refused is sent again, later
		i := slices.IndexFunc(w.flying[c], func(pr *Produce) bool { return pr.Err != nil })
		if i >= 0 {
			w.stopped = true
			c.sequence = batch.Batch(w.flying[c][i].Records).BaseSequence()
			w.flying[c] = w.flying[c][:i]
		}
	}
	if w.rand.IntN(3) == 0 && w.p.Sync() != nil {
		w.stopped = true
	}
	if marks := w.p.Offsets(); w.rand.IntN(6) == 0 {
		w.low = marks.Start + batch.Offset(w.rand.Int64N(int64(marks.HighWatermark-marks.Start)+1))
		if _, err := w.p.DeleteRecords(w.low); err != nil {
			w.stopped = true
		}
	}
	w.look()
}

// look takes the acknowledgements that may leave now.
func (w *workload) look() {
	for _, c := range w.clients {
		for len(w.flying[c]) > 0 {
			done, err := w.p.Await(w.flying[c][0].End)
			if !done || err != nil {
				break
			}
			c.acked, w.flying[c] = append(c.acked, w.flying[c][0]), w.flying[c][1:]
		}
	}
}

// crash is a disk after a power cut, and what the clients had been told by then.
type crash struct {
	fs    vfs.FS
	after vfs.Op
	acked [][]*Produce // of each client
	low   batch.Offset
}

func (w *workload) crash(fs *vfs.Mem, opts vfs.CrashOptions) crash {
	c := crash{fs: fs.CrashClone(opts), low: w.low}
	for _, client := range w.clients {
		c.acked = append(c.acked, client.acked)
	}
	return c
}

// verify opens what a crash left and checks that all that was acknowledged is there, once and in order, that
// duplicates are known and that sequences go on.
func (w *workload) verify(c crash) {
	t := w.t
	t.Helper()
	// The start is checkpointed before DeleteRecords; doc.go of storage/log says why it must be.
	p := openBriefly(t, c.fs, func(o *OpenOptions) { o.Log.SegmentBytes, o.StartOffset = 1500, c.low })
	defer p.Close(false)
	at := map[batch.Offset]batch.Batch{}
	next := batch.Offset(-1)
	sequences := map[int64]int32{}
	for _, b := range readAll(t, p) {
		want, known := sequences[b.ProducerID()]
		if next >= 0 && b.BaseOffset() != next || known && b.BaseSequence() != want {
			t.Fatalf("after %v: batch at %d of producer %d sequence %d, want offset %d sequence %d",
				c.after, b.BaseOffset(), b.ProducerID(), b.BaseSequence(), next, want)
		}
		at[b.BaseOffset()] = b
		next, sequences[b.ProducerID()] = b.NextOffset(), b.BaseSequence()+b.Count()
	}
	for i, client := range w.clients {
		acked := c.acked[i]
		for _, pr := range acked {
			if pr.End <= c.low {
				continue // deleted, perhaps
			}
			if b, ok := at[pr.Base]; !ok || b.ProducerID() != client.id || b.NextOffset() != pr.End {
				t.Fatalf("after %v: acknowledged [%d, %d) of producer %d is lost; the log ends at %d",
					c.after, pr.Base, pr.End, client.id, next)
			}
		}
		for _, pr := range acked[max(0, len(acked)-5):] {
			b := batch.Batch(pr.Records)
			again := appendAll(t, p, from(client.id, 0, b.BaseSequence(), int(b.Count())))[0]
			// More batches of this producer may have survived than were acknowledged, so old ones may be out of the window.
			if again.Err == nil && (!again.Duplicate || again.Base != pr.Base) && pr.End > c.low {
				t.Fatalf("retry of [%d, %d): %s", pr.Base, pr.End, describe(again))
			}
		}
		if next, known := sequences[client.id]; known {
			mustAppend(t, p, from(client.id, 0, next, 1))
		}
	}
	mustSync(t, p)
}

// TestCrash takes the power at every operation that changes the file system, keeping none, some, or all of what was
// not synced, and opens what is left: cases 21 to 25, as far as acknowledgements go. OTTLA_CRASH_CYCLES says how often.
func TestCrash(t *testing.T) {
	t.Parallel()
	want := 500
	if text := os.Getenv("OTTLA_CRASH_CYCLES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("OTTLA_CRASH_CYCLES=%q is not a number", text)
		}
		want = n
	}
	seed := uint64(0)
	for cycles := 0; cycles < want; seed++ {
		cycles += crashEverywhere(t, seed)
	}
	t.Logf("%d seeds", seed)
}

// crashEverywhere runs one workload and returns how many crashes it was good for.
func crashEverywhere(t *testing.T, seed uint64) (cycles int) {
	fs := newFS(t)
	w := newWorkload(t, fs, seed)
	var crashes []crash
	fs.OnOp(func(op vfs.Op) {
		w.look()
		for _, keep := range []int{0, 50, 100} {
			c := w.crash(fs, vfs.CrashOptions{Keep: keep, Rand: rand.New(rand.NewPCG(seed, uint64(cycles)))})
			c.after = op
			crashes = append(crashes, c)
			cycles++
		}
	})
	for range 25 {
		w.step()
		for _, c := range crashes {
			w.verify(c)
		}
		crashes = nil
	}
	if w.stopped || cycles < 100 {
		t.Fatalf("seed %d: stopped %t after %d crashes", seed, w.stopped, cycles)
	}
	if err := w.p.Close(false); err != nil {
		t.Fatal(err)
	}
	return cycles
}

// TestFaults fails every operation on the file system once, with an I/O error and with a full disk, and checks that
// nothing acknowledged is lost, here or after a crash.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE} {
		for n := int64(1); ; n++ {
			mem := newFS(t)
			var hit bool
			armed := false
			count := int64(0)
			fs := vfs.Faulty(mem, func(op vfs.Op) error {
				if armed && op.Mutates() {
					if count++; count == n {
						hit = true
						return fault
					}
				}
				return nil
			})
			w := newWorkload(t, fs, 9)
			armed = true
			for range 12 {
				w.step()
			}
			if errors.Is(fault, syscall.EIO) && w.stopped {
				if err := w.p.Close(true); err == nil {
					t.Errorf("operation %d: closed cleanly after %v", n, fault)
				}
			}
			w.verify(w.crash(mem, vfs.CrashOptions{}))
			if !hit {
				if n < 20 {
					t.Fatalf("only %d operations", n)
				}
				break
			}
		}
	}
}

// TestWantOfRoomLosesOnlyTheRefused: with the disk full for a while, in the middle of groups and rolls, later retries are accepted.
func TestWantOfRoomLosesOnlyTheRefused(t *testing.T) {
	t.Parallel()
	for n := int64(1); n < 30; n++ {
		mem := newFS(t)
		armed, count := false, int64(0)
		fs := vfs.Faulty(mem, func(op vfs.Op) error {
			room := op.Kind == vfs.OpWrite || op.Kind == vfs.OpCreate
			if armed && room && !strings.HasSuffix(op.Name, "index") {
				if count++; count >= n && count < n+3 {
					return syscall.ENOSPC
				}
			}
			return nil
		})
		p := openTest(t, fs, func(o *OpenOptions) { o.Log.SegmentBytes = 700 })
		armed = true
		for i := range int32(20) {
			for try := 0; ; try++ {
				pr := appendAll(t, p, from(1, 0, i*4, 4))[0]
				if pr.Err == nil {
					break
				}
				if try == 5 {
					t.Fatalf("fault %d, batch %d: %s", n, i, describe(pr))
				}
			}
		}
		mustSync(t, p)
		if got := len(readAll(t, p)); got != 20 {
			t.Fatalf("fault %d: %d batches, want 20", n, got)
		}
	}
}
