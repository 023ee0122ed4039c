package ottlatest_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/ottlatest"
)

// A broker is one line in a test, and is stopped when the test ends.
func ExampleStart() {
	testGreeting := func(t *testing.T) { // in a file of yours: func TestGreeting
		server := ottlatest.Start(t, ottlatest.Set("num.partitions", "3"))
		greet(t, server.Addr())
	}
	_ = testGreeting
}

func greet(t *testing.T, addr string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("greetings"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("hello")).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	one, two := ottlatest.Start(t), ottlatest.Start(t, ottlatest.Set("num.partitions", "3"))
	if one.Addr() == two.Addr() || one.DataDir() == two.DataDir() {
		t.Errorf("two brokers share %s or %s", one.Addr(), one.DataDir())
	}
	greet(t, one.Addr())
	greet(t, two.Addr())
}
