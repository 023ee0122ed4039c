package interop

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// shopify is IBM/sarama, once Shopify's.
type shopify struct {
	addr    string
	version sarama.KafkaVersion // what it takes the broker for; it never sends newer requests
	silent  bool                // it never sends ApiVersions, as releases up to 1.27 and kafka_exporter do
}

func (s shopify) Name() string {
	if s.silent {
		return "sarama-silent-" + s.version.String()
	}
	if s.version == sarama.MaxVersion {
		return "sarama"
	}
	return "sarama-" + s.version.String()
}

func (s shopify) config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version, c.ApiVersionsRequest = s.version, !s.silent
	c.Producer.Return.Successes = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.MaxMessageBytes = 8 << 20
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Consumer.Return.Errors = true
	c.Consumer.MaxWaitTime = 50 * time.Millisecond // Close waits for the fetch in flight
	return c
}

func (s shopify) admin(fn func(sarama.ClusterAdmin) error) error {
	a, err := sarama.NewClusterAdmin([]string{s.addr}, s.config())
	if err != nil {
		return err
	}
	defer a.Close()
	return fn(a)
}

func (s shopify) CreateTopic(_ context.Context, topic string, partitions int, configs map[string]string) error {
	return s.admin(func(a sarama.ClusterAdmin) error {
		d := &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
		for k, v := range configs {
			d.ConfigEntries[k] = &v
		}
		return a.CreateTopic(topic, d, false)
	})
}

func (s shopify) DeleteTopic(_ context.Context, topic string) error {
	return s.admin(func(a sarama.ClusterAdmin) error { return a.DeleteTopic(topic) })
}

func (s shopify) Partitions(_ context.Context, topic string) (n int, err error) {
	err = s.admin(func(a sarama.ClusterAdmin) error {
		m, err := a.DescribeTopics([]string{topic})
		if err != nil {
			return err
		}
		n = len(m[0].Partitions)
		if m[0].Err != sarama.ErrNoError {
			return m[0].Err
		}
		return nil
	})
	return n, err
}

func (s shopify) Produce(_ context.Context, topic string, opts produceOptions, records []record) error {
	c := s.config()
	c.Producer.Compression = map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}[opts.Codec]
	if opts.Idempotent {
		c.Producer.Idempotent = true
		c.Net.MaxOpenRequests = 1
	}
	p, err := sarama.NewSyncProducer([]string{s.addr}, c)
	if err != nil {
		return err
	}
	defer p.Close()
	var out []*sarama.ProducerMessage
	for _, r := range records {
		m := &sarama.ProducerMessage{Topic: topic, Partition: 0, Timestamp: r.Time}
		if r.Key != nil {
			m.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			m.Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
		out = append(out, m)
	}
	return p.SendMessages(out)
}

func (s shopify) Consume(ctx context.Context, topic string, from int64, n int) ([]record, error) {
	c, err := sarama.NewConsumer([]string{s.addr}, s.config())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	p, err := c.ConsumePartition(topic, 0, from)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var got []record
	for len(got) < n {
		select {
		case m := <-p.Messages():
			r := record{Key: m.Key, Value: m.Value, Time: m.Timestamp, Offset: m.Offset}
			for _, h := range m.Headers {
				r.Headers = append(r.Headers, header{string(h.Key), h.Value})
			}
			got = append(got, r)
		case err := <-p.Errors():
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("after %d of %d records: %w", len(got), n, ctx.Err())
		}
	}
	return got, nil
}

func (s shopify) OffsetAt(_ context.Context, topic string, at time.Time) (int64, error) {
	c, err := sarama.NewClient([]string{s.addr}, s.config())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.GetOffset(topic, 0, at.UnixMilli())
}
