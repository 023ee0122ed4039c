// Seek goes back: to an offset, and to a time.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
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
		kgo.ConsumerGroup("seek"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), // so that what is sought is still ours
	)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()

	if err := read(ctx, client, "from the start", 12); err != nil {
		return err
	}
	client.SetOffsets(map[string]map[int32]kgo.EpochOffset{"orders": {1: {Epoch: -1, Offset: 2}}})
	if err := read(ctx, client, "orders/1 from offset 2", 2); err != nil {
		return err
	}

	hourAgo := time.Now().Add(-time.Hour).UnixMilli()
	offsets, err := kadm.NewClient(client).ListOffsetsAfterMilli(ctx, hourAgo, "orders")
	if err != nil {
		return err
	}
	to := make(map[int32]kgo.EpochOffset)
	offsets.Each(func(o kadm.ListedOffset) { to[o.Partition] = kgo.EpochOffset{Epoch: -1, Offset: o.Offset} })
	client.SetOffsets(map[string]map[int32]kgo.EpochOffset{"orders": to})
	if err := read(ctx, client, "from an hour ago", 12); err != nil {
		return err
	}
	return client.CommitUncommittedOffsets(ctx) // until then nobody else knows of it
}

// read polls until it has n records. No rebalance happens from its last poll on until it is called again.
func read(ctx context.Context, client *kgo.Client, from string, n int) error {
	got := 0
	for got < n {
		client.AllowRebalance()
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		got += fetches.NumRecords()
	}
	fmt.Printf("%s: %d records\n", from, got)
	return nil
}
