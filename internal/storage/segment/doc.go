// Package segment is one segment of a partition's log: Kafka's files .log (record batches), .index (offsets to
// positions), .timeindex (timestamps to offsets) and .txnindex, which is renamed and removed with the others and not written yet.
//
// Invariants:
//
//  1. Bytes below Size are batches with rising offsets, whole but for those of Damage, and never change. What stands behind them means nothing.
//  2. Only the log is the truth. A side file is checked when it is loaded and at each lookup by the header it leads to; if
//     it is missing, stale or wrong it is built anew from the log. Its failure costs time, never a record.
//  3. A failed Write leaves the file as long as before, or an error that is not ErrNoSpace.
//  4. Relative offsets and positions in entries fit in 31 bits: see Holds, and the log that bounds its segments' size.
//  5. Files of a segment with references stay open and readable, whatever they are called; the last Release closes them,
//     and removes them once Retire was called.
//  6. Nothing here decides when to roll, what to delete, or whether damage may be cut off. Nothing syncs unasked but Cut and
//     a rebuild.
//
// Concurrency: one appender (Write, Publish, Index, Room, Waited, Seal, Cut, Recover, Adopt, Activate, Resume) under the
// partition's lock; any number of readers (Locate, At, Scan, Largest, LargestIn, TimeStart, File) that hold a reference,
// and Sync, at the same time. Readers see the size by an atomic number, and an index by its tail: entries on file, and a few
// in memory that are filled once and counted atomically. A sealed segment's index may be rebuilt by any reader, an
// active one's only by the appender.
//
// Files in reading order: name.go, segment.go (a segment's life), errors.go, write.go (the appender), cursor.go (walking
// headers), locate.go (finding an offset), times.go (finding a time), side.go (an index's entries), load.go
// (checking and rebuilding them), recover.go (after a crash, and truncation), damage.go and resync.go (bit rot told from torn writes),
// examine.go (for a repair).
package segment
