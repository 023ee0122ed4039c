// Async commits without waiting, and waits once, at the end.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cmp.Or(os.Getenv("OTTLA_BROKERS"), "127.0.0.1:9092")),
		kgo.ConsumerGroup("async"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()

	var acknowledged atomic.Int32
	for range 3 {
		fetches := client.PollRecords(ctx, 4)
		if err := fetches.Err(); err != nil {
			return err
		}
		// Handle them here. Commits are sent in order, each when the one before it is answered.
		client.CommitOffsets(ctx, client.UncommittedOffsets(), func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				log.Print(err) // the next commit makes up for it
				return
			}
			acknowledged.Add(1)
		})
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil { // after all of them
		return err
	}
	fmt.Println(acknowledged.Load(), "commits were acknowledged on the way")
	return nil
}
