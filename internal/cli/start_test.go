package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

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

// TestOwnErrors: what stops the broker of this process is said as it is, with file and cause. A client's words for the same code point to
// the broker's log.
func TestOwnErrors(t *testing.T) {
	t.Parallel()
	a := &app{Session: &session.Session{}}
	err := fmt.Errorf("register with the metadata log: %w: sync d/__cluster_metadata-0/0.log: %w", kerr.KafkaStorageError, syscall.EIO)
	for _, started := range []error{own(err), fmt.Errorf("start: %w", own(err))} {
		if got := a.inWords(t.Context(), started); !strings.Contains(got, "sync d/__cluster_metadata-0/0.log: input/output error") || strings.Contains(got, "log;") || strings.Contains(got, "see the") {
			t.Errorf("a failed start says %q", got)
		}
	}
	if got := a.inWords(t.Context(), err); !strings.Contains(got, "see the broker's log") {
		t.Errorf("a client's error says %q", got)
	}
	if own(nil) != nil {
		t.Error("no error is one")
	}
}
