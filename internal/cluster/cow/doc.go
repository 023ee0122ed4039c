// Package cow is a map whose snapshots are cheap: what readers hold never changes, and the writer copies only what it
// wrote lately.
//
// Invariants:
//  1. A map that Freeze returned never changes.
//  2. Freeze and the write after it cost about the square root of the map's size, amortised, not its size.
//
// Concurrency: one writer; frozen maps may be read by anyone.
//
// Files: map.go.
package cow
