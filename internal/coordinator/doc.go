// Package coordinator runs the machine of consumer groups (coordinator/group) on the partitions of __consumer_offsets that this node leads,
// one shard for each: it loads a shard by replaying its log, steps its machine, appends the records, and lets replies leave when their
// records are committed. It is KIP-848's coordinator runtime with one lock in place of event loops.
//
// Invariants:
//  1. A reply leaves when all it shows is committed: durable, and below the high watermark.
//  2. A shard answers COORDINATOR_LOAD_IN_PROGRESS until all that its log held is replayed; never an offset from half a log.
//  3. What is appended is applied at once, in the log's order, under the shard's lock; so live state is the replay of the log.
//  4. If an append fails, the shard is thrown away and loaded again, at most about once a second, unless the step can be retracted. Who waited
//     is told NOT_COORDINATOR.
//  5. Every call is answered once: by the machine, by a failed append, or by the shard's end.
//
// Concurrency: each shard has one lock, taken before that of its partition, and after that of the coordinator, under which the table of shards
// changes; steps run under it and wait for nothing but a write, and the first one for its partition to be opened. Run owns one goroutine for timers and
// metadata, and those that load. Figures holds a shard's lock for a few thousand offsets at a time, and no lock while it reads logs.
//
// Files in reading order: coordinator.go (the type; which shard a group is in), shard.go (step, append, answer), load.go, replay.go,
// run.go (timers, metadata), call.go (what a handler waits for), topic.go (__consumer_offsets is made when first asked for),
// counts.go, survey.go, figures.go, stamp.go (what metrics show: lag above all).
package coordinator
