package broker

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestHealthWithoutDescriptors: health says so when the process has no descriptor for its files in several looks, and is well again with
// the first one.
func TestHealthWithoutDescriptors(t *testing.T) {
	t.Parallel()
	var none atomic.Bool
	b, err := Open(t.Context(), options(vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if none.Load() && op.Kind == vfs.OpSpace {
			return syscall.EMFILE
		}
		return nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	none.Store(true)
	for range shutMax - 1 {
		b.space.check()
	}
	if err := b.Healthy(); err != nil {
		t.Errorf("after fewer looks: %v", err)
	}
	b.space.check()
	if err := b.Healthy(); err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("without descriptors, health says %v", err)
	}
	none.Store(false)
	b.space.check()
	if err := b.Healthy(); err != nil {
		t.Errorf("with descriptors again: %v", err)
	}
}

// TestHealthWhileASyncHangs: health names the partition whose sync does not return, and waits for nothing itself.
func TestHealthWhileASyncHangs(t *testing.T) {
	t.Parallel()
	var hold atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	opts := options(vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "a-0/") && hold.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
		return nil
	}))
	var ahead atomic.Int64
	opts.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	b := bring(t, opts)
	createTopic(t, b, "a", 1)
	p := touch(t, b, "a", 0)
	produce(t, p, "one")
	hold.Store(true)
	end, err := appendValue(p, "two")
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := b.Healthy(); err != nil {
		t.Errorf("while a sync is under way: %v", err)
	}
	ahead.Store(int64(2 * stallMax))
	if err := b.Healthy(); err == nil || !strings.Contains(err.Error(), "a-0") {
		t.Errorf("while a sync hangs, health says %v", err)
	}
	close(release)
	if err := await(p, end); err != nil {
		t.Fatal(err)
	}
	eventually(t, "health is well again", func() bool { return b.Healthy() == nil })
}
