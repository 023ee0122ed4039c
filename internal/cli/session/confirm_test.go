package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestProceed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		change      Change
		interactive bool
		output      string
		stdin       string
		proceed     bool
		err         error
		out, errOut string
	}{
		{name: "a script", change: Change{Final: true}, proceed: true},
		{name: "undoable", change: Change{}, interactive: true, proceed: true},
		{name: "--yes", change: Change{Final: true, Yes: true}, interactive: true, proceed: true},
		{
			name: "--dry-run", change: Change{Final: true, DryRun: true, Yes: true}, interactive: true,
			out: "would delete topic t\n", errOut: "dry run: nothing was changed\n",
		},
		{
			name: "--dry-run -o json", change: Change{DryRun: true}, output: "json",
			out: "{\n  \"dryRun\": true,\n  \"would\": [\n    \"delete topic t\"\n  ]\n}\n", errOut: "dry run: nothing was changed\n",
		},
		{
			name: "y", change: Change{Final: true}, interactive: true, stdin: "Y\n", proceed: true,
			errOut: "this will delete topic t\nit cannot be undone; go on? [y/N] ",
		},
		{
			name: "yes without a line end", change: Change{Final: true}, interactive: true, stdin: "yes", proceed: true,
			errOut: "this will delete topic t\nit cannot be undone; go on? [y/N] \n",
		},
		{
			name: "no", change: Change{Final: true}, interactive: true, stdin: "n\ny\n", err: errDeclined,
			errOut: "this will delete topic t\nit cannot be undone; go on? [y/N] ",
		},
		{
			name: "an empty line", change: Change{Final: true}, interactive: true, stdin: "\n", err: errDeclined,
			errOut: "this will delete topic t\nit cannot be undone; go on? [y/N] ",
		},
		{
			name: "the end", change: Change{Final: true}, interactive: true, err: errDeclined,
			errOut: "this will delete topic t\nit cannot be undone; go on? [y/N] \n",
		},
	} {
		var out, errOut bytes.Buffer
		s := &Session{Stdin: strings.NewReader(tt.stdin), Out: &out, ErrOut: &errOut, Output: tt.output, Interactive: tt.interactive}
		proceed, err := s.Proceed(context.Background(), &tt.change, "delete topic t")
		if proceed != tt.proceed || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, %v", tt.name, proceed, err)
		}
		if out.String() != tt.out || errOut.String() != tt.errOut {
			t.Errorf("%s: printed %q and %q", tt.name, out.String(), errOut.String())
		}
	}
}

func TestProceedInterrupted(t *testing.T) {
	t.Parallel()
	stdin, silent := io.Pipe()
	t.Cleanup(func() { _ = silent.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := &Session{Stdin: stdin, Out: io.Discard, ErrOut: io.Discard, Interactive: true}
	proceed, err := s.Proceed(ctx, &Change{Final: true}, "delete topic t")
	if proceed || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", proceed, err)
	}
}
