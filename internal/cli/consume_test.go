package cli

import (
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla"
)

// TestIdle: a consumer that hears nothing asks the broker, and passes neither a record nor the log's end.
func TestIdle(t *testing.T) {
	t.Parallel()
	s, err := ottla.Start(t.Context(), ottla.Options{Memory: true, Listen: "127.0.0.1:0", Admin: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := &app{out: io.Discard, errOut: io.Discard, brokers: s.Addr(), timeout: 10 * time.Second}
	client, err := a.client(t.Context(), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c := &consumption{app: a, client: client, left: 2, where: limits{"t": {0: {from: 1, to: 5}}}}
	for next, want := range map[int64]int64{0: 0, 1: 1, 2: 2} {
		if got, err := c.passEmpty(t.Context(), "t", 0, next); err != nil || got != want {
			t.Errorf("from %d: got %d, %v", next, got, err)
		}
	}
	if _, err := c.passEmpty(t.Context(), "t", 0, 99); err == nil {
		t.Error("an offset after the end is passed")
	}
	if err := c.idle(t.Context()); err != nil || c.left != 2 || !c.waits {
		t.Errorf("idle: %v, %d left", err, c.left)
	}
	c.where["t"][0] = limit{2, 2}
	if err := c.idle(t.Context()); err != nil || c.left != 1 {
		t.Errorf("idle at the limit: %v, %d left", err, c.left)
	}
}
