// Package controller runs the metadata machine: it decides one command at a time, has the records committed, applies them
// and shows the new Image.
//
// Invariants:
//  1. A command is decided against the state that the last one left, and nothing else is decided until its records are applied.
//  2. Only committed records are applied: an Image never holds what a crash could take back.
//  3. A command's records stand in one batch, so that a crash keeps all or none. Offset = index: every record takes one.
//  4. After a failed commit nothing more is decided here: what the log holds is known after a restart only. A batch that was refused
//     before any byte of it could stay (a full disk) leaves the controller as it was.
//  5. A log that does not follow on its snapshot, or that holds an impossible record, is refused, never guessed at.
//
// Concurrency: commands queue on one lock, held while they are decided and committed. Image may be called by anyone at any time
// and waits for nobody.
//
// The Journal is the seam for a quorum: one node's is a log that is synced; a quorum's proposes to its leader and returns when a
// majority has the batch.
//
// Files: controller.go (commands), start.go (what a broker does when it comes up), journal.go (the log of one node), snapshot.go (Kafka's
// snapshots).
package controller
