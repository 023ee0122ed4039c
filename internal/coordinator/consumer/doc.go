// Package consumer is the state of next-generation groups (KIP-848) and what changes it; the machine that speaks the protocol is coordinator/group.
//
// A member says what it subscribes to. When that, or the topics, change, the group gets its next epoch, and with it a target assignment (package
// assignor). Then each member is reconciled with its target at its own pace: it gives up what it has to, says so, moves to the target's
// epoch, and gets what the others have given up.
//
// Invariants:
//  1. A Group is made by the Apply methods alone, of records. A Change decides on copies, and yields records.
//  2. No partition is owned by two members: none is assigned before its former owner says that it does not own it any more, or is gone.
//  3. Epochs of groups never go back; those of members only if a static member goes away, or comes back.
//  4. A Change decides on a group as its records so far have left it: between two Changes of a group its records are applied.
//  5. A Change of the metadata costs the topics that changed and the groups that look at them, not all groups.
//
// Concurrency: none; the machine has one Index and its Groups.
//
// Files in reading order: partitions.go (sets), group.go (Group, Member), apply.go (from records), change.go (what is about to be), join.go and
// update.go (a heartbeat), target.go and assign.go (the target assignment), reconcile.go, leave.go, check.go (who may commit), index.go,
// hash.go and regex.go (which groups look at which topics), embedded.go, classic.go and upgrade.go (members that speak the classic protocol).
package consumer
