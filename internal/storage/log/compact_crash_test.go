package log_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// dirtyLog is a log with some compacted and some dirty segments, transactions, idempotent producers and tombstones, all sealed
// and unsynced from the last pass on.
func dirtyLog(t testing.TB, fs vfs.FS) *kept {
	k := newKept(t, fs)
	fill := func(round int) {
		for i := range 14 {
			codec := codecs[i%len(codecs)]
			k.produce(t, codec, -1, false, fmt.Sprint("k", i%5), fmt.Sprint("u", round, i))
			switch i % 4 {
			case 0:
				k.produce(t, codec, 0, false, "a", "-k1", "c")
			case 1:
				k.produce(t, codec, 2, true, "k2", "t")
			case 2:
				k.end(t, 2, batch.ControlType(i/2%2))
			}
		}
		k.end(t, 2, batch.ControlAbort)
		k.epoch++
		k.seal(t)
	}
	fill(0)
	k.compact(t, k.l.End(), 1<<20)
	fill(1)
	larger := k.opts.Options
	larger.SegmentBytes = 2000 // several segments become one
	k.l.SetOptions(larger)
	return k
}

// named says in which case a test failed.
type named struct {
	tb
	name string
}

func (n named) Fatalf(format string, args ...any) {
	n.Helper()
	n.tb.Fatalf("%s: %s", n.name, fmt.Sprintf(format, args...))
}

// recovered checks the log that is left on fs: nothing below the synced offset is lost, and what was compacted away stays so.
func (k *kept) recovered(t tb, fs vfs.FS, name string, cleaned, synced, point batch.Offset) {
	t.Helper()
	t = named{t, name}
	opts := k.opts
	opts.Cleaned, opts.RecoveryPoint = cleaned, point
	l, err := log.Open(fs, "t-0", k.now, opts)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if l.End() < synced {
		t.Fatalf("the log ends at %d, %d was synced", l.End(), synced)
	}
	if synced == k.l.End() {
		k.check(t, l, k.l.End())
	} else {
		k.checkBelow(t, l, synced)
	}
	entries, err := fs.ReadDir("t-0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range entries {
		for _, suffix := range []string{".cleaned", ".swap", ".deleted"} {
			if strings.HasSuffix(e.Name(), suffix) {
				t.Fatalf("%s is left", e.Name())
			}
		}
	}
	if err := l.Append(k.now, []batch.Batch{mkKeyed(l.End())}); err != nil {
		t.Fatalf("append: %v", err)
	}
	if err := l.Close(false); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// checkBelow checks that the last record of each key below end is there, or a newer one.
func (k *kept) checkBelow(t tb, l *log.Log, end batch.Offset) {
	t.Helper()
	v := look(t, l)
	newest := map[string]batch.Offset{}
	for _, r := range v.records {
		newest[r.key] = max(newest[r.key], r.offset)
	}
	for _, r := range k.records {
		if r.offset < end && r.value != nil && (r.txn == nil || r.txn.ended && !r.txn.aborted) && newest[r.key] < r.offset {
			t.Fatalf("the newest record of key %s is %d, not %d", r.key, newest[r.key], r.offset)
		}
	}
}

func mkKeyed(base batch.Offset) batch.Batch {
	var w batch.Builder
	w.Reset(batch.NewFields(base))
	w.Append(batch.Record{Offset: base, Key: []byte("next"), Value: []byte("v")})
	b, err := w.Build()
	if err != nil {
		panic(err)
	}
	return bytes.Clone(b)
}

// TestCompactCrash cuts the power at each change that a pass makes to the file system.
func TestCompactCrash(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		for _, synced := range []bool{true, false} {
			mem := vfs.NewMem()
			k := dirtyLog(t, mem)
			durable := k.l.Cleaned()
			if synced {
				end, err := k.l.Sync()
				if err != nil {
					t.Fatal(err)
				}
				durable = end
			}
			cleaned := k.l.Cleaned()
			rnd := rand.New(rand.NewPCG(seed, 1))
			cycles := 0
			mem.OnOp(func(op vfs.Op) {
				for _, keep := range [][]int{{0, 70}, {30, 100}}[cycles/2%2] {
					name := fmt.Sprintf("seed %d, synced %v, keep %d, after %v", seed, synced, keep, op)
					point := []batch.Offset{0, durable}[rnd.IntN(2)]
					k.recovered(t, mem.CrashClone(vfs.CrashOptions{Keep: keep, Rand: rnd}), name, cleaned, durable, point)
					cycles++
				}
			})
			done := k.compact(t, k.l.End(), 1<<20)
			mem.OnOp(func(vfs.Op) {})
			if done.Replaced < 2*done.Segments || done.Segments < 2 || cycles < 100 {
				t.Fatalf("%d cycles, %+v", cycles, done)
			}
			k.recovered(t, mem.CrashClone(vfs.CrashOptions{}), "after the pass", k.l.Cleaned(), k.l.End(), k.l.End())
		}
	}
}

// TestCompactFaults fails each operation of a pass once.
func TestCompactFaults(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	k := dirtyLog(t, mem)
	if _, err := k.l.Sync(); err != nil {
		t.Fatal(err)
	}
	cleaned, end := k.l.Cleaned(), k.l.End()
	if err := k.l.Close(true); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); ; n++ {
		copied := *k
		copied.records = slices.Clone(k.records)
		for i := range copied.records { // whatever the pass gets done
			copied.records[i].cleaned = max(copied.records[i].cleaned, 1)
		}
		cause := []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE}[n%3]
		if failed := copied.fail(t, mem.CrashClone(vfs.CrashOptions{}), n, cause, cleaned, end); !failed {
			if n < 100 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
	}
}

