// Package config is one typed table of settings and everything that is made from it: the command line's
// --set, the environment, server.properties, topic configuration, DescribeConfigs and docs/reference/config.md.
//
// Invariants:
//
//  1. A setting has one row, with Kafka's name, type, default and limits; nothing else in the program spells a default.
//  2. Every value knows where it came from: a flag, a variable, a file and line, a dynamic change, or the default.
//  3. Order: flags, OTTLA_*, KAFKA_*, file, defaults; a dynamic change stands above them all, as in Kafka.
//  4. A value that cannot be is an error that names the key, the value, what is allowed and the place.
//  5. An unknown key of a file or a variable warns with the nearest known one; one of a flag, or one that looks like a security setting is
//     an error, because a protection that is silently not there is worse than a broker that does not start.
//  6. A key that has no effect here says so when it is set at the start. Every setting of Kafka 3.9 and 4.4 is in the table, with its type,
//     default and limits (testdata/kafka.tsv holds what Kafka's ConfigDefs say).
//  7. A change is judged by what it changes. What a directory of Kafka holds besides is kept and described, and has no effect where it is not
//     allowed here.
//
// A Config does not change; WithDynamic makes a new one. So any number of goroutines may read it.
//
// Files in reading order: setting.go (what a row is), check.go (limits), table_*.go (the rows), rows.go (rows written as text), file.go and env.go (where
// texts come from), load.go (texts to a Config), config.go (reading values), listener.go, topic.go (a topic's
// options), describe.go (DescribeConfigs), explain.go, suggest.go, markdown.go.
package config
