// Join reads a topic as a member of a group.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
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
		kgo.ConsumerGroup("join"),
		kgo.ConsumeTopics("orders"),
	)
	if err != nil {
		return err
	}
	defer client.Close() // leaves the group, so that others take over at once

	for handled := 0; handled < 12; { // yours goes on until it is told to stop
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Printf("%s/%d at %d: %s\n", r.Topic, r.Partition, r.Offset, r.Value)
			handled++
		})
	}
	return client.CommitUncommittedOffsets(ctx) // the last poll too, which auto-commit leaves out
}
