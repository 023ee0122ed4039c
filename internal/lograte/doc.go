// Package lograte bounds how often a logger repeats a kind of line, since clients can cause any number of them.
//
// A kind is a level and a message: messages are constant text, and what varies stands in attributes. Each kind may have a burst of lines, and
// after it one line a second. The next line that passes has the attribute "suppressed": how many of its kind did not. Where none passes,
// Run tells.
//
// Shells write the lines that clients can cause to such a logger. Changes of data and configuration, and what an operator must see, go to
// a plain one, which loses nothing.
//
// Invariants:
//
//  1. The first burst lines of a kind pass, and what was suppressed is counted in a later line.
//  2. Memory is bounded: past kindsMax kinds the others share one allowance.
//  3. Time is that of the records.
//
// A Limiter may be used by any goroutine; loggers made from its logger share its allowances. Run is its owner's to call.
//
// The only file is lograte.go.
package lograte
