// Nextgen joins by the next generation of the group protocol, in which the broker assigns.
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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

const group = "nextgen"

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cmp.Or(os.Getenv("OTTLA_BROKERS"), "127.0.0.1:9092")),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics("orders"),
		kgo.ServerSideBalancer(),
		kgo.Balancers(kgo.StickyBalancer()), // the broker's uniform assignor; RangeBalancer: its range
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()

	for handled := 0; handled < 12; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		handled += fetches.NumRecords()
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
	groups, err := kadm.NewClient(client).DescribeConsumerGroups(ctx, group)
	if err != nil {
		return err
	}
	for _, g := range groups.Sorted() {
		fmt.Printf("%s is %s, assigned by %s\n", g.Group, g.State, g.AssignorName)
		for _, m := range g.Members {
			fmt.Println("one member owns", slices.Sorted(maps.Keys(m.Assignment["orders"])))
		}
	}
	return nil
}
