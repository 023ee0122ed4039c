// Package repair makes a partition's log whole again, of which a part is damaged, while no broker has the directory open. Where batches
// cannot be read it puts batches without records, so that the offsets stay what they are and readers go on behind them; a header
// that is damaged where no CRC covers it, and known by what stands around it, is put right. The damaged segment is kept beside the new one.
//
// Invariants:
//
//  1. Every batch that is whole is in the log afterwards, byte for byte but for a header that was put right.
//  2. No offset below the recovery point or the high watermark that was on disk is given a second time.
//  3. Whatever interrupts a repair, the log is as before or repaired: the copy of the damaged segment is durable before anything
//     else, the new segment before it gets its name, and its indexes go first.
//  4. What an unclean stop left in the journal is in the segments before their bytes move.
//  5. The copy's name ends in .damaged, which neither Kafka nor this program takes for a part of a log.
//
// Concurrency: none; the caller holds the directory's lock.
//
// Files in reading order: plan.go (what is wrong), marks.go (what the checkpoints say), apply.go (what is done).
package repair
