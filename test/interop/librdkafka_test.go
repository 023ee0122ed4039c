package interop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// librdkafka is confluent-kafka-go, which links the C library.
type librdkafka struct{ addr string }

func (l librdkafka) Name() string { return "librdkafka" }

func (l librdkafka) config(more kafka.ConfigMap) *kafka.ConfigMap {
	c := kafka.ConfigMap{"bootstrap.servers": l.addr}
	maps.Copy(c, more)
	return &c
}

func (l librdkafka) admin(fn func(*kafka.AdminClient) error) error {
	a, err := kafka.NewAdminClient(l.config(nil))
	if err != nil {
		return err
	}
	defer a.Close()
	return fn(a)
}

func resultError(results []kafka.TopicResult, err error) error {
	if err != nil {
		return err
	}
	if results[0].Error.Code() != kafka.ErrNoError {
		return results[0].Error
	}
	return nil
}

func (l librdkafka) CreateTopic(ctx context.Context, topic string, partitions int, configs map[string]string) error {
	return l.admin(func(a *kafka.AdminClient) error {
		return resultError(a.CreateTopics(ctx, []kafka.TopicSpecification{
			{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1, Config: configs},
		}))
	})
}

func (l librdkafka) DeleteTopic(ctx context.Context, topic string) error {
	return l.admin(func(a *kafka.AdminClient) error { return resultError(a.DeleteTopics(ctx, []string{topic})) })
}

func (l librdkafka) Partitions(_ context.Context, topic string) (n int, err error) {
	err = l.admin(func(a *kafka.AdminClient) error {
		m, err := a.GetMetadata(&topic, false, 10_000)
		if err != nil {
			return err
		}
		n = len(m.Topics[topic].Partitions)
		if e := m.Topics[topic].Error; e.Code() != kafka.ErrNoError {
			return e
		}
		return nil
	})
	return n, err
}

func (l librdkafka) Produce(ctx context.Context, topic string, opts produceOptions, records []record) error {
	p, err := kafka.NewProducer(l.config(kafka.ConfigMap{
		"compression.type": opts.Codec, "enable.idempotence": opts.Idempotent, "acks": "all", "message.max.bytes": 8 << 20,
	}))
	if err != nil {
		return err
	}
	defer p.Close()
	delivered := make(chan kafka.Event, len(records))
	for _, r := range records {
		m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: 0}, Key: r.Key, Value: r.Value, Timestamp: r.Time}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		if err := p.Produce(m, delivered); err != nil {
			return err
		}
	}
	for range records {
		select {
		case e := <-delivered:
			if err := e.(*kafka.Message).TopicPartition.Error; err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (l librdkafka) consumer() (*kafka.Consumer, error) {
	return kafka.NewConsumer(l.config(kafka.ConfigMap{
		"group.id": "unused", "enable.auto.commit": false, "auto.offset.reset": "error", "fetch.message.max.bytes": 8 << 20,
	}))
}

func (l librdkafka) Consume(ctx context.Context, topic string, from int64, n int) ([]record, error) {
	c, err := l.consumer()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Assign([]kafka.TopicPartition{{Topic: &topic, Partition: 0, Offset: kafka.Offset(from)}}); err != nil {
		return nil, err
	}
	var got []record
	for len(got) < n {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", len(got), n, ctx.Err())
		}
		switch e := c.Poll(100).(type) {
		case *kafka.Message:
			r := record{Key: e.Key, Value: e.Value, Time: e.Timestamp, Offset: int64(e.TopicPartition.Offset)}
			for _, h := range e.Headers {
				r.Headers = append(r.Headers, header{h.Key, h.Value})
			}
			got = append(got, r)
		case kafka.Error:
			return nil, e
		}
	}
	return got, nil
}

func (l librdkafka) OffsetAt(_ context.Context, topic string, at time.Time) (int64, error) {
	c, err := l.consumer()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	found, err := c.OffsetsForTimes([]kafka.TopicPartition{{Topic: &topic, Partition: 0, Offset: kafka.Offset(at.UnixMilli())}}, 10_000)
	if err != nil {
		return 0, err
	}
	return int64(found[0].Offset), found[0].Error
}

// TestLibrdkafkaBadTopic: traps.md rule 14, a producer to a name that no topic may have learns it at once, from the
// metadata that it asks for.
func TestLibrdkafkaBadTopic(t *testing.T) {
	t.Parallel()
	l := librdkafka{startBroker(t)}
	err := l.Produce(t.Context(), "no/topic", produceOptions{Codec: "none"}, []record{{Value: []byte("v")}})
	var kerr kafka.Error
	if !errors.As(err, &kerr) || kerr.Code() != kafka.ErrTopicException {
		t.Errorf("error %v; want an invalid topic", err)
	}
}
