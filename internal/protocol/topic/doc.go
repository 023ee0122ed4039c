// Package topic names topics and their partitions, and checks names before they meet a path.
//
// Invariants:
//
//  1. A name that passes Check is one path element: it has no separator, no NUL, and is neither "." nor "..".
//  2. ParseDir accepts exactly what Dir gives for a name that passes Check, so no two partitions share a directory.
//  3. DeleteDir gives at most 255 bytes, the limit of a directory entry. Dir does so for indexes below 100,000.
//
// Concurrency: pure functions.
//
// Files in reading order: topic.go, name.go, dir.go.
package topic
