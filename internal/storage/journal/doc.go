// Package journal makes the newest bytes of many partitions durable with one write and one fdatasync of one preallocated file,
// where syncing each partition's own file would not scale. The segments' files are synced behind it ("settled"), before its space
// is used again. Docs/format/journal.md has the bytes.
//
// The file has two halves, each with a header that names its generation. Frames fill one half while the owners of what stands in the
// other one are settled.
//
// Invariants:
//
//  1. What a frame holds is acknowledged only after the sync of that frame. A frame is replayed whole or not at all.
//  2. A block that an acknowledged frame stands in is not written again in its generation; a frame begins a block.
//  3. A half is written again only when every owner with bytes in it was settled by a sync that began after the half was closed.
//     Its new header is durable before anything behind it is overwritten, so that of an old generation all is replayed or
//     nothing.
//  4. Before published bytes are cut or replaced, or a segment gets a name that another one had, the owner's bytes are durable in its
//     own files and a void frame is durable here: nothing of that owner before it is replayed. The owner sees to the first, Void to the second.
//  5. Replay writes to a segment only if the directory is still the topic's whose id the entry has, by its partition.metadata or, where
//     that is lost or damaged, by the metadata, and the segment's file exists. The owner's directory was synced with both before anything of it came here. What is replayed twice, or was
//     synced before, is the same bytes at the same positions.
//  6. An owner's bytes come without gaps: each begins where what is durable of the segment ends, in its file or here. What replay restores is
//     below the recovery point from then on, so that recovery refuses to cut it.
//  7. Nothing in records can pass for a frame: a frame bears a secret of its file.
//  8. After a failed sync the journal says only that. Want of room is no failure: then there is no journal, or it is full, and files are
//     synced instead.
//  9. A clean stop removes the file, and only then is the directory marked clean. A file beside that mark is somebody else's past.
//
// Concurrency: one Commit or Void at a time, under writing, and no lock of an owner is taken under it, so that an owner may call
// Void while it is held. Settle may run in several goroutines of the caller; mu guards what they share and is never held for I/O.
//
// Files in reading order: journal.go, make.go, frame.go (bytes), group.go (what one frame takes), commit.go, settle.go, replay.go (which
// frames count), restore.go (bytes into segments).
package journal
