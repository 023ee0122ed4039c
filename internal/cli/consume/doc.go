// Package consume is the commands about consumers: consume, alone and in a group, and group.
//
// Invariants:
//
//  1. A record that was printed was written to the output before it is marked for a commit, and before its partition may go to another member.
//  2. A member leaves its group at the end of its command, and commits before it does. An interrupt, a hangup and an output without a reader
//     are such ends.
//  3. What was read of a topic that was deleted is never committed to another topic of the same name, which is read from its start.
//  4. No offset of a group moves while the group has members, or to a place outside of the log.
//
// A command runs in its caller's goroutine. The Kafka client's goroutines call it back about partitions and commits; what they share with it is
// under a lock.
//
// Files in reading order: consume.go, renew.go, member*.go, group.go (list, the view of a group), group_lag.go, group_describe.go, group_seek*.go,
// group_delete.go.
package consume
