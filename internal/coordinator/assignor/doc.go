// Package assignor has the assignors of next-generation groups (KIP-848): uniform and range, as Kafka's coordinator has them, rack aware.
//
// Invariants:
//  1. Every partition of a topic that some member subscribes to is assigned to exactly one of these members; no other is assigned.
//  2. Uniform is balanced: where all subscribe to the same, no member has two partitions more than another; and it is sticky: what a member
//     had stays with it as far as balance allows.
//  3. The same input gives the same output, whatever the order of maps.
//
// It is pure: no state, no goroutine.
package assignor
