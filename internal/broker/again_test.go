package broker

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestFirstAppendAgain lets the first append to a new partition fail at each of its operations, for want of descriptors, and appends again,
// at once or after a stop: what is acknowledged then survives a power cut.
func TestFirstAppendAgain(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		for n := int64(1); appendAgain(t, n, stop); n++ {
			if n > 1000 {
				t.Fatal("there is no end of operations")
			}
		}
	}
}

// appendAgain fails the n-th operation; false if there are not so many.
func appendAgain(t *testing.T, n int64, stop bool) bool {
	t.Helper()
	mem := vfs.NewMem()
	var armed atomic.Bool
	inject := vfs.FailNth(n, func(op vfs.Op) bool { return armed.Load() && (strings.HasPrefix(op.Name, "a-0") || op.Name == ".") }, syscall.EMFILE)
	var hit atomic.Pointer[vfs.Op]
	b := bring(t, options(vfs.Faulty(mem, func(op vfs.Op) error {
		err := inject(op)
		if err != nil {
			hit.Store(&op)
		}
		return err
	})))
	createTopic(t, b, "a", 1)
	p := touch(t, b, "a", 0)
	armed.Store(true)
	_, err := appendValue(p, "first")
	armed.Store(false)
	failed := hit.Load()
	if failed == nil {
		if n < 9 {
			t.Fatalf("only %d operations", n)
		}
		return false
	}
	if err != nil && !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatal(err)
	}
	if stop {
		if err := b.Close(); err != nil {
			t.Fatalf("%v: close: %v", failed, err)
		}
		b = bring(t, options(mem))
	}
	produce(t, touch(t, b, "a", 0), "one")
	again := bring(t, options(mem.CrashClone(vfs.CrashOptions{})))
	if got := values(t, touch(t, again, "a", 0)); got != "one" && got != "first one" {
		t.Errorf("%v, stop %v: after a power cut: %q", failed, stop, got)
	}
	return true
}
