// Package broker is this node: its data directory and the partitions in it. It follows the metadata Image, opens partitions when they are
// touched, syncs, retains and checkpoints them, and stops so that the next start need not recover anything.
//
// Invariants:
//  1. A lookup of an open partition takes no lock and allocates nothing.
//  2. At most one partition is open for a directory. A directory of a deleted topic has lost its name before a new topic of the same name
//     opens one.
//  3. The clean-shutdown marker is removed, durably, before anything else is touched, and written last; it is not written while any
//     partition is unrecovered or offline.
//  4. Nothing at the top is trusted to skip recovery but the marker: a malformed checkpoint or manifest is reported and ignored.
//  5. A recovery point is never beyond what was synced.
//  6. Directories that the metadata does not know are left alone. What is removed is renamed first, as in Kafka.
//  7. The first failed sync of any file or directory, or a failed write that is not for want of room, takes the whole directory offline, for
//     good.
//  8. Everything of ours at the top of the directory is a file.
//  9. A file that is missing is a beginning in a new directory only.
//  10. A partition has no directory before its first append.
//
// Concurrency: Open returns with no goroutine started; Run owns them all and waits for them; Close waits for Run. The table of partitions
// is replaced whole, by follow, under the controller's lock. A slot's lock orders opening and retiring; it may be held for a recovery, so
// nobody who holds the controller's lock takes it. Lock order: controller, nothing else; slot, then the slot of a deleted topic, then
// deleter or syncer.
//
// Many dirty partitions: one goroutine gathers those with little to sync, and makes several of them durable with one fsync of the journal
// (storage/journal); the syncer's workers sync the files of the others, one partition each. The journal is replayed before any log is
// opened, and a clean stop removes it before it writes the marker.
//
// Files: broker.go (options and parts), open.go, identity.go, load.go and adopt.go (coming up), files.go, meta_properties.go, marker.go, checkpoint.go,
// manifest.go (files at the top), hosted.go and lookup.go (finding partitions), follow.go and delete.go (the metadata moves), sync.go,
// sync_journal.go, journal.go, run.go, space.go, cleaner.go, throttle.go (work in the background), close.go, admin.go (commands), stats.go.
package broker
