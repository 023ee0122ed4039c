package api

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Audit writes what one request changes to the log: one INFO line for each topic, partition, setting,
// group, member or offset, with the client. Lines are written when the change is done. They are not
// sampled as other lines are: a request has at most auditLines of them and one more that counts the
// rest, and each is bounded by auditText.
type Audit struct {
	log           *slog.Logger
	rate          *auditRate // nil: none
	clientID      string
	remote        any
	lines, unsaid int
}

const (
	auditLines = 100 // of a request
	auditText  = 256 // bytes of a text that a client chose
)

// principal names every client until there is authentication, as Kafka does (KafkaPrincipal.ANONYMOUS).
const principal = "User:ANONYMOUS"

// Audit begins the lines of req. Line and Done are its only users' calls, from one goroutine; it keeps
// nothing of the frame.
func (a *API) Audit(req *Request) *Audit {
	return &Audit{log: a.log, clientID: string(req.ClientID), remote: req.Conn.Remote}
}

// AuditOften is Audit for changes that a client may make as often as it commits: all requests together
// may write 100 lines at once, and 10 in a second. The next line counts those that were left out.
func (a *API) AuditOften(req *Request) *Audit {
	t := a.Audit(req)
	t.rate = &a.often
	return t
}

// Line writes one change. Texts of attrs that a client chose go through AuditText.
func (t *Audit) Line(change string, attrs ...slog.Attr) {
	if t.lines == auditLines {
		t.unsaid++
		return
	}
	t.lines++
	if t.rate != nil {
		ok, left := t.rate.take(time.Now())
		if !ok {
			return
		}
		if left > 0 {
			attrs = append(attrs, slog.Int("left_out_before", left))
		}
	}
	t.write(change, attrs)
}

// Done counts the changes that had no line.
func (t *Audit) Done() {
	if t.unsaid > 0 {
		t.write("more changes by the same request", []slog.Attr{slog.Int("count", t.unsaid)})
	}
}

func (t *Audit) write(change string, attrs []slog.Attr) {
	client := []slog.Attr{
		slog.Bool("audit", true), slog.String("principal", principal),
		slog.String("client_id", AuditText(t.clientID)), slog.Any("remote", t.remote),
	}
	t.log.LogAttrs(context.Background(), slog.LevelInfo, change, append(client, attrs...)...) //nolint:sloglint // a constant of the caller
}

// AuditText cuts a text that a client chose. The log's handler quotes it where it has to.
func AuditText(s string) string {
	if len(s) <= auditText {
		return s
	}
	return strings.ToValidUTF8(s[:auditText], "") + "..."
}

// auditRate bounds lines in time.
type auditRate struct {
	mu struct {
		sync.Mutex
		used time.Duration // of the time that a line takes
		last time.Time
		left int // lines left out since the last one
	}
}

const (
	auditPause = 100 * time.Millisecond // a line, in the long run
	auditBurst = 100 * auditPause
)

// take asks for a line now. It reports how many were left out before it.
func (r *auditRate) take(now time.Time) (ok bool, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.used = max(r.mu.used-now.Sub(r.mu.last), 0)
	r.mu.last = now
	if r.mu.used+auditPause > auditBurst {
		r.mu.left++
		return false, 0
	}
	r.mu.used += auditPause
	left, r.mu.left = r.mu.left, 0
	return true, left
}
