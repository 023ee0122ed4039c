// Package compact decides what compaction keeps of a partition's log: the last record of each key, tombstones until
// their time, markers while their transactions have data. Kafka has it in Cleaner, SkimpyOffsetMap and
// MemoryRecords.filterTo; the rules of tombstones are KIP-534's.
//
// A pass goes over the dirty part of the log once to learn how its transactions ended (Transactions), once to learn
// the last offset of each key (KeyMap), and then over the whole log up to there to write what stays (Filter).
//
// Invariants:
//
//  1. A record whose offset is at or above the key map's end stays as it is, and so does its batch if all of it is.
//  2. A record that stays keeps its offset, timestamp, key, value and headers; its batch keeps its base offset, last
//     offset, leader epoch, producer fields and flags, but for a delete horizon that is set once and never moved.
//  3. A record goes only if its key has a record with a higher offset below the end, or it is a tombstone whose
//     horizon has passed, or it has no key, or its transaction was aborted.
//  4. A record of an aborted or open transaction never takes the place of another one.
//  5. A marker stays while a batch of its transaction does, and until a horizon after that.
//  6. The last batch of a producer, and of what is written to one segment, stays, if need be without records: the
//     producer's sequence and the log's offsets have no other place (KAFKA-7385).
//  7. A KeyMap never takes more memory than it was given; what does not fit ends the pass earlier.
//
// Everything is pure: no I/O, no clock, no lock. One pass belongs to one goroutine.
//
// Reading order: keymap.go, transactions.go, filter.go, control.go, group.go.
package compact
