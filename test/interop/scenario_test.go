package interop

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

const patience = 60 * time.Second

// codecs are Kafka's, each at its number in a batch's attributes.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// TestClients runs every scenario for every client, old versions of their requests too, against one broker.
func TestClients(t *testing.T) {
	t.Parallel()
	addr := startBroker(t)
	scenarios := []struct {
		name string
		run  func(context.Context, *testing.T, client)
	}{
		{"topics", topics},
		{"headers", headers},
		{"timestamps", timestamps},
		{"large", large},
		{"idempotence", idempotence},
		{"null", nulls},
		{"codecs", oldCodecs},
	}
	for _, c := range append(clients(addr), eras(addr)...) {
		for _, s := range scenarios {
			t.Run(c.Name()+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				s.run(ctx, t, c)
			})
		}
	}
}

// TestEachReadsTheOthers has every client produce with every codec, and every client read all of it.
func TestEachReadsTheOthers(t *testing.T) {
	t.Parallel()
	addr := startBroker(t)
	all := clients(addr)
	for _, producer := range all {
		for _, codec := range codecs {
			t.Run(producer.Name()+"/"+codec, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				topic := "x-" + producer.Name() + "-" + codec
				create(ctx, t, producer, topic, nil)
				sent := numbered(200)
				if err := producer.Produce(ctx, topic, produceOptions{Codec: codec}, sent); err != nil {
					t.Fatal(err)
				}
				expectCodec(t, addr, topic, codec)
				for _, consumer := range all {
					expect(ctx, t, consumer, topic, sent)
				}
			})
		}
	}
}

func create(ctx context.Context, t *testing.T, c client, topic string, configs map[string]string) {
	t.Helper()
	if err := c.CreateTopic(ctx, topic, 1, configs); err != nil {
		t.Fatalf("create %s: %v", topic, err)
	}
}

func has(t *testing.T, out string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("output has no %q:\n%s", want, out)
		}
	}
}

// numbered makes n records that compress but differ.
func numbered(n int) []record {
	records := make([]record, n)
	for i := range records {
		records[i] = record{
			Key:   fmt.Appendf(nil, "key-%d", i),
			Value: fmt.Appendf(nil, "value-%d-%s", i, bytes.Repeat([]byte("abc"), 50)),
		}
	}
	return records
}

func expect(ctx context.Context, t *testing.T, c client, topic string, want []record) {
	t.Helper()
	got, err := c.Consume(ctx, topic, 0, len(want))
	if err != nil {
		t.Fatalf("%s reads %s: %v", c.Name(), topic, err)
	}
	for i := range want {
		if got[i].Offset != int64(i) || !bytes.Equal(got[i].Key, want[i].Key) || !bytes.Equal(got[i].Value, want[i].Value) {
			t.Fatalf("%s reads %s: record %d is offset %d %q=%.40q; want %q=%.40q",
				c.Name(), topic, i, got[i].Offset, got[i].Key, got[i].Value, want[i].Key, want[i].Value)
		}
	}
}

// expectCodec checks what the topic's batches are compressed with as they are stored.
func expectCodec(t *testing.T, addr, topic, want string) {
	t.Helper()
	got, err := (franz{addr: addr}).storedCodecs(t.Context(), topic)
	if err != nil || len(got) != 1 || !got[want] {
		t.Errorf("%s is stored with %v, error %v; want %s", topic, got, err, want)
	}
}

