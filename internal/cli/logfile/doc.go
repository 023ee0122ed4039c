// Package logfile looks into the files of partitions without a broker: it prints segments and their indexes (log dump), and checks them
// (log verify). The files are Ottla's or Kafka's.
//
// Invariants:
//  1. Files are read, never written or locked: a broker may run, and then what is found at a log's very end means nothing.
//  2. No file is trusted: what is wrong in one is an error, or a problem, with the position.
//  3. What is printed of a record of __consumer_offsets is what Kafka's dump tool prints of it (DumpLogSegments --offsets-decoder), but for
//     types that are not kept here.
//
// A call runs in its caller's goroutine, and starts none.
//
// Files in reading order: find.go (which files), read.go (batches and entries), dump.go, json.go, offsets.go (what is printed), verify.go.
package logfile
