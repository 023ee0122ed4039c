// Package configapi answers the requests about settings: of topics, brokers, groups, client metrics subscriptions and
// loggers. It has one file for each API key, as package api has, and translates between kmsg and the metadata machine,
// which judges and keeps the settings.
//
// Invariants:
//  1. One request describes each resource once, so the answer grows with the request and with the settings that exist.
//  2. Each resource of an alter succeeds or fails by itself, its changes together.
//  3. Values of passwords never leave.
//
// Concurrency: the handlers have no state but the level of the broker's log, which is atomic.
//
// Files in reading order: family.go (what the handlers stand on), entries.go (the settings by resource), the keys by
// number, alter_check.go (what this node judges), audit.go, loggers.go.
package configapi