// fail makes a pass on mem whose n-th operation fails; false if there are not so many.
func (k *kept) fail(t *testing.T, mem *vfs.Mem, n int64, cause error, cleaned, end batch.Offset) bool {
	t.Helper()
	armed, failed := false, vfs.Op{}
	inject := vfs.FailNth(n, func(_ vfs.Op) bool { return armed }, cause)
	opts := k.opts
	opts.Clean, opts.Cleaned = true, cleaned
	opts.SegmentBytes = 2000
	var err error
	k.l, err = log.Open(vfs.Faulty(mem, func(op vfs.Op) error {
		err := inject(op)
		if err != nil {
			failed = op
		}
		return err
	}), "t-0", k.now, opts)
	if err != nil {
		t.Fatal(err)
	}
	armed = true
	_, err = k.l.Compact(k.now, end, settings(), k.cleaner(1<<20))
	armed = false
	if failed.Kind == "" {
		return false
	}
	name := fmt.Sprintf("%v (%v), compact says %v", failed, cause, err)
	k.check(named{t, name}, k.l, end)
	final, room := errors.Is(err, log.ErrFailed), errors.Is(err, log.ErrNoSpace)
	if !spared(failed) && (err == nil || errors.Is(cause, syscall.ENOSPC) && final == room || errors.Is(cause, syscall.EIO) && !final) {
		t.Errorf("%s: final %v, for want of room %v", name, final, room)
	}
	if !final {
		if err := k.l.Append(k.now, []batch.Batch{mkKeyed(k.l.End())}); err != nil {
			t.Errorf("%s: append: %v", name, err)
		}
		if done, err := k.l.Compact(k.now, end, settings(), k.cleaner(1<<20)); err != nil || done.To != end {
			t.Errorf("%s: again: %+v, %v", name, done, err)
		}
		k.check(named{t, name}, k.l, k.l.Cleaned())
	}
	_ = k.l.Close(false)
	k.recovered(t, mem.CrashClone(vfs.CrashOptions{}), name, cleaned, end, end)
	return true
}

// spared are the operations whose failure may cost nothing or only the pass: reads, and all that has to do with the indexes, which
// the log can do without.
func spared(op vfs.Op) bool {
	return strings.Contains(op.Name, "index") ||
		slices.Contains([]vfs.Kind{vfs.OpRemove, vfs.OpClose, vfs.OpOpen, vfs.OpRead, vfs.OpSize}, op.Kind)
}

// TestCompactTrace shows the order of a swap's steps.
func TestCompactTrace(t *testing.T) {
	t.Parallel()
	var lines []string
	on := false
	fs := vfs.Trace(vfs.NewMem(), func(op vfs.Op) {
		if on && op.Mutates() && op.Err == nil {
			lines = append(lines, op.String())
		}
	})
	k := newKept(t, fs)
	for range 3 {
		k.produce(t, batch.CodecNone, -1, false, "a", "b")
		k.seal(t)
	}
	if _, err := k.l.Sync(); err != nil {
		t.Fatal(err)
	}
	on = true
	k.compact(t, k.l.End(), 1<<20)
	on = false
	const golden = "testdata/compact.trace"
	got := strings.Join(lines, "\n") + "\n"
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s says\n%s\na pass did\n%s", golden, want, got)
	}
}

// TestCompactLeftover crashes at each operation of a pass that follows one whose files could not be removed, on a full disk, and whose
// segments were deleted since: what is left of it must not be taken for a reason to undo the newer one.
func TestCompactLeftover(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	k := dirtyLog(t, mem)
	if _, err := k.l.Sync(); err != nil {
		t.Fatal(err)
	}
	cleaned, end := k.l.Cleaned(), k.l.End()
	if err := k.l.Close(true); err != nil {
		t.Fatal(err)
	}
	full := false
	fs := vfs.Faulty(mem, func(op vfs.Op) error {
		if full && (op.Kind == vfs.OpWrite || op.Kind == vfs.OpRename) {
			return syscall.ENOSPC
		}
		return nil
	})
	opts := k.opts
	opts.Clean, opts.Cleaned, opts.SegmentBytes = true, cleaned, 2000
	var err error
	if k.l, err = log.Open(fs, "t-0", k.now, opts); err != nil {
		t.Fatal(err)
	}
	full = true
	if _, err := k.l.Compact(k.now, end, settings(), k.cleaner(1<<20)); !errors.Is(err, log.ErrNoSpace) {
		t.Fatalf("compact on a full disk: %v", err)
	}
	full = false
	if err := k.l.AdvanceStart(logsBase(t, mem, 1)); err != nil {
		t.Fatal(err)
	}
	for i := range k.records { // whatever the pass gets done
		k.records[i].cleaned = max(k.records[i].cleaned, 1)
	}
	k.opts.StartOffset = k.l.Start()
	crashes := 0
	mem.OnOp(func(op vfs.Op) {
		if !op.Mutates() {
			return
		}
		crashes++
		copied := *k
		copied.recovered(t, mem.CrashClone(vfs.CrashOptions{}), fmt.Sprint("after ", op), cleaned, end, end)
	})
	if _, err := k.l.Compact(k.now, end, settings(), k.cleaner(1<<20)); err != nil {
		t.Fatal(err)
	}
	if crashes < 20 {
		t.Errorf("%d crashes only", crashes)
	}
}

// logsBase is the base offset of the i-th segment.
func logsBase(t *testing.T, fs vfs.FS, i int) batch.Offset { return batch.Offset(logs(t, fs)[i]) }
