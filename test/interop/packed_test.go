package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestWellCompressedBatch: 20,000 similar records of 1.2 KiB, in one batch of some 100 KB, are taken by a plain and by a compacted
// topic, found by time by every client, and read.
func TestWellCompressedBatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	addr := startBroker(t)
	const n = 20_000
	begin := time.UnixMilli(1_700_000_000_000)
	value := []byte(strings.Repeat("reading=0017;", 95))
	for _, policy := range []string{"delete", "compact"} {
		create(ctx, t, franz{addr: addr}, policy, map[string]string{"cleanup.policy": policy, "retention.ms": "-1"})
		producer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(policy), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(time.Minute), kgo.MaxBufferedRecords(2*n),
			kgo.ProducerBatchMaxBytes(64<<20), kgo.BrokerMaxWriteBytes(100<<20))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			producer.Produce(ctx, &kgo.Record{Key: fmt.Appendf(nil, "sensor-%02d", i/200), Value: value, Timestamp: begin.Add(time.Duration(i) * time.Millisecond)},
				func(_ *kgo.Record, err error) {
					if err != nil {
						t.Errorf("%s: %v", policy, err)
					}
				})
		}
		if err := producer.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		producer.Close()
		for _, c := range clients(addr) {
			for _, i := range []int64{0, 12_345, n - 1} {
				at := begin.Add(time.Duration(i) * time.Millisecond)
				if got, err := c.OffsetAt(ctx, policy, at); err != nil || got != i {
					t.Errorf("%s: %s finds offset %d at %v, %v; want %d", policy, c.Name(), got, at, err, i)
				}
			}
		}
		err = (franz{addr: addr}).admin(func(a *kadm.Client) error {
			list, err := a.ListMaxTimestampOffsets(ctx, policy)
			if found, ok := list.Lookup(policy, 0); err == nil && (!ok || found.Err != nil || found.Offset != n-1) {
				t.Errorf("%s: the largest timestamp is found at %+v; want offset %d", policy, found, n-1)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := (franz{addr: addr}).Consume(ctx, policy, 0, n)
		if err != nil || len(got) != n || string(got[n-1].Value) != string(value) {
			t.Fatalf("%s: %d records, %v", policy, len(got), err)
		}
	}
}
