// Given commits offsets of its choice, with a note beside one.
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
		kgo.ConsumerGroup("given"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()

	for seen := 0; seen < 12; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			seen++
			if r.Partition == 0 && r.Offset == 1 { // after a record: the committed offset is the next one, 2
				if err := client.CommitRecords(ctx, r); err != nil {
					return err
				}
			}
		}
	}
	note := kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		req.Topics[0].Partitions[0].Metadata = new("checked by hand")
		return nil
	})
	at := map[string]map[int32]kgo.EpochOffset{"orders": {1: {Epoch: -1, Offset: 3}}} // the next to handle is 3
	client.CommitOffsetsSync(note, at, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, e error) { err = e })
	if err != nil {
		return err
	}

	offsets, err := kadm.NewClient(client).FetchOffsets(ctx, "given")
	if err != nil {
		return err
	}
	for _, o := range offsets.Sorted() {
		fmt.Printf("orders/%d: %d %q\n", o.Partition, o.At, o.Metadata) // franz-go writes its member id where nobody else writes anything
	}
	return nil
}
