package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// TestFlagErrors gives every flag of every command that is not a text a value of the wrong kind, and one that is too large: the error names the
// flag, the value and what it takes, and none of Go's functions.
func TestFlagErrors(t *testing.T) {
	t.Parallel()
	flags := 0
	var walk func(cmd *cobra.Command)
	try := func(cmd *cobra.Command, f *pflag.Flag) {
		if kind := f.Value.Type(); kind == "string" || kind == "stringArray" || kind == "stringSlice" || f.Name == "help" {
			return
		}
		flags++
		for _, value := range []string{"soon", "99999999999999999999", "1.5"} {
			var stderr bytes.Buffer
			a := &app{Session: &session.Session{Out: &bytes.Buffer{}, ErrOut: &stderr}, self: "ottla"}
			args := slices.Concat(strings.Fields(cmd.CommandPath())[1:], []string{"--" + f.Name + "=" + value})
			if code := a.run(t.Context(), args); code != exitUsage {
				t.Errorf("%v: exit code %d", args, code)
			}
			text := stderr.String()
			if !strings.HasPrefix(text, "ottla: --"+f.Name+" "+value+": must be ") {
				t.Errorf("%v: %s", args, text)
			}
			for _, word := range []string{"strconv", "parsing", "syntax", "time:", "missing unit", "argument"} {
				if strings.Contains(text, word) {
					t.Errorf("%v: %q is no word for a person: %s", args, word, text)
				}
			}
		}
	}
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { try(cmd, f) })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&app{Session: &session.Session{Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}, self: "ottla"}).root())
	if flags < 30 {
		t.Errorf("only %d flags were tried", flags)
	}
}
