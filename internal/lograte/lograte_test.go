package lograte

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lines counts the lines with text, and sums what they say was suppressed.
func lines(out *bytes.Buffer, text string) (n, suppressed int) {
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, text) {
			continue
		}
		n++
		if _, rest, ok := strings.Cut(line, "suppressed="); ok {
			more := 0
			_, _ = fmt.Sscan(rest, &more)
			suppressed += more
		}
	}
	return n, suppressed
}

// TestRate: each kind has its burst and then a line a second, and every line is written or counted.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil))).Logger()
		for range 10_000 { // 100 s
			l.Info("flood", slog.String("remote", "x"))
			time.Sleep(10 * time.Millisecond)
		}
		l.Info("calm")
		l.Warn("flood") // another level is another kind
		time.Sleep(2 * time.Second)
		l.With(slog.String("a", "b")).Info("flood") // a logger made from it shares its allowance
		if n, suppressed := lines(&out, "level=INFO msg=flood"); n < burst+95 || n > burst+105 || n+suppressed != 10_001 {
			t.Errorf("%d lines and %d suppressed, want about %d and together 10,001", n, suppressed, burst+100)
		}
		for _, text := range []string{"msg=calm", "level=WARN msg=flood"} {
			if n, suppressed := lines(&out, text); n != 1 || suppressed != 0 {
				t.Errorf("%s: %d lines, %d suppressed", text, n, suppressed)
			}
		}
	})
}

// TestReport: what was suppressed last is told though no more lines come.
func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		limiter := New(slog.New(slog.NewTextHandler(&out, nil)))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			limiter.Run(ctx)
		}()
		flood := func() {
			for range 100 {
				limiter.Logger().Warn("flood")
			}
		}
		flood()
		time.Sleep(2 * reportInterval) // one report: the second has nothing to tell
		flood()
		stop()
		<-done
		if n, suppressed := lines(&out, "flood"); n != 2*burst+2 || n-2+suppressed != 200 {
			t.Errorf("%d lines and %d suppressed, want %d and together 200\n%s", n, suppressed, 2*burst+2, out.String())
		}
	})
}

// TestKindsAreBounded: text that varies does not grow the memory, nor the log, without end.
func TestKindsAreBounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	limiter := New(slog.New(slog.NewTextHandler(&out, nil)))
	l := limiter.Logger()
	for i := range 10 * kindsMax {
		l.Info(fmt.Sprint("message ", i)) //nolint:sloglint // many messages are the test
	}
	if n := len(limiter.allowances.mu.kinds); n > kindsMax+1 {
		t.Errorf("%d kinds are kept", n)
	}
	if n, _ := lines(&out, "message"); n > kindsMax+burst+5 {
		t.Errorf("%d lines", n)
	}
}

// TestDebug: what a person asked for in full comes in full.
func TestDebug(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := New(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))).Logger()
	for range 100 {
		l.Debug("all")
	}
	if n, _ := lines(&out, "all"); n != 100 {
		t.Errorf("%d lines, want 100", n)
	}
	if New(slog.New(slog.NewTextHandler(&out, nil))).Logger().Enabled(t.Context(), slog.LevelDebug) {
		t.Error("the level of the logger behind is not asked")
	}
}
