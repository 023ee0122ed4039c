// Package log is the segments of one partition as one log: append, read, sync, roll, recover, truncate, retain, compact.
//
// Invariants:
//
//  1. The segments' bases rise, the last segment is the active one, and no batch reaches the next segment's base. Without
//     compaction a segment begins where the one before it ends.
//  2. Published is what is below End; readers and Sync go by it and never by a file's size. A group is published after its
//     last byte was written, the end first, then indexes and epochs. A group that failed is cut back, and its offsets
//     are used again.
//  3. No byte position is written twice while it was published: Truncate seals what it cuts and goes on in a new file.
//  4. An error that is not ErrNoSpace (room, descriptors, memory) is final (ErrFailed): a failed sync above all.
//  5. What Sync returned survives a power cut. Recovery cuts only what is at or past the recovery point, and nothing behind
//     which a whole batch stands, but for what a crash has torn. Where the batches cannot be followed it is batch.ErrCorrupt, and nothing is
//     removed. A damaged batch that leads to the next one stays; reads of it are batch.ErrCorrupt.
//  6. A segment's files go when its last reader does.
//
// Crash assumptions: a synced file keeps its bytes and size, a synced directory its entries; unsynced bytes may be there, not
// there, or torn at any byte. Creations are synced with the data in them. Changes of a directory that are not synced are kept or lost
// in any order: so an old segment is removed when the removal of the one before it is durable, or it could come back with a hole
// behind it, where recovery from a stale recovery point would cut the log.
//
// Concurrency: the methods that change the log (Append, Fit, RollIfOld, Retain, AdvanceStart, Truncate, TruncateAll,
// AssignEpoch, SetOptions) and Close are called under the partition's lock, one at a time. Everything else may run
// beside them, Compact too: readers load the list of segments and the head (active segment, end, size) as one consistent window and count
// themselves into a segment before they touch it. Sync holds its own lock; it is never waited for by an append or a roll,
// only by Truncate and Close.
//
// Compaction: one Compact at a time holds the sealed segments by reference, reads them, and writes new ones beside them under
// the .cleaned state. It takes no lock but for a moment: replacing, when names are made and segments are swapped, which
// Retain, AdvanceStart, Truncate and Close take too; if one of them changed the segments it holds, it gives up. What it
// replaces was synced, and what it replaces it with is, names and all, before each step: sweep goes on from any of them. The last
// batch of each new segment stays, if need be empty, so that compaction makes no hole between segments.
//
// Files in reading order: log.go, errors.go, create.go, append.go, read.go, hints.go, sync.go, open.go, sweep.go, recover.go, damage.go,
// epochs.go, epochfile.go, repair.go, times.go, times_max.go, retain.go, truncate.go, close.go; compact.go, compact_dirt.go, compact_read.go,
// compact_write.go, compact_swap.go, compact_txnindex.go.
package log
