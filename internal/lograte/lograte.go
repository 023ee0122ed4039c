package lograte

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The allowance of a kind: burst lines at once, and one more for each interval.
const (
	burst    = 10
	interval = time.Second
	// kindsMax bounds the kinds with an allowance of their own.
	kindsMax = 256
)

// reportInterval is how often Run writes what was suppressed of kinds that have gone quiet.
const reportInterval = 10 * time.Second

// Limiter bounds the rate of each kind of line that its Logger writes.
type Limiter struct {
	plain      *slog.Logger
	allowances allowances
}

// New returns a limiter before l.
func New(l *slog.Logger) *Limiter { return &Limiter{plain: l} }

// Logger returns the logger whose lines are bounded. Debug lines all pass.
func (l *Limiter) Logger() *slog.Logger {
	return slog.New(&handler{next: l.plain.Handler(), allowances: &l.allowances})
}

// Run writes every reportInterval, and when ctx ends, how many lines were suppressed since the last line of their kind.
func (l *Limiter) Run(ctx context.Context) {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.report()
		case <-ctx.Done():
			l.report()
			return
		}
	}
}

func (l *Limiter) report() {
	for k, n := range l.allowances.reap() {
		l.plain.LogAttrs(context.Background(), k.level, "lines of a kind were suppressed", slog.String("kind", k.message), slog.Int("suppressed", n))
	}
}

// handler is a slog.Handler.
type handler struct {
	next       slog.Handler
	allowances *allowances
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.next.WithAttrs(attrs), h.allowances}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.allowances}
}

// Handle implements slog.Handler. Debug lines pass: a person has asked for all of them.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level <= slog.LevelDebug {
		return h.next.Handle(ctx, r)
	}
	suppressed, ok := h.allowances.pass(kind{r.Level, r.Message}, r.Time)
	if !ok {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", suppressed))
	}
	return h.next.Handle(ctx, r)
}

// kind is what lines have in common.
type kind struct {
	level   slog.Level
	message string
}

// allowances are what each kind may write.
type allowances struct {
	mu struct {
		sync.Mutex
		kinds map[kind]*allowance
	}
}

type allowance struct {
	full       time.Time // when the burst is whole again, if nothing is written
	suppressed int
}

// pass decides about a line of a kind at now, and returns how many were suppressed before it.
func (a *allowances) pass(k kind, now time.Time) (suppressed int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.ofLocked(k)
	if w.full.Before(now) {
		w.full = now
	}
	if w.full.Sub(now) > (burst-1)*interval {
		w.suppressed++
		return 0, false
	}
	w.full = w.full.Add(interval)
	suppressed, w.suppressed = w.suppressed, 0
	return suppressed, true
}

// reap returns what was suppressed of each kind since its last line.
func (a *allowances) reap() map[kind]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[kind]int)
	for k, w := range a.mu.kinds {
		if w.suppressed > 0 {
			all[k], w.suppressed = w.suppressed, 0
		}
	}
	return all
}

// ofLocked finds or makes a kind's allowance.
func (a *allowances) ofLocked(k kind) *allowance {
	if a.mu.kinds == nil {
		a.mu.kinds = make(map[kind]*allowance)
	}
	w := a.mu.kinds[k]
	if w == nil {
		if len(a.mu.kinds) >= kindsMax {
			k = kind{}
		}
		if w = a.mu.kinds[k]; w == nil {
			w = &allowance{}
			a.mu.kinds[k] = w
		}
	}
	return w
}
