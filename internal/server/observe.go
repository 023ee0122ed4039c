package server

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Observer is told what metrics count. Its methods are called on the hot path, by many goroutines at once: they must be cheap.
type Observer interface {
	// Connections is told of each connection that opens (1) and closes (-1) on a listener.
	Connections(listener string, delta int)
	// Refused is told of each connection that was closed for a reason of the server's: "limit", "limit-ip", "frame", "idle", "slow", "memory".
	Refused(listener, reason string)
	// Answered is told of n requests, alike and received together, when their responses were written: how long that took since the frames were
	// complete, and the bytes of all of both with their size prefixes. A produce that wants no answer has out 0.
	Answered(key kmsg.Key, version int16, took time.Duration, n int, in, out int64)
}

// nobody is the Observer that is not there.
type nobody struct{}

func (nobody) Connections(string, int)                                    {}
func (nobody) Refused(string, string)                                     {}
func (nobody) Answered(kmsg.Key, int16, time.Duration, int, int64, int64) {}
