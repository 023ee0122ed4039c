package interop

import (
	"context"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kversion"
)

// record is what a scenario sends and expects back.
type record struct {
	Key, Value []byte
	Headers    []header
	Time       time.Time // zero: now
	Offset     int64     // set when consumed
}

type header struct {
	Key   string
	Value []byte
}

// produceOptions say how a client sends.
type produceOptions struct {
	Codec      string // none gzip snappy lz4 zstd
	Idempotent bool
}

// client is one Kafka client library. Partition 0 is meant everywhere.
type client interface {
	Name() string
	CreateTopic(ctx context.Context, topic string, partitions int, configs map[string]string) error
	DeleteTopic(ctx context.Context, topic string) error
	// Partitions counts a topic's partitions; an error if there is no such topic.
	Partitions(ctx context.Context, topic string) (int, error)
	Produce(ctx context.Context, topic string, opts produceOptions, records []record) error
	// Consume reads from the offset on until n records came.
	Consume(ctx context.Context, topic string, from int64, n int) ([]record, error)
	// OffsetAt is the first offset at or after t.
	OffsetAt(ctx context.Context, topic string, t time.Time) (int64, error)
}

func clients(addr string) []client {
	return []client{franz{addr: addr}, shopify{addr: addr, version: sarama.MaxVersion}, segmentio{addr}, librdkafka{addr}}
}

// eras are clients held to the versions of older Kafkas, down to the first with today's message format; the silent
// ones never ask what the broker has (traps.md trap 3 and rule 3).
func eras(addr string) []client {
	list := []client{
		shopify{addr: addr, version: sarama.V0_11_0_0},
		shopify{addr: addr, version: sarama.V1_0_0_0},
		shopify{addr: addr, version: sarama.V2_1_0_0},
		shopify{addr: addr, version: sarama.V0_11_0_0, silent: true},
		shopify{addr: addr, version: sarama.V2_8_0_0, silent: true},
	}
	for _, v := range []*kversion.Versions{
		kversion.V0_11_0(), kversion.V1_0_0(), kversion.V1_1_0(), kversion.V2_0_0(), kversion.V2_1_0(), kversion.V2_4_0(),
		kversion.V2_8_0(), kversion.V3_9_0(), kversion.V4_0_0(),
	} {
		list = append(list, franz{addr, v})
	}
	return list
}
