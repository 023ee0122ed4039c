package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Change holds the flags of a command that changes something: --dry-run, and --yes where the change cannot be undone.
type Change struct {
	DryRun bool
	Yes    bool
	Final  bool // the change cannot be undone, so a person is asked first
}

// DryRunFlag adds --dry-run to cmd.
func (c *Change) DryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.DryRun, "dry-run", false, "show what would be done, and change nothing")
}

// FinalFlags adds --dry-run and --yes to cmd, and marks its change as one that cannot be undone.
func (c *Change) FinalFlags(cmd *cobra.Command) {
	c.Final = true
	c.DryRunFlag(cmd)
	cmd.Flags().BoolVarP(&c.Yes, "yes", "y", false, "do not ask first (without a terminal nothing is asked)")
}

// askMost is how many changes a question shows.
const askMost = 20

// dryRun is what a dry run writes with -o json.
type dryRun struct {
	DryRun bool     `json:"dryRun"`
	Would  []string `json:"would"`
}

// Proceed reports whether the change is to be made. Each of would completes the sentence "would ...", for example
// "delete topic orders with 3 partitions". A dry run prints them and proceeds no further. A change that cannot be undone
// is shown and confirmed first where stdin and stderr are a terminal; a script has none and goes on.
func (s *Session) Proceed(ctx context.Context, c *Change, would ...string) (bool, error) {
	if c.DryRun {
		for _, line := range would {
			s.Say("would %s", line)
		}
		if s.Output == "json" {
			if err := s.PrintJSON(dryRun{DryRun: true, Would: append([]string{}, would...)}); err != nil {
				return false, err
			}
		}
		s.NothingChanged()
		return false, nil
	}
	if len(would) == 0 || !s.Asks(c) {
		return true, nil
	}
	for i, line := range would {
		if i == askMost && len(would) > askMost+1 {
			fmt.Fprintf(s.ErrOut, "and %d more, which --dry-run shows\n", len(would)-askMost)
			break
		}
		fmt.Fprintf(s.ErrOut, "this will %s\n", line)
	}
	if err := s.Confirm(ctx); err != nil {
		return false, err
	}
	return true, nil
}

// Asks reports whether a change is shown before it is made: by a dry run, or since a person is asked.
func (s *Session) Asks(c *Change) bool {
	return c.DryRun || c.Final && !c.Yes && s.CanAsk()
}

// Plan finds what a change would do, as Proceed takes it.
type Plan func(ctx context.Context, client *kgo.Client) (would []string, err error)

// Apply makes a change: it plans, proceeds as Proceed says of what the plan returns, and does it. What a person needs to answer does not count
// towards --timeout.
func (s *Session) Apply(ctx context.Context, c *Change, plan Plan, do func(ctx context.Context, client *kgo.Client) error) error {
	start := time.Now()
	timed, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	client, err := s.Client(timed)
	if err != nil {
		return s.Explain(ctx, err)
	}
	defer client.Close()
	var would []string
	if err := s.heard(func() (err error) { would, err = plan(timed, client); return err }); err != nil {
		return s.Explain(ctx, err)
	}
	left := s.Timeout - time.Since(start)
	if proceed, err := s.Proceed(ctx, c, would...); err != nil || !proceed {
		return err
	}
	timed, cancel = context.WithTimeout(ctx, left)
	defer cancel()
	return s.Explain(ctx, s.heard(func() error { return do(timed, client) }))
}

// heard runs fn, and says what it waits for if that takes a while.
func (s *Session) heard(fn func() error) error {
	defer s.Waiting()()
	return fn()
}

// NothingChanged ends the output of a dry run.
func (s *Session) NothingChanged() { fmt.Fprintln(s.ErrOut, "dry run: nothing was changed") }

// CanAsk reports whether a person can be asked.
func (s *Session) CanAsk() bool {
	return s.Interactive || IsTerminal(s.Stdin) && IsTerminal(s.ErrOut)
}

// errDeclined ends a command whose change was not confirmed.
var errDeclined = errors.New("nothing was changed: not confirmed; answer y, or give --yes")

// Confirm asks for a yes on stderr and reads the answer from stdin. The read ends with the process where ctx ends first.
func (s *Session) Confirm(ctx context.Context) error {
	fmt.Fprint(s.ErrOut, "it cannot be undone; go on? [y/N] ")
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(s.Stdin, 1<<10)).ReadString('\n')
		answered <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.ErrOut)
		return ctx.Err()
	case a := <-answered:
		if a.err != nil {
			fmt.Fprintln(s.ErrOut) // the answer ended without a line end
		}
		switch strings.ToLower(strings.TrimSpace(a.text)) {
		case "y", "yes":
			return nil
		}
		return errDeclined
	}
}
