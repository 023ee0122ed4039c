// Package offset keeps the committed offsets of consumer groups in memory: a Set is those of one group, and Topics are what the sets of one
// partition of __consumer_offsets have in common.
//
// Invariants:
//  1. A Set is the replay of the records that it was given: of each partition the newest in the log counts, in whatever order they come.
//  2. An offset takes less than 100 bytes beside what groups and topics share, from three partitions of a topic on.
//  3. Offsets are walked by topic and partition.
//
// It is pure: no goroutine, no lock; who has it steps one at a time.
//
// Files in reading order: set.go (what a group has committed), topics.go (putting and dropping, so that strings are shared).
package offset
