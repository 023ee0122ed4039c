// Package session is what the commands of the command line share: streams, flags, the client they speak to brokers with, tables and JSON, errors
// in words, places in a log, completion.
//
// Invariants:
//
//  1. What a program would read goes to Out, as a table or JSON; what only a person would, to ErrOut.
//  2. InWords gives one line that says what was wrong and what to do next.
//  3. Place and time are read alike by all commands.
//  4. Proceed decides for all commands whether a change is made: it serves --dry-run and --yes, and asks on a terminal.
//  5. No wait for a broker is longer than --timeout, but that of a consumer that has begun, or silent for longer than a second. What ends it
//     names the address, and where that comes from: -b, or what a broker advertises.
//
// A Session belongs to the goroutine of its command; its Reach is shared with the client's goroutines.
//
// Files in reading order: session.go, client.go, reach.go, interrupt.go, print.go, reader_*.go, confirm.go, errors.go, place.go, complete.go.
package session
