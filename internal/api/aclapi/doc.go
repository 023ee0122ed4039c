// Package aclapi answers the requests about access control lists: one file for each API key, as in
// package api, whose family it is.
//
// There is no authorizer yet. Every request gets SECURITY_DISABLED, the answer of a Kafka broker without
// `authorizer.class.name`. The keys are served and not left out, because clients take this error as final:
// a closed connection makes them reconnect and repeat the request until they run out of time.
//
// Invariants:
//  1. Each creation and each filter of a request has one result, in the request's order: clients pair them by place.
//
// Concurrency: the handlers have no state.
//
// Files in reading order: family.go, then the keys by number.
package aclapi
