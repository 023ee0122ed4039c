// Package producers is the machine that recognises the retries of idempotent producers (KIP-98, KIP-360) in one
// partition. For every producer id it knows the epoch and the five newest batches: enough for the five requests
// a client may have in flight, and as much as Kafka remembers (ProducerStateEntry).
//
// A group of batches is judged before it is written: Check compares each one with the table and with what the
// earlier ones of its group would leave. Commit makes that true once the group is written; Discard forgets it.
// Apply takes what a log already holds, without judging. Snapshot and Restore use Kafka's `.snapshot` file.
//
// Invariants:
//
//  1. Nothing that Check learns is seen by Snapshot, Expire or a later group before Commit.
//  2. Within one epoch, a remembered batch starts where the one before it ended, 2^31-1 being followed by 0.
//  3. A batch is a duplicate only if epoch, first and last sequence are those of a remembered batch.
//  4. Restore leaves what Snapshot saw: all five batches of each producer.
//  5. The same calls leave the same state and the same bytes; no map order shows.
//
// Concurrency: none. A Table belongs to its partition and is used under its lock. Time is passed in as
// milliseconds since 1970, as batches carry it.
//
// Files, in reading order: table.go (state, Commit, Apply, Expire), check.go (the rules), snapshot.go (the format).
package producers
