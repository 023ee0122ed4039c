package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/server"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// topics resolve to Kafka's defaults, but for durability.
type topics struct{ durability partition.Durability }

func (d topics) Resolve(overrides map[string]string) partition.Options {
	o := partition.Options{
		Log: log.Options{
			SegmentBytes: 1 << 30, SegmentAge: 168 * time.Hour, IndexInterval: 4096, IndexBytesMax: 10 << 20,
			RetentionBytes: -1, RetentionAge: 168 * time.Hour,
		},
		MaxMessageBytes: 1048588, TimestampBefore: math.MaxInt64, TimestampAfter: time.Hour,
		Compression: batch.CodecProducer, Delete: true, MinISR: 1, Durability: d.durability,
	}
	if v, ok := overrides["max.message.bytes"]; ok {
		o.MaxMessageBytes, _ = strconv.Atoi(v)
	}
	return o
}

func (topics) Validate(map[string]string, []string) error { return nil }

// serve starts a broker with one listener on loopback and returns its address.
func serve(t testing.TB, files vfs.FS, durability partition.Durability) string {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	b, err := broker.Open(t.Context(), broker.Options{
		FS: files, DataDir: "data", NoLock: true, NodeID: 1, Clock: time.Now, Log: quiet, Topic: topics{durability},
		DefaultPartitions: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	handlers := api.New(api.Options{
		Broker: b, Log: quiet, AutoCreateTopics: true, FetchMaxBytes: 55 << 20, FetchSessions: 1000, SessionIdle: 2 * time.Minute,
	})
	s := server.New(server.Options{Handler: handlers, Log: quiet})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(ctx) })
	running.Go(func() { _ = s.Serve("PLAINTEXT", l) })
	t.Cleanup(func() {
		closing, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		handlers.Drain() // clients leave long polls behind
		if err := s.Close(closing); err != nil {
			t.Errorf("close: %v", err)
		}
		cancel()
		if err := b.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
		running.Wait()
	})
	return l.Addr().String()
}

func client(t testing.TB, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestClients: a client of each era produces (idempotently where it can) with every compression, and reads all back in order.
func TestClients(t *testing.T) {
	t.Parallel()
	eras := map[string]*kversion.Versions{"1.0": kversion.V1_0_0(), "2.1": kversion.V2_1_0(), "2.8": kversion.V2_8_0(), "3.9": kversion.V3_9_0(), "newest": nil}
	for name, versions := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := serve(t, vfs.NewMem(), partition.DurabilityDisk)
			codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression()}
			if name != "1.0" {
				codecs = append(codecs, kgo.ZstdCompression())
			}
			for i, codec := range codecs {
				roundTrip(t, addr, fmt.Sprintf("t%d", i), versions, kgo.ProducerBatchCompression(codec))
			}
		})
	}
}

// roundTrip produces to a new topic and consumes from it.
func roundTrip(t *testing.T, addr, name string, versions *kversion.Versions, opts ...kgo.Opt) {
	t.Helper()
	const n = 500
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if versions != nil {
		opts = append(opts, kgo.MaxVersions(versions))
	}
	producer := client(t, addr, append(opts, kgo.DefaultProduceTopic(name), kgo.ProducerLinger(0))...)
	var produced sync.WaitGroup
	for i := range n {
		r := kgo.KeySliceRecord([]byte(strconv.Itoa(i%7)), []byte(strings.Repeat(strconv.Itoa(i)+" ", 1+i)))
		r.Headers = []kgo.RecordHeader{{Key: "n", Value: []byte(strconv.Itoa(i))}}
		produced.Add(1)
		producer.Produce(ctx, r, func(_ *kgo.Record, err error) {
			defer produced.Done()
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
	}
	produced.Wait()
	consumer := client(t, addr, append(opts, kgo.ConsumeTopics(name))...)
	last := map[string]int{}
	for got := 0; got < n; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("%d of %d consumed: %v", got, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			i, _ := strconv.Atoi(string(r.Headers[0].Value))
			if want := strings.Repeat(strconv.Itoa(i)+" ", 1+i); string(r.Value) != want {
				t.Errorf("record %d has %d bytes, expected %d", i, len(r.Value), len(want))
			}
			if before, ok := last[string(r.Key)]; ok && i != before+7 {
				t.Errorf("of key %s, record %d came after %d", r.Key, i, before)
			}
			last[string(r.Key)] = i
			got++
		})
	}
}

// TestSendfile: large fetches from real files, read by many consumers while a producer goes on.
func TestSendfile(t *testing.T) {
	t.Parallel()
	files, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, files, partition.DurabilityMemory)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	const n = 300
	producer := client(t, addr, kgo.DefaultProduceTopic("big"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var consumers sync.WaitGroup
	for range 3 {
		consumers.Go(func() {
			c := client(t, addr, kgo.ConsumeTopics("big"), kgo.FetchMaxWait(100*time.Millisecond))
			for next := 0; next < n; {
				fetches := c.PollFetches(ctx)
				if ctx.Err() != nil {
					t.Errorf("%d of %d consumed", next, n)
					return
				}
				fetches.EachRecord(func(r *kgo.Record) {
					if want := byte(next); len(r.Value) != 200_000 || r.Value[0] != want || r.Value[199_999] != want || r.Offset != int64(next) {
						t.Errorf("offset %d has %d bytes beginning with %d", r.Offset, len(r.Value), r.Value[0])
					}
					next++
				})
			}
		})
	}
	for i := range n {
		value := []byte(strings.Repeat(string([]byte{byte(i)}), 200_000))
		producer.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
	}
	if err := producer.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	consumers.Wait()
}

// TestAdmin: kadm sees what it made.
func TestAdmin(t *testing.T) {
	t.Parallel()
	addr := serve(t, vfs.NewMem(), partition.DurabilityMemory)
	admin := kadm.NewClient(client(t, addr))
	ctx := t.Context()
	if _, err := admin.CreateTopic(ctx, 4, 1, nil, "made"); err != nil {
		t.Fatal(err)
	}
	meta, err := admin.Metadata(ctx, "made")
	if err != nil || len(meta.Topics["made"].Partitions) != 4 || len(meta.Brokers) != 1 {
		t.Fatalf("%+v, %v", meta, err)
	}
	if got := net.JoinHostPort(meta.Brokers[0].Host, strconv.Itoa(int(meta.Brokers[0].Port))); got != addr {
		t.Errorf("the broker is at %s, the client reached it at %s", got, addr)
	}
	ends, err := admin.ListEndOffsets(ctx, "made")
	if err != nil || len(ends["made"]) != 4 || ends.Error() != nil {
		t.Errorf("%+v, %v", ends, err)
	}
}
