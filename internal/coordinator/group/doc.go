// Package group is the machine of consumer groups: one Machine is the groups and committed offsets of one partition of
// __consumer_offsets. It speaks both of Kafka's protocols: classic (JoinGroup, SyncGroup, ...) and next generation (KIP-848).
//
// The verbs are those of every machine. Step decides: it takes one Input and the time, and yields Effects: records that must be
// appended as one batch, and replies. Apply takes in a record, live right after it was appended and again on replay, so that what a Step
// changes in what is durable, it changes by its records only. Next says when to be stepped with a Tick.
//
// What no record keeps (who waits in JoinGroup or SyncGroup, sessions) Step changes itself. If the records of a Step cannot be appended, its
// replies are void; the shell throws the machine away and replays the log, unless the Step says that it changed nothing
// (Effects.Retractable). So nothing here is ever undone.
//
// Invariants:
//  1. State that is durable is the replay of the records: a machine that was made by Apply alone answers like the one that wrote them.
//  2. A reply shows nothing whose record is at or above Reply.Wait or, with records in its Effects, above the end of these: the shell lets it
//     leave when all below is committed.
//  3. Each token is answered exactly once.
//  4. A commit of a stale generation, epoch or member changes nothing.
//  5. No partition is assigned to two members at one epoch; of the next generation, none is handed out before its former owner has given it up.
//  6. Offsets of a topic that a member subscribes to never expire.
//  7. While a group is deleted in more than one step, it answers nobody else: half of a group is never seen, joined or committed to.
//  8. What one group holds is bounded by group.max.size and the sizes that Options bounds.
//
// Concurrency: none; the shell has one lock for each machine. No map is walked where order shows.
//
// Files in reading order: input.go, input_offset.go, input_classic.go, input_consumer.go (what goes in and what comes out), machine.go
// (Step, Apply, Next), timers.go, group.go (what both protocols share), offset_*.go, remove.go (deletions, the
// large ones in steps), list.go, classic_*.go, consumer_*.go (the next generation speaks; its state is package consumer), convert.go.
package group
