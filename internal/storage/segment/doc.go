// Package segment is one segment of a partition's log: Kafka's files .log, .index, .timeindex and .txnindex.
package segment
