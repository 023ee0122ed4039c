// Listener is told which partitions come and go, and commits before one goes.
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
	assigned := make(chan struct{}, 10)
	wait := func() error {
		select {
		case <-assigned:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	first, err := join(ctx, "first", assigned)
	if err != nil {
		return err
	}
	defer first.CloseAllowingRebalance()
	if err := wait(); err != nil { // all partitions are first's
		return err
	}
	second, err := join(ctx, "second", assigned)
	if err != nil {
		return err
	}
	defer second.CloseAllowingRebalance()
	if err := wait(); err != nil { // one is second's
		return err
	}
	second.CloseAllowingRebalance()
	return wait() // and first's again
}

// join starts a member, which tells assigned when it has got partitions.
func join(ctx context.Context, name string, assigned chan<- struct{}) (*kgo.Client, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cmp.Or(os.Getenv("OTTLA_BROKERS"), "127.0.0.1:9092")),
		kgo.ConsumerGroup("listener"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), // no listener runs between a poll and AllowRebalance
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) {
			if len(got) > 0 { // load here what belongs to these partitions
				fmt.Println(name, "is assigned", got["orders"])
				assigned <- struct{}{}
			}
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, going map[string][]int32) {
			if err := client.CommitUncommittedOffsets(ctx); err != nil { // they are still ours: this is the moment
				log.Print(err)
			}
			if len(going) > 0 {
				fmt.Println(name, "gives up", going["orders"])
			}
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			fmt.Println(name, "has lost", lost["orders"]) // they may be another's already: do not commit
		}),
	)
	if err != nil {
		return nil, err
	}
	go func() {
		for !client.PollFetches(ctx).IsClientClosed() && ctx.Err() == nil {
			// Handle what was polled here.
			client.AllowRebalance()
		}
	}()
	return client, nil
}
