// Autocommit stops in the middle of its work, three times, and shows what was committed by then.
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
	for _, try := range []struct {
		group   string
		options []kgo.Opt
	}{
		{"auto-greedy", []kgo.Opt{kgo.GreedyAutoCommit()}},
		{"auto-default", nil},
		{"auto-marks", []kgo.Opt{kgo.AutoCommitMarks()}},
	} {
		if err := work(try.group, try.options); err != nil {
			return fmt.Errorf("%s: %w", try.group, err)
		}
	}
	return nil
}

// work polls twice for four records and handles six of the eight.
func work(group string, options []kgo.Opt) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	broker := kgo.SeedBrokers(cmp.Or(os.Getenv("OTTLA_BROKERS"), "127.0.0.1:9092"))
	client, err := kgo.NewClient(append(options, broker, kgo.ConsumerGroup(group), kgo.ConsumeTopics("orders"))...)
	if err != nil {
		return err
	}
	defer client.Close()

	handled := 0
	for range 2 {
		fetches := client.PollRecords(ctx, 4)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			if handled == 6 {
				break
			}
			handled++
			client.MarkCommitRecords(r) // does nothing without AutoCommitMarks
		}
	}
	client.Close() // commits now what auto-commit would commit at the end of its interval

	admin, err := kadm.NewOptClient(broker)
	if err != nil {
		return err
	}
	defer admin.Close()
	offsets, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return err
	}
	committed := int64(0)
	offsets.Each(func(o kadm.OffsetResponse) { committed += o.At })
	fmt.Printf("%-12s handled %d, committed %d\n", group, handled, committed)
	return nil
}
