package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla/internal/cli/consume"
	"github.com/ottla-io/ottla/internal/cli/session"
)

// The exit codes. A command that a second signal ended at once has 128 and the signal's number.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitPipe   = 128 + 13 // the reader of the output is gone, as for a program that SIGPIPE ends
)

// app is what all commands share.
type app struct {
	*session.Session
	self    string // what this program was called as
	environ []string
	broker  atomic.Bool // the command is a broker, which waits for its signals itself
}

// Main runs the command line args, the first of which is what the program was called as, and returns the exit code. After a second
// signal it returns although the command has not ended: the caller ends the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	signals, stop := listen()
	defer stop()
	errOut := &session.Shared{W: stderr}
	a := &app{Session: &session.Session{Stdin: stdin, Out: stdout, ErrOut: errOut}, self: args[0], environ: environ}
	end := a.supervise(context.Background(), signals, func(ctx context.Context) int { return a.run(ctx, args[1:]) })
	if end.signal != nil {
		fmt.Fprintf(errOut, "ottla: stopped at once by a second signal: %s\n", end.signal)
	}
	return end.code
}

func (a *app) run(ctx context.Context, args []string) int {
	out := &session.Printer{W: a.Out}
	a.Out = out
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	cmd, err := root.ExecuteContextC(ctx)
	if errors.Is(err, session.ErrReaderGone) || errors.Is(out.Err, syscall.EPIPE) && (err == nil || errors.Is(err, out.Err)) {
		return exitPipe // as quietly as other programs
	}
	if err == nil && out.Err != nil {
		err = fmt.Errorf("the output is not complete: %w", out.Err)
	}
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(a.ErrOut, "ottla: %s\n", strings.TrimSpace(a.inWords(ctx, err)))
	if usage := (session.UsageError{}); errors.As(err, &usage) {
		fmt.Fprintf(a.ErrOut, "see: %s --help\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ottla",
		Short: "an event log that speaks Kafka",
		Long:  "Ottla is a partitioned event log in one binary. Kafka clients are its clients.\n\nStart one: ottla start",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	flags := root.PersistentFlags()
	flags.StringVarP(&a.Brokers, "brokers", "b", a.getenv("OTTLA_BROKERS", "127.0.0.1:9092"), "HOST:PORT of brokers, comma-separated (OTTLA_BROKERS)")
	flags.StringVarP(&a.Output, "output", "o", "table", "table or json")
	flags.DurationVar(&a.Timeout, "timeout", 15*time.Second, "how long to wait for the brokers")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.Output != "table" && a.Output != "json" {
			return session.Usagef("-o %s: must be table or json", a.Output)
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return session.UsageError{Err: flagError(err)} })
	root.AddCommand(a.startCommand(), a.topicCommand(), a.produceCommand(), consume.Command(a.Session), group("group", "list, show, move and delete consumer groups", consume.GroupCommands(a.Session)...), a.configCommand(),
		a.logCommand(), a.benchCommand(), a.versionCommand())
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	checkArgs(root)
	return root
}

// checkArgs makes wrong arguments of all commands usage errors, and gives a group of commands a hint for a wrong verb.
func checkArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) != nil {
				return session.UsageError{Err: argsError(cmd, args)}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		checkArgs(sub)
	}
}

// argsError says what is wrong with arguments that cmd refused.
func argsError(cmd *cobra.Command, args []string) error {
	if !cmd.HasSubCommands() {
		_, wants, _ := strings.Cut(cmd.Use, " ")
		wrong := session.Counted(len(args), "argument does", "arguments do") + " not fit"
		switch {
		case wants == "":
			wrong = args[0] + ": takes no arguments"
		case len(args) == 0:
			wrong = wants + " is missing"
		}
		return fmt.Errorf("%s; usage: %s", wrong, cmd.UseLine())
	}
	if len(args[0]) < 4 {
		cmd.SuggestionsMinimumDistance = 1 // two letters of three are another word
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%s: unknown command of %s%s", args[0], cmd.CommandPath(), hint)
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subs...)
	return cmd
}

func (a *app) getenv(name, def string) string {
	for _, v := range slices.Backward(a.environ) {
		if key, text, _ := strings.Cut(v, "="); key == name && text != "" {
			return text
		}
	}
	return def
}
