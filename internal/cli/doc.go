// Package cli is the command line: every subcommand of ottla.
//
// Invariants:
//
//  1. Main is the only way in. It takes its arguments, streams and environment as values and returns the exit code: 0 for
//     done, 1 for failed, 2 for called wrongly, 141 for an output without a reader, and 128 and the signal's number where a second signal
//     ended it at once. No command reads os.Args or the environment, prints elsewhere, or exits.
//  2. What a program would read goes to stdout, as a table or, with -o json, as JSON; what only a person would, to stderr.
//  3. An error is one line on stderr that says what was wrong and what to do next.
//  4. Commands but start, log and version are clients like any other: they speak Kafka's protocol to a broker.
//
// A command runs in a goroutine that Main waits for; what it starts ends before it returns. A signal (an interrupt, TERM, or HUP unless it was
// ignored) cancels the context of the command: consume and produce --follow then end well, start stops its broker. After a second signal Main
// returns without the command, and the process ends.
//
// What the commands share is in cli/session; consume and group are in cli/consume, log's work in cli/logfile.
//
// Files in reading order: main.go (Main, exit codes), signals.go, topic*.go, produce*.go, config*.go, logfile.go, bench*.go, start*.go, complete.go.
package cli
