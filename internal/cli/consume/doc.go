// Package consume is the commands about consumers: consume, alone and in a group, and group.
//
// Invariants:
//
//  1. A record that was printed was written to the output before it is marked for a commit, and before its partition may go to another member.
//  2. A member leaves its group at the end of its command, and commits before it does.
//  3. No offset of a group moves while the group has members, or to a place outside of the log.
//
// A command runs in its caller's goroutine. The Kafka client's goroutines call it back about partitions and commits; what they share with it is
// under a lock.
//
// Files in reading order: consume.go, consume_*.go, group.go (list, the view of a group), group_lag.go, group_describe.go, group_seek*.go,
// group_delete.go.
package consume
