// Standalone reads two partitions of its choice from where it stopped to the end, and keeps its place under a group's name.
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

const group = "audit"

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(cmp.Or(os.Getenv("OTTLA_BROKERS"), "127.0.0.1:9092")))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return err
	}
	ends, err := admin.ListEndOffsets(ctx, "orders")
	if err != nil {
		return err
	}

	from, left := make(map[int32]kgo.Offset), int64(0)
	for _, p := range []int32{0, 2} {
		at := int64(0)
		if c, ok := committed.Lookup("orders", p); ok {
			at = c.At
		}
		end, _ := ends.Lookup("orders", p)
		from[p], left = kgo.NewOffset().At(at), left+end.Offset-at
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{"orders": from}) // nobody else is asked
	fmt.Println(left, "records to read")
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		left -= int64(fetches.NumRecords())
		if err := admin.CommitAllOffsets(ctx, group, kadm.OffsetsFromFetches(fetches)); err != nil {
			return err
		}
	}
	return nil
}
