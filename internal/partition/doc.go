// Package partition is one partition on this node: its log (storage/log) joined to the machines that decide
// (replica: role, epoch, high watermark; producers: sequences of idempotent producers).
//
// Append is the middle of a produce's straight line. What can be judged without the lock is judged first: one whole
// batch, CRC, structure, limits, timestamps. Under the lock each batch is judged against the producers as the
// earlier ones of its group would leave them, gets its offsets and the leader epoch in place, and the accepted ones
// go to the log in as few writes as segments allow. Await then says when an acknowledgement may leave.
//
// Invariants:
//
//  1. Nothing of a write is published (end, producers, high watermark) before all of it is in the file; a failed
//     write leaves no trace, and its offsets are used again.
//  2. Await(end) is true only if end <= high watermark; with durability=disk that is only after a sync that began
//     after the write. A duplicate waits for its original's end, so neither is acknowledged ahead of its sync.
//  3. Start <= HighWatermark <= End in everything Offsets and Read return; reads see nothing at or above the
//     high watermark.
//  4. A failed write that is not for want of room, and any failed sync, is final: the partition answers
//     KAFKA_STORAGE_ERROR until it is opened again. Want of room (ENOSPC, EDQUOT, EFBIG) refuses the write only.
//  5. After any stop the producers are what the log says: a snapshot that is valid and not past the log's end, and
//     the headers of the batches after it. No snapshot is needed for correctness.
//  6. A partition that was opened as absent asks nothing of the disk before its first append, which makes its directory.
//  7. What a waiter may wait for is published before waiters are woken; one that watches, looks and then sleeps
//     misses nothing.
//
// Concurrency: p.mu orders everything that changes the log or the machines: Append, Lead, SetOptions, Maintain,
// DeleteRecords, Close, and the moments when Sync takes a result. The fsync itself runs outside, so appends go on
// meanwhile, and so may other Syncs. Await, Read, Offsets and the other questions take no lock: they read atomics,
// which are stored under p.mu, and the log's own published state. Watchers have a lock of their own, the last in the
// order. No goroutine and no timer: the broker's syncer calls Sync, its timers call Maintain.
//
// Files in reading order: partition.go (the type, its marks), produce.go (what is offered), validate.go,
// inflate.go, append.go and create.go (judging and writing), sync.go, await.go, watch.go (committing), read.go,
// lookup.go (answers), open.go,
// metadata.go, snapshot.go (opening), maintain.go, compact.go, close.go.
package partition
