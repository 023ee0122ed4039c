// Package vfs is the file system under storage: the operating system's, one in memory that can lose power,
// and wrappers that inject faults, trace every operation, and bound the open descriptors.
//
// Invariants:
//
//  1. Names are slash-separated, relative to the root and never leave it; every FS refuses the same names.
//  2. Nothing is durable before it is synced: a file's bytes and size by File.Sync, a directory's entries by
//     FS.SyncDir of that directory. A new file needs both.
//  3. A write continues until all is written or an error is met, and says how many bytes reached the file.
//  4. A failed Sync is final: a file of the operating system answers every later Sync with the same error,
//     since the kernel would say nil for pages that it has dropped. Final widens this to a whole FS.
//  5. The cache never closes a descriptor that is in use, that has writes since its last successful Sync (but see
//     Forgettable), or whose file has no name any more.
//  6. Errors of operations on bytes name the file and the position and wrap the cause. io.EOF from ReadAt is
//     returned bare, as io.ReaderAt asks.
//
// Concurrency: every FS may be used by many goroutines. A File takes concurrent reads beside one writer and
// beside Sync; Close comes last. No goroutine is started here.
//
// Files in reading order: vfs.go (the contract), name.go, whole.go (whole files), os.go, os_linux.go, os_other.go, space_*.go,
// lock.go, lock_*.go, op.go, wrap.go, faulty.go, trace.go, final.go, mem.go, mem_dir.go, mem_file.go, mem_crash.go,
// cache.go, cache_file.go, cache_ring.go, cache_names.go, shortage.go.
package vfs
