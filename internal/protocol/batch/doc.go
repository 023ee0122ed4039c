// Package batch is the record batch (magic 2): what producers send, what the log stores, what consumers get. It is a
// zero-copy view with checks, iteration, compression and a builder.
//
// Invariants:
//  1. No length, count or size in the bytes is believed before it is checked against what is there.
//  2. A Batch is exactly one whole batch (from Next) or exactly one header (from HeaderOf); its header can be read
//     without further checks.
//  3. Compressed records go by in a window: memory is the codec's and that of the largest record which is held, at any ratio, and
//     grows with what comes out, never with what a header claims. Work stops at a Limit. Raw snappy blocks are decoded at once; they
//     hold at most 64 bytes for every 3.
//  4. Going over good records allocates nothing for each record.
//  5. Base offset and leader epoch are outside the CRC and change in place; every other setter computes the CRC again.
//
// Everything is pure but for pools of idle compressors, of which only speed can be observed. A Batch may be read by
// many goroutines while none sets a field; a Cursor or a Builder belongs to one goroutine.
//
// Reading order: batch.go (the header), next.go (splitting), attributes.go, set.go, errors.go; record.go (one record),
// limit.go, stream.go (the window), validate.go (judging an append), cursor.go (reading records); builder.go, control.go (writing);
// decompress.go, compress.go, snappy.go, zstd.go, recompress.go.
package batch
