// Package host fits the process to the machine it runs on: memory, collector, descriptors; and says who has a port.
//
// Invariants:
//
//  1. What the user set (GOMEMLIMIT, GOGC) stands.
//  2. What cannot be found out changes nothing: a limit that nobody tells is no limit.
//
// Concurrency: none of its own; FollowHeap runs until its context ends, in a goroutine of its caller's. Only a program's start calls
// the package: it changes what is the process's, so brokers that are embedded leave it alone.
//
// Reading order: memory.go, collector.go, files_unix.go, port_linux.go.
package host
