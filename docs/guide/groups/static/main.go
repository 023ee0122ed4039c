// Static restarts a member under the same instance id: it gets its partitions back and nobody else notices.
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

const group = "static"

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	assigned := make(chan struct{}, 10)
	join := func(instance string) (*kgo.Client, error) {
		return kgo.NewClient(
			kgo.SeedBrokers(cmp.Or(os.Getenv("OTTLA_BROKERS"), "127.0.0.1:9092")),
			kgo.ConsumerGroup(group),
			kgo.InstanceID(instance),
			kgo.SessionTimeout(20*time.Second), // as long as a restart may take
			kgo.ConsumeTopics("orders"),
			kgo.OnPartitionsAssigned(func(_ context.Context, client *kgo.Client, got map[string][]int32) {
				if len(got) > 0 {
					_, generation := client.GroupMetadata()
					fmt.Println(instance, "is assigned", got["orders"], "in generation", generation)
					assigned <- struct{}{}
				}
			}),
		)
	}
	wait := func() {
		select {
		case <-assigned:
		case <-ctx.Done():
		}
	}
	first, err := join("shop-1")
	if err != nil {
		return err
	}
	defer first.Close()
	wait()
	second, err := join("shop-2")
	if err != nil {
		return err
	}
	wait()

	second.Close() // a static member does not leave
	fmt.Println("shop-2 restarts")
	if second, err = join("shop-2"); err != nil {
		return err
	}
	wait()

	second.Close()
	fmt.Println("shop-2 is removed")
	left, err := kadm.NewClient(first).LeaveGroup(ctx, kadm.LeaveGroup(group).InstanceIDs("shop-2"))
	if err != nil {
		return err
	}
	wait()
	return cmp.Or(left.Error(), ctx.Err())
}
