// Package record is what __consumer_offsets holds, byte for byte as Kafka writes it: the keys and values of committed offsets, of classic
// groups and of next-generation ones (KIP-848). The first two bytes of a key are its type, the first two of a value its version
// (Kafka's GroupCoordinatorRecordSerde, and the JSON files of group-coordinator/src/main/resources/common/message).
//
// Invariants:
//  1. Decode never panics, and takes no memory by a length that it did not check.
//  2. What a newer Kafka wrote is not an error if its type is unknown (it is Unknown), and is one if its version is.
//  3. Encode(Decode(x)) means the same as x; keys are the same bytes, since compaction compares them (but for type
//     0, of Kafka before 0.9, which is written as type 1, as Kafka does).
//  4. What Kafka 4.4 wrote is written again byte for byte.
//
// It is pure: no state, no goroutine.
//
// Files in reading order: record.go (the entries), decode.go (from bytes to entries), bytes.go (fields),
// offset.go, classic.go, consumer.go, assignment.go (the bytes of each).
package record
