package broker

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestFailedSyncIsFinal: after any failed sync of the directory the next one would say that all is well, though names and bytes of other
// partitions may be lost with it.
func TestFailedSyncIsFinal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault error
		fails func(vfs.Op) bool
		do    func(b *Broker)
	}{
		"the name of a new partition": {
			syscall.EIO,
			func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir && op.Name == "." },
			func(b *Broker) {
				if p, err := b.Partition("a", 1); err == nil {
					_, _ = appendValue(p, "new")
					_ = p.Sync()
				}
			},
		},
		"a checkpoint": {
			syscall.EIO,
			func(op vfs.Op) bool { return op.Kind == vfs.OpSync && op.Name == recoveryPointFile+".tmp" },
			func(b *Broker) { b.checkpoint() },
		},
		"the name of a checkpoint": {
			syscall.EIO,
			func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir && op.Name == "." },
			func(b *Broker) { b.checkpoint() },
		},
		"not a checkpoint on a full disk": {
			syscall.ENOSPC,
			func(op vfs.Op) bool { return op.Kind == vfs.OpWrite && op.Name == recoveryPointFile+".tmp" },
			func(b *Broker) { b.checkpoint() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var armed atomic.Bool
			b := bring(t, options(vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
				if armed.Load() && c.fails(op) {
					return c.fault
				}
				return nil
			})))
			createTopic(t, b, "a", 2)
			p := touch(t, b, "a", 0)
			produce(t, p, "one")
			armed.Store(true)
			c.do(b)
			armed.Store(false)
			_, err := appendValue(p, "two")
			final := !errors.Is(c.fault, syscall.ENOSPC)
			if (b.Healthy() != nil) != final || errors.Is(err, kerr.KafkaStorageError) != final {
				t.Errorf("health %v, append %v, want offline: %v", b.Healthy(), err, final)
			}
		})
	}
}
