package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// echo is how long after a signal another one counts as the same: a service manager and make, for example, both pass on what they are sent,
// and a broker must not take that for impatience. A command that is not a broker has less to lose, and a person hits Ctrl-C twice quickly.
const (
	echo       = time.Second
	clientEcho = 100 * time.Millisecond
)

// listen returns the signals that end a command, until stop is called. A hangup does too, unless it was ignored when the program started, as
// nohup has it. A closed pipe ends nothing by itself: the write to it fails, so that a member can leave its group and a broker goes on.
func listen() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return signals, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
	}
}

// ended is how a command ended.
type ended struct {
	code   int
	signal os.Signal // that ended it at once; otherwise nil
}

// supervise runs a command and passes signals on to it. The first one cancels its context, and a second one does not wait for it: what the
// command still has under way ends with the process. A broker waits for its own signals (see start), so they are only passed on.
func (a *app) supervise(ctx context.Context, signals <-chan os.Signal, run func(context.Context) int) ended {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pass := make(chan os.Signal, cap(signals))
	a.Interrupt = pass
	done := make(chan int, 1)
	go func() { done <- run(ctx) }()
	var first time.Time
	for {
		select {
		case code := <-done:
			return ended{code: code}
		case s := <-signals:
			select {
			case pass <- s:
			default: // the command has as many as it can want
			}
			if a.broker.Load() {
				continue
			}
			if first.IsZero() {
				first = time.Now()
				cancel(interrupted{s})
			} else if time.Since(first) >= clientEcho {
				return ended{code: codeOf(s), signal: s}
			}
		}
	}
}

// codeOf is the exit code of a command that a signal ended at once, as shells have it.
func codeOf(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitFailed
}

// interrupted is why a context ended: a signal came.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string { return "interrupted by a signal: " + i.signal.String() }

// inWords is what the command failed with, as a line for a person. The error of a broker in this process is printed as it
// is: a client's words would send the reader to that broker's log, which is empty.
func (a *app) inWords(ctx context.Context, err error) string {
	if by, ok := errors.AsType[interrupted](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		return fmt.Sprintf("%s; a change that was under way may have been made", by)
	}
	if own, ok := errors.AsType[ownError](err); ok {
		return own.Error()
	}
	return session.InWords(err, a.Seeds())
}
