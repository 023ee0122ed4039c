package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// TestKeepLine: the line of counts follows what was acknowledged, and is gone in the end.
func TestKeepLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var sent tally
		stop := keepLine(&out, &sent)
		sent.add(&kgo.Record{Value: make([]byte, 1024)})
		time.Sleep(501 * time.Millisecond)
		sent.add(&kgo.Record{Value: make([]byte, 1024)})
		time.Sleep(500 * time.Millisecond)
		stop()
		want := "\r1 record, 1.0 KiB, 2/s, 2.0 KiB/s\x1b[K\r2 records, 2.0 KiB, 2/s, 2.0 KiB/s\x1b[K\r\x1b[K"
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestNoProgressWithoutATerminal: programs read what is not shown to a terminal.
func TestNoProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &app{Session: &session.Session{ErrOut: &out}}
		stop := a.showProgress(new(tally))
		time.Sleep(time.Minute)
		if stop(); out.Len() > 0 {
			t.Errorf("%q is shown", out.String())
		}
	})
}
