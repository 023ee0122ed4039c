package interop

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// franz is twmb/franz-go.
type franz struct {
	addr string
	max  *kversion.Versions // nil: the newest that both know
}

func (f franz) Name() string {
	if f.max == nil {
		return "franz"
	}
	return "franz-" + strings.TrimPrefix(f.max.VersionGuess(), "v")
}

func (f franz) open(opts ...kgo.Opt) (*kgo.Client, error) {
	if f.max != nil {
		opts = append(opts, kgo.MaxVersions(f.max))
	}
	return kgo.NewClient(append(opts, kgo.SeedBrokers(f.addr))...)
}

func (f franz) admin(fn func(*kadm.Client) error) error {
	c, err := f.open()
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(kadm.NewClient(c))
}

func (f franz) CreateTopic(ctx context.Context, topic string, partitions int, configs map[string]string) error {
	return f.admin(func(a *kadm.Client) error {
		c := make(map[string]*string)
		for k, v := range configs {
			c[k] = &v
		}
		_, err := a.CreateTopic(ctx, int32(partitions), 1, c, topic)
		return err
	})
}

func (f franz) DeleteTopic(ctx context.Context, topic string) error {
	return f.admin(func(a *kadm.Client) error {
		_, err := a.DeleteTopic(ctx, topic)
		return err
	})
}

func (f franz) Partitions(ctx context.Context, topic string) (n int, err error) {
	err = f.admin(func(a *kadm.Client) error {
		topics, err := a.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		n = len(topics[topic].Partitions)
		return topics[topic].Err
	})
	return n, err
}

func (f franz) Produce(ctx context.Context, topic string, opts produceOptions, records []record) error {
	codec := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[opts.Codec]
	kopts := []kgo.Opt{
		kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(8 << 20), kgo.MaxBufferedRecords(100_000),
	}
	if !opts.Idempotent {
		kopts = append(kopts, kgo.DisableIdempotentWrite())
	}
	c, err := f.open(kopts...)
	if err != nil {
		return err
	}
	defer c.Close()
	var out []*kgo.Record
	for _, r := range records {
		k := &kgo.Record{Topic: topic, Key: r.Key, Value: r.Value, Timestamp: r.Time}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		out = append(out, k)
	}
	return c.ProduceSync(ctx, out...).FirstErr()
}

func (f franz) Consume(ctx context.Context, topic string, from int64, n int) ([]record, error) {
	c, err := f.open(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var got []record
	for len(got) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", len(got), n, err)
		}
		fetches.EachRecord(func(k *kgo.Record) {
			r := record{Key: k.Key, Value: k.Value, Time: k.Timestamp, Offset: k.Offset}
			for _, h := range k.Headers {
				r.Headers = append(r.Headers, header{h.Key, h.Value})
			}
			got = append(got, r)
		})
	}
	return got, nil
}

func (f franz) OffsetAt(ctx context.Context, topic string, at time.Time) (offset int64, err error) {
	err = f.admin(func(a *kadm.Client) error {
		offsets, err := a.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topic)
		if err != nil {
			return err
		}
		o, _ := offsets.Lookup(topic, 0)
		offset = o.Offset
		return o.Err
	})
	return offset, err
}

// storedCodecs names the codecs of the batches on partition 0.
func (f franz) storedCodecs(ctx context.Context, topic string) (map[string]bool, error) {
	found := make(map[string]bool)
	err := f.each(ctx, topic, func(k *kgo.Record) { found[codecs[k.Attrs.CompressionType()]] = true })
	return found, err
}

// each calls fn with every record of partition 0 up to its end, the last of which must be there.
func (f franz) each(ctx context.Context, topic string, fn func(*kgo.Record)) error {
	var end int64
	err := f.admin(func(a *kadm.Client) error {
		offsets, err := a.ListEndOffsets(ctx, topic)
		o, _ := offsets.Lookup(topic, 0)
		end = o.Offset
		return err
	})
	if err != nil {
		return err
	}
	c, err := f.open(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return err
	}
	defer c.Close()
	for next := int64(0); next < end; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("at offset %d of %d: %w", next, end, err)
		}
		fetches.EachRecord(func(k *kgo.Record) {
			fn(k)
			next = k.Offset + 1
		})
	}
	return nil
}
