// Package meta is the metadata machine: commands become records, records become an Image of the cluster's topics,
// partitions, brokers, features and configs.
//
// Invariants:
//  1. Decide changes nothing. It judges a command against the state that the last applied record left.
//  2. Apply is all that changes state, live and on replay alike: the same records give the same Image.
//  3. An Image never changes after Image returned it.
//  4. Records are Kafka's own (KRaft) in format; unknown ones are skipped, never refused.
//  5. A record that names what is not there, or that is malformed, is an error: a metadata log is never guessed at.
//  6. Records between a transaction's begin and its end are in no Image; an abort forgets them (KIP-868).
//  7. Results are in the order of the request, records in an order that depends on the request and the state alone.
//
// Concurrency: a State belongs to one goroutine at a time; Images may be read by all.
//
// Files: image.go (what readers see), record.go (the records), encode.go and decode.go (their bytes),
// state.go and apply.go (replay), command.go (what every command shares), then one file for each command:
// create_topics.go, delete_topics.go, create_partitions.go, adopt_topic.go, alter_configs.go, register.go,
// producer_ids.go; placement.go and
// snapshot.go.
package meta
