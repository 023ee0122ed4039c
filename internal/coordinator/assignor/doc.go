// Package assignor has the assignors of next-generation groups (KIP-848): uniform and range, as Kafka's coordinator has them.
//
// Uniform looks at balance first, then at who has what, then at racks. Range gives each member a range of each topic, of topics with as many
// partitions and the same subscribers the same range, and looks at nothing else.
//
// Invariants:
//  1. Every partition of a topic that some member subscribes to is assigned to exactly one of these members; no other is assigned.
//  2. Uniform is balanced. Where all subscribe to the same, no member has two partitions more than another; where they do not, no partition
//     can move from one subscriber of its topic to another with two partitions less (balanceRounds bounds the search, as in Kafka).
//  3. Uniform is sticky. Where all subscribe to the same, no more partitions move than balance asks for: when a member leaves only its own, when
//     one joins only those that it gets.
//  4. Of what has to move, Uniform gives a partition to a subscriber in a rack of its replicas where 2 and 3 leave the choice (greedily). Kafka
//     4.4's assignors know no racks.
//  5. The same input gives the same output, whatever the order of maps. No output shares memory with the input.
//  6. Any input is answered: topics that are not there, partitions out of range and partitions with two owners are passed over.
//
// Concurrency: pure functions.
//
// Files in reading order: assignor.go (the types), range.go, uniform.go (the steps), class.go (topics with the same
// subscribers), balance.go (how many for whom), settle.go (which for whom).
package assignor
