// Package wire is what travels between a client and a broker: frames, headers, the version table.
//
// Requests are decoded, and most responses encoded, by kmsg. This package stands around it: it says which versions
// are spoken, refuses what is malformed or would decode to far more than it is before kmsg sees it, and encodes the two
// responses of the hot path itself, so that no record is ever copied into a response, and decodes plain produce requests itself.
//
// Invariants:
//
//  1. Nothing here panics, and nothing is allocated by a length that was not checked against the bytes that are there.
//  2. What Cost accepts, kmsg decodes; decoding takes no more memory than Cost said.
//  3. ApiVersions advertises the table in versions.go and nothing else. What is missing stands in the ledger.
//  4. The encoders of produce and fetch responses give the same bytes as kmsg at every version.
//  5. DecodeProduce takes and refuses what Decode does, and makes the same of it.
//
// Concurrency: everything is a pure function or a struct owned by its caller; the tables never change.
//
// Files in reading order: versions.go, name.go, ledger.go, header.go, layout.go, skim.go, decode.go,
// decode_produce.go, response.go, encode.go, produce.go, fetch.go.
package wire
