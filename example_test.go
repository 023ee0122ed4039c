package ottla_test

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla"
)

// A broker inside a program, and a client that writes a record and reads it back.
func Example() {
	dir, err := os.MkdirTemp("", "ottla")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	server, err := ottla.Start(ctx, ottla.Options{DataDir: dir, Listen: "127.0.0.1:0", Admin: "off"})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	client, err := kgo.NewClient(kgo.SeedBrokers(server.Addr()), kgo.AllowAutoTopicCreation(),
		kgo.ConsumeTopics("greetings"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "greetings", Value: []byte("hello")}).FirstErr(); err != nil {
		panic(err)
	}
	for _, r := range client.PollFetches(ctx).Records() {
		fmt.Printf("%s[%d] offset %d: %s\n", r.Topic, r.Partition, r.Offset, r.Value)
	}
	// Output: greetings[0] offset 0: hello
}

// Two brokers in one process share nothing.
func ExampleStart_two() {
	ctx := context.Background()
	for _, rack := range []string{"north", "south"} {
		server, err := ottla.Start(ctx, ottla.Options{
			Memory: true, Listen: "127.0.0.1:0", Admin: "off",
			Settings: map[string]string{"broker.rack": rack, "num.partitions": "3"},
		})
		if err != nil {
			panic(err)
		}
		defer server.Close() //nolint:gocritic // both serve until the end
		fmt.Println(rack, "has node", server.NodeID(), "and data in", server.DataDir())
	}
	// Output:
	// north has node 1 and data in memory
	// south has node 1 and data in memory
}
