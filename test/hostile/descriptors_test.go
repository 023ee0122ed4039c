package hostile

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestFewDescriptors gives the broker 256 descriptors and 400 partitions whose topics never ask for a sync, rolls their segments, and
// takes the descriptors that are left with connections. Clients get along with refusals that can be tried again; nothing goes offline.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := tryStart(t, dir, []string{"sh", "-c", `ulimit -n 256; exec "$0" "$@"`})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.log)
	}
	const partitions, rounds = 400, 3
	b.create(t, "many", partitions, "durability", "memory", "segment.bytes", "1048576")
	b.create(t, "safe", partitions/4)
	cl := b.client(t, kgo.RecordRetries(1000), kgo.RetryTimeout(30*time.Second), kgo.RecordDeliveryTimeout(30*time.Second))
	value := make([]byte, 600<<10) // two fill a segment
	for round := range rounds {
		var records []*kgo.Record
		for p := range int32(partitions) {
			size := 10
			if int(p)%10 == round {
				size = len(value)
			}
			records = append(records, &kgo.Record{Topic: "many", Partition: p, Value: value[:size]})
			if p < partitions/4 {
				records = append(records, &kgo.Record{Topic: "safe", Partition: p, Value: []byte(strconv.Itoa(round))})
			}
		}
		var hold []conn
		if round == 1 {
			for range 150 {
				hold = append(hold, b.dial(t)) // some are never accepted
			}
		}
		if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, b.log)
		}
		for _, c := range hold {
			c.Close()
		}
	}
	b.alive(t)
	if text := b.log.String(); strings.Contains(text, "offline") {
		t.Errorf("something went offline:\n%.2000s", text)
	}
	for _, p := range []int32{0, 7, partitions/4 - 1} {
		b.wantValues(t, "safe", p, []string{"0", "1", "2"})
	}
	b.kill()
	b = start(t, dir)
	for _, p := range []int32{0, 7, partitions/4 - 1} {
		b.wantValues(t, "safe", p, []string{"0", "1", "2"})
	}
	b.serves(t)
}

// TestManyConnections fills the broker's descriptors with connections: data is still written and read by those that have one.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	b, err := tryStart(t, t.TempDir(), []string{"sh", "-c", `ulimit -n 256; exec "$0" "$@"`})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.log)
	}
	b.create(t, "busy", 20, "segment.bytes", "1048576")
	c := b.dial(t)
	c.ask(kmsg.NewPtrMetadataRequest())
	for range 400 {
		b.dial(t)
	}
	for p := range int32(20) {
		for try := 0; ; try++ {
			got := c.ask(produceOf("busy", p, simpleBatch("v"))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			if got.ErrorCode == 0 {
				break
			}
			if try == 100 {
				t.Fatalf("partition %d: error %d\n%s", p, got.ErrorCode, b.log)
			}
		}
	}
	b.alive(t)
	if text := b.log.String(); strings.Contains(text, "offline;") {
		t.Errorf("the directory went offline:\n%.2000s", text)
	}
}
