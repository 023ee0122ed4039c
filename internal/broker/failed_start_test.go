package broker

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestFailedStartSaysWhy fails each operation of a start in turn, in a new directory, after a clean stop and after a kill. A start that
// is not made up for says in one line which file it was, what was done to it, and what the system answered.
func TestFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func() *vfs.Mem{
		"new":    vfs.NewMem,
		"clean":  func() *vfs.Mem { return usedDir(t, true) },
		"killed": left(t),
	} {
		refused := 0
		for n := int64(1); ; n++ {
			var hit atomic.Pointer[vfs.Op]
			inject := vfs.FailNth(n, func(op vfs.Op) bool { return op.Kind != vfs.OpClose }, syscall.EIO)
			opts := journaled(vfs.Faulty(from(), func(op vfs.Op) error {
				err := inject(op)
				if err != nil {
					hit.Store(&op)
				}
				return err
			}))
			if name == "clean" {
				opts.NodeID = 5
			}
			b, err := Open(t.Context(), opts)
			if err == nil {
				if err := b.Close(); err != nil && hit.Load() == nil {
					t.Fatal(err)
				}
			}
			failed := hit.Load()
			if failed == nil || n > 1000 {
				break
			}
			if err == nil {
				continue // it could do without
			}
			refused++
			text := err.Error()
			if !errors.Is(err, syscall.EIO) || strings.Contains(text, "\n") || !strings.Contains(text, failed.Name) ||
				!strings.Contains(text, string(failed.Kind)) || !strings.Contains(text, syscall.EIO.Error()) {
				t.Errorf("%s: %s failed, and the start says: %q", name, failed, text)
			}
		}
		if refused < 20 {
			t.Errorf("%s: only %d starts failed", name, refused)
		}
	}
}
