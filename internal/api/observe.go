package api

import "github.com/twmb/franz-go/pkg/kmsg"

// Observer is told what metrics count. Its methods are called on the hot path, by many goroutines at once: they must be cheap.
type Observer interface {
	// Produced is told of batches that were appended together to a partition: the records and the bytes of all.
	Produced(topic string, batches, records, bytes int)
	// Fetched is told of the records, counted by their offsets, and the bytes that a response has of one partition.
	Fetched(topic string, records, bytes int)
	// Failed is told of each error code in a response.
	Failed(key kmsg.Key, code int16)
}

// nobody is the Observer that is not there.
type nobody struct{}

func (nobody) Produced(string, int, int, int) {}
func (nobody) Fetched(string, int, int)       {}
func (nobody) Failed(kmsg.Key, int16)         {}
