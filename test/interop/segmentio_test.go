package interop

import (
	"context"
	"errors"
	"fmt"
	"testing"
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

// TestSegmentioConn uses kafka-go's connection, which sends fixed versions of requests whatever the broker has:
// Metadata 1 and 6, CreateTopics 0 to 2, DeleteTopics 0 and 1, Produce 2 to 7, Fetch 2 to 10, ListOffsets 1.
func TestSegmentioConn(t *testing.T) {
	t.Parallel()
	addr := startBroker(t)
	conn, err := kafka.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.CreateTopics(kafka.TopicConfig{Topic: "old", NumPartitions: 2, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	partitions, err := conn.ReadPartitions("old")
	if err != nil || len(partitions) != 2 {
		t.Fatalf("partitions %v, error %v; want 2", partitions, err)
	}
	if b, err := conn.Controller(); err != nil || b.ID != 1 {
		t.Errorf("controller %v, error %v; want 1", b, err)
	}
	if all, err := conn.Brokers(); err != nil || len(all) != 1 {
		t.Errorf("brokers %v, error %v; want 1", all, err)
	}
	segmentioLeader(t, addr)
	if err := conn.DeleteTopics("old"); err != nil {
		t.Error(err)
	}
	if err := conn.DeleteTopics("old"); !errors.Is(err, kafka.UnknownTopicOrPartition) {
		t.Errorf("deleted twice: %v", err)
	}
}

// segmentioLeader writes and reads partition 0 of the topic old.
func segmentioLeader(t *testing.T, addr string) {
	t.Helper()
	leader, err := kafka.DialLeader(t.Context(), "tcp", addr, "old", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	if err := leader.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	sent := kafka.Message{Key: []byte("k"), Value: []byte("v"), Headers: []kafka.Header{{Key: "h", Value: []byte("x")}}}
	for _, codec := range []compress.Compression{0, compress.Gzip, compress.Snappy, compress.Lz4, compress.Zstd} {
		if _, err := leader.WriteCompressedMessages(codec.Codec(), sent, sent); err != nil {
			t.Fatalf("%v: %v", codec, err)
		}
	}
	if first, last, err := leader.ReadOffsets(); err != nil || first != 0 || last != 10 {
		t.Errorf("offsets %d to %d, error %v; want 0 to 10", first, last, err)
	}
	if _, err := leader.Seek(3, kafka.SeekAbsolute); err != nil { // the middle of a batch
		t.Fatal(err)
	}
	for want := int64(3); want < 10; want++ {
		m, err := leader.ReadMessage(1 << 20)
		if err != nil || m.Offset != want || string(m.Value) != "v" || len(m.Headers) != 1 {
			t.Fatalf("record %+v, error %v; want offset %d", m, err, want)
		}
	}
}
