// Package lint holds the repository's own rules, as tests: what a linter cannot say.
//
// Invariants:
//
//  1. The import graph is the table in graph_test.go, exactly; rows stand bottom up.
//  2. A package whose row says machine is pure: no goroutine, channel, lock, clock, I/O, logger, context or
//     map order.
//  3. Functions, files and packages stay under their limits; the lists of exceptions may only shrink.
//  4. Every package has a doc.go; documents link to files that exist; no banned word stands in the tree.
//  5. The functions that ARCHITECTURE.md names as the straight lines of a produce and a fetch exist.
//  6. The tests that docs/internals/traps.md names exist.
//
// The package has no code but its tests and no state; the tests read the tree and run go list.
//
// Reading order: graph_test.go, purity_test.go, size_test.go, tidy_test.go, line_test.go, traps_test.go.
package lint
