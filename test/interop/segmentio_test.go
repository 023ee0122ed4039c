package interop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
)

// segmentio is segmentio/kafka-go. It has no idempotent producer: the scenario then shows that plain retries-free
// sends arrive once.
type segmentio struct{ addr string }

func (s segmentio) Name() string { return "kafka-go" }

func (s segmentio) client() *kafka.Client { return &kafka.Client{Addr: kafka.TCP(s.addr)} }

func (s segmentio) CreateTopic(ctx context.Context, topic string, partitions int, configs map[string]string) error {
	t := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
	for k, v := range configs {
		t.ConfigEntries = append(t.ConfigEntries, kafka.ConfigEntry{ConfigName: k, ConfigValue: v})
	}
	resp, err := s.client().CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{t}})
	if err != nil {
		return err
	}
	return resp.Errors[topic]
}

func (s segmentio) DeleteTopic(ctx context.Context, topic string) error {
	resp, err := s.client().DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return resp.Errors[topic]
}

func (s segmentio) Partitions(ctx context.Context, topic string) (int, error) {
	resp, err := s.client().Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return 0, err
	}
	return len(resp.Topics[0].Partitions), resp.Topics[0].Error
}

func (s segmentio) Produce(ctx context.Context, topic string, opts produceOptions, records []record) error {
	codec := map[string]compress.Compression{
		"none": 0, "gzip": compress.Gzip, "snappy": compress.Snappy, "lz4": compress.Lz4, "zstd": compress.Zstd,
	}[opts.Codec]
	w := &kafka.Writer{
		Addr: kafka.TCP(s.addr), Topic: topic, Compression: codec, RequiredAcks: kafka.RequireAll,
		BatchTimeout: time.Millisecond, BatchBytes: 8 << 20, BatchSize: 500, MaxAttempts: 1,
		Transport: &kafka.Transport{},
	}
	var out []kafka.Message
	for _, r := range records {
		m := kafka.Message{Key: r.Key, Value: r.Value, Time: r.Time}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		out = append(out, m)
	}
	return errors.Join(w.WriteMessages(ctx, out...), w.Close())
}

func (s segmentio) Consume(ctx context.Context, topic string, from int64, n int) ([]record, error) {
	// Close waits for the fetch in flight, and the reader begins the next as soon as it has one's records: with
	// its default of 10 s every reader would be idle that long.
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.addr}, Topic: topic, MaxBytes: 10 << 20, MaxWait: 50 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(from); err != nil {
		return nil, err
	}
	var got []record
	for len(got) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", len(got), n, err)
		}
		rec := record{Key: m.Key, Value: m.Value, Time: m.Time, Offset: m.Offset}
		for _, h := range m.Headers {
			rec.Headers = append(rec.Headers, header{h.Key, h.Value})
		}
		got = append(got, rec)
	}
	return got, nil
}

func (s segmentio) OffsetAt(ctx context.Context, topic string, at time.Time) (int64, error) {
	resp, err := s.client().ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: {kafka.TimeOffsetOf(0, at)}},
	})
	if err != nil {
		return 0, err
	}
	p := resp.Topics[topic][0]
	for offset := range p.Offsets {
		return offset, p.Error
	}
	return -1, p.Error
}