func topics(ctx context.Context, t *testing.T, c client) {
	name := "topics-" + c.Name()
	if err := c.CreateTopic(ctx, name, 3, map[string]string{"retention.ms": "3600000"}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic(ctx, name, 3, nil); err == nil {
		t.Error("created the same topic twice")
	}
	if n, err := c.Partitions(ctx, name); err != nil || n != 3 {
		t.Errorf("%d partitions, error %v; want 3", n, err)
	}
	if err := c.DeleteTopic(ctx, name); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteTopic(ctx, name); err == nil {
		t.Error("deleted the same topic twice")
	}
}

func headers(ctx context.Context, t *testing.T, c client) {
	topic := "headers-" + c.Name()
	create(ctx, t, c, topic, nil)
	sent := []record{{Key: []byte("k"), Value: []byte("v"), Headers: []header{{"trace", []byte("abc")}, {"trace", []byte("def")}, {"bin", []byte{0, 255}}}}}
	if err := c.Produce(ctx, topic, produceOptions{Codec: "none"}, sent); err != nil {
		t.Fatal(err)
	}
	got, err := c.Consume(ctx, topic, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got[0].Headers) != fmt.Sprint(sent[0].Headers) {
		t.Errorf("headers %v; want %v", got[0].Headers, sent[0].Headers)
	}
}

func timestamps(ctx context.Context, t *testing.T, c client) {
	topic := "timestamps-" + c.Name()
	create(ctx, t, c, topic, nil)
	start := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	var sent []record
	for i := range 10 {
		sent = append(sent, record{Value: fmt.Appendf(nil, "v%d", i), Time: start.Add(time.Duration(i) * time.Minute)})
	}
	if err := c.Produce(ctx, topic, produceOptions{Codec: "none"}, sent); err != nil {
		t.Fatal(err)
	}
	got, err := c.Consume(ctx, topic, 0, len(sent))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sent {
		if !got[i].Time.Equal(sent[i].Time) {
			t.Errorf("record %d has time %v; want %v", i, got[i].Time, sent[i].Time)
		}
	}
	offset, err := c.OffsetAt(ctx, topic, start.Add(4*time.Minute+time.Second))
	if err != nil || offset != 5 {
		t.Errorf("offset at 4 min 1 s is %d, error %v; want 5", offset, err)
	}
}

func large(ctx context.Context, t *testing.T, c client) {
	topic := "large-" + c.Name()
	create(ctx, t, c, topic, map[string]string{"max.message.bytes": "3000000"})
	sent := []record{{Value: bytes.Repeat([]byte("x"), 2_500_000)}, {Value: []byte("small")}}
	for _, r := range sent {
		if err := c.Produce(ctx, topic, produceOptions{Codec: "none"}, []record{r}); err != nil {
			t.Fatal(err)
		}
	}
	expect(ctx, t, c, topic, sent)
	if err := c.Produce(ctx, topic, produceOptions{Codec: "none"}, []record{{Value: bytes.Repeat([]byte("x"), 3_500_000)}}); err == nil {
		t.Error("a record over max.message.bytes was accepted")
	}
}

func idempotence(ctx context.Context, t *testing.T, c client) {
	topic := "idempotence-" + c.Name()
	create(ctx, t, c, topic, nil)
	sent := numbered(1000)
	if err := c.Produce(ctx, topic, produceOptions{Codec: "lz4", Idempotent: true}, sent); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, c, topic, sent)
}

func nulls(ctx context.Context, t *testing.T, c client) {
	topic := "null-" + c.Name()
	create(ctx, t, c, topic, nil)
	if err := c.Produce(ctx, topic, produceOptions{Codec: "none"}, []record{{Key: []byte("k"), Value: nil}, {Value: []byte("v")}}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Consume(ctx, topic, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(got[0].Value) != 0 || len(got[1].Key) != 0 {
		t.Errorf("value %q and key %q; want none", got[0].Value, got[1].Key)
	}
}

// oldCodecs are those that every version since Kafka 0.11 has.
func oldCodecs(ctx context.Context, t *testing.T, c client) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4"} {
		topic := "codec-" + c.Name() + "-" + codec
		create(ctx, t, c, topic, nil)
		sent := numbered(50)
		if err := c.Produce(ctx, topic, produceOptions{Codec: codec}, sent); err != nil {
			t.Fatal(err)
		}
		expect(ctx, t, c, topic, sent)
	}
}
