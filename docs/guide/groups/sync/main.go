// Sync commits what it has handled, waits for the answer, and only then lets a rebalance happen.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
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
		kgo.ConsumerGroup("sync"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()

	for handled := 0; handled < 12; {
		fetches := client.PollRecords(ctx, 100) // few enough to be handled well within the rebalance timeout
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(*kgo.Record) { handled++ })
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
		client.AllowRebalance()
	}
	committed := client.CommittedOffsets()["orders"]
	for _, p := range slices.Sorted(maps.Keys(committed)) {
		fmt.Printf("orders/%d: the next to handle is %d\n", p, committed[p].Offset)
	}
	return nil
}
