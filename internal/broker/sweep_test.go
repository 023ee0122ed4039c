package broker

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// answered is what a script was told before and after the fault.
type answered struct {
	topics  map[string]bool // exists (true) or was deleted (false)
	records map[string]string
}

// live runs a script that goes on after errors and notes what was acknowledged.
func live(t *testing.T, files vfs.FS) answered {
	a := answered{topics: map[string]bool{}, records: map[string]string{}}
	b, err := Open(t.Context(), options(files))
	if err != nil {
		return a
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Run(b.stopped)
	}()
	for _, name := range []string{"a", "b"} {
		results, err := b.CreateTopics(t.Context(), newTopics(name), false)
		if err != nil || results[0].Err != nil {
			continue
		}
		a.topics[name] = true
		p, err := b.Partition(name, 0)
		if err != nil {
			continue
		}
		for i := range 3 {
			end, err := appendValue(p, fmt.Sprintf("%s%d", name, i))
			if err == nil && await(p, end) == nil {
				a.records[name] += fmt.Sprintf("%s%d ", name, i)
			}
		}
	}
	if results, err := b.DeleteTopics(t.Context(), refs("b")); err == nil && results[0].Err == nil {
		a.topics["b"] = false
	} else {
		delete(a.topics, "b") // nobody knows
	}
	_ = b.Close()
	<-done
	return a
}

// TestEveryCallFailsOnce lets each file system call of a broker's life fail once, by a broken disk and by a full one. Nothing hangs, and
// what was acknowledged is there after a power cut.
func TestEveryCallFailsOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	live(t, vfs.Trace(vfs.NewMem(), func(vfs.Op) { calls.Add(1) }))
	if calls.Load() < 100 {
		t.Fatalf("a life has only %d calls", calls.Load())
	}
	for _, fault := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE} {
		for n := int64(1); n <= calls.Load(); n++ {
			var hit atomic.Pointer[vfs.Op]
			mem := vfs.NewMem()
			fail := vfs.FailNth(n, func(_ vfs.Op) bool { return true }, fault)
			a := live(t, vfs.Faulty(mem, func(op vfs.Op) error {
				err := fail(op)
				if err != nil {
					hit.Store(&op)
				}
				return err
			}))
			checkAnswered(t, fmt.Sprintf("%v at call %d (%v)", fault, n, hit.Load()), mem.CrashClone(vfs.CrashOptions{Keep: 0}), a)
		}
	}
}

func checkAnswered(t *testing.T, what string, files vfs.FS, a answered) {
	t.Helper()
	b, err := Open(t.Context(), options(files))
	if err != nil {
		t.Fatalf("%s: open again: %v", what, err)
	}
	defer b.Close()
	for name, exists := range a.topics {
		if got := b.Image().Topic(name) != nil; got != exists {
			t.Errorf("%s: topic %s is there: %v, want %v", what, name, got, exists)
		}
		if !exists {
			continue
		}
		p, err := b.Partition(name, 0)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		got := values(t, p) + " "
		rest := got
		for record := range strings.FieldsSeq(a.records[name]) {
			_, after, found := strings.Cut(rest, record+" ")
			if !found {
				t.Errorf("%s: topic %s has %q, acknowledged was %q", what, name, got, a.records[name])
				break
			}
			rest = after
		}
	}
}
