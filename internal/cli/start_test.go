package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// TestStopSignals: a signal that comes twice at once stops cleanly, a second one later does not wait.
func TestStopSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		again time.Duration // when the second signal comes
		clean bool
	}{
		{"an echo", time.Millisecond, true},
		{"a second signal", echo, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				a := &app{Session: &session.Session{Interrupt: signals}}
				time.AfterFunc(c.again, func() { signals <- syscall.SIGTERM })
				err := a.stop(func() error {
					time.Sleep(3 * echo)
					return nil
				})
				if (err == nil) != c.clean {
					t.Errorf("stop gave %v", err)
				}
				time.Sleep(3 * echo)
			})
		})
	}
}
