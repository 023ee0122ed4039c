// Package groupapi answers the requests about groups and their offsets: one file for each API key, as in package api, whose family it is.
// It translates between kmsg and the inputs and results of the group machine; what a request means is decided there.
//
// Invariants:
//  1. Nothing of a request's bytes is kept: protocol metadata and assignments are cloned before they go to the machine.
//  2. Every input that is put to a coordinator is waited for, or given up (Call.Drop), once.
//  3. The answer to one request grows with the request and with what the groups it names hold, each counted once: no group is
//     described, and no offset given, twice in one response.
//  4. Old versions see only codes that they know.
//
// Early keys (see package api): JoinGroup, SyncGroup, Heartbeat, OffsetCommit, ConsumerGroupHeartbeat. The rest wait in their handler.
//
// Concurrency: the handlers have no state. A reply belongs to one goroutine at a time.
//
// Files in reading order: groups.go (what the handlers stand on), park.go (a reply that waits for a coordinator), and the keys by number.
package groupapi
