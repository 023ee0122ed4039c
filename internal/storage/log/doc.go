// Package log is the segments of one partition as one log: append, read, sync, roll, recover, truncate, retain.
//
// Invariants:
//
//  1. The segments' bases rise, the last segment is the active one, and no batch reaches the next segment's base. Without
//     compaction a segment begins where the one before it ends.
//  2. Published is what is below End; readers and Sync go by it and never by a file's size. A group is published after its
//     last byte was written, the end first, then indexes and epochs. A group that failed is cut back, and its offsets
//     are used again.
//  3. No byte position is written twice while it was published: Truncate seals what it cuts and goes on in a new file.
//  4. An error that is not ErrNoSpace is final (ErrFailed): a failed sync above all.
//  5. What Sync returned survives a power cut. Recovery cuts only what is at or past the recovery point; damage below is
//     batch.ErrCorrupt and nothing is removed.
//  6. A segment's files go when its last reader does.
//
// Crash assumptions: a synced file keeps its bytes and size, a synced directory its entries; unsynced bytes may be there, not
// there, or torn at any byte. Creations are synced with the data in them. Removals of old segments are left to the file system's
// order: if it lost an earlier one of several removals and kept a later one, an old segment would come back with a hole
// behind it; a start offset that was checkpointed before AdvanceStart rules that out.
//
// Concurrency: the methods that change the log (Append, Fit, RollIfOld, Retain, AdvanceStart, Truncate, TruncateAll,
// AssignEpoch, SetOptions) and Close are called under the partition's lock, one at a time. Everything else may run
// beside them: readers load the list of segments and the head (active segment, end, size) as one consistent window and count
// themselves into a segment before they touch it. Sync holds its own lock; it is never waited for by an append or a roll,
// only by Truncate and Close.
//
// Compaction's seam: a cleaner reads sealed segments by Scan, writes a segment under the .cleaned state, syncs and renames it
// to .swap, and only then replaces the segments it overlaps, as sweep would after a crash. It must keep the last offset of
// what it cleans, or have the recovery point checkpointed past it: see OpenOptions.Compacted.
//
// Files in reading order: log.go, errors.go, append.go, read.go, hints.go, sync.go, open.go, sweep.go, recover.go, epochs.go,
// epochfile.go, repair.go, times.go, retain.go, truncate.go, close.go.
package log
