package broker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// defaults resolve topics in tests; only max.message.bytes and durability are settings there.
type defaults struct{}

func (defaults) Resolve(overrides map[string]string) partition.Options {
	o := partition.Options{
		Log: log.Options{
			SegmentBytes: 1 << 20, SegmentAge: math.MaxInt64, IndexInterval: 4096, IndexBytesMax: 1 << 16,
			RetentionBytes: -1, RetentionAge: -1,
		},
		MaxMessageBytes: 1 << 20, TimestampBefore: math.MaxInt64, TimestampAfter: math.MaxInt64,
		Compression: batch.CodecProducer, Delete: true, MinISR: 1,
	}
	if v, ok := overrides["max.message.bytes"]; ok {
		o.MaxMessageBytes, _ = strconv.Atoi(v)
	}
	if overrides["durability"] == "memory" {
		o.Durability = partition.DurabilityMemory
	}
	return o
}

func (defaults) Validate(_ map[string]string, changed []string) error {
	for _, key := range changed {
		if key != "max.message.bytes" && key != "durability" {
			return fmt.Errorf("unknown topic config %s", key)
		}
	}
	return nil
}

// logs keeps what a broker logs.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func options(files vfs.FS) Options {
	return Options{FS: files, DataDir: "data", NoLock: true, NodeID: 1, Clock: time.Now, Topic: defaults{}}
}

// bring opens a broker and runs it until the test ends; a broker that the test closes may be closed again.
func bring(t testing.TB, opts Options) *Broker {
	t.Helper()
	b, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	run(t, b)
	return b
}

func run(t testing.TB, b *Broker) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Run(b.stopped)
	}()
	t.Cleanup(func() {
		_ = b.Close()
		<-done
	})
}

func createTopic(t testing.TB, b *Broker, name string, partitions int32, configs ...meta.NewConfig) {
	t.Helper()
	results, err := b.CreateTopics(t.Context(), []meta.NewTopic{{Name: name, Partitions: partitions, ReplicationFactor: -1, Configs: configs}}, false)
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

func deleteTopic(t testing.TB, b *Broker, name string) {
	t.Helper()
	results, err := b.DeleteTopics(t.Context(), []meta.TopicRef{{Name: name}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

func touch(t testing.TB, b *Broker, name string, index int32) *partition.Partition {
	t.Helper()
	p, err := b.Partition(name, index)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// appendValue appends one record and returns where an acks=all answer waits.
func appendValue(p *partition.Partition, value string) (batch.Offset, error) {
	var w batch.Builder
	w.Reset(batch.NewFields(0))
	w.Append(batch.Record{Timestamp: time.Now().UnixMilli(), Value: []byte(value)})
	records, err := w.Build()
	if err != nil {
		return 0, err
	}
	offered := &partition.Produce{Records: records}
	p.Append(time.Now(), []*partition.Produce{offered})
	return offered.End, offered.Err
}

// await waits until everything below end is committed.
func await(p *partition.Partition, end batch.Offset) error {
	w := partition.NewWaiter()
	for {
		p.Watch(w)
		if done, err := p.Await(end); done || err != nil {
			return err
		}
		select {
		case <-w.C:
		case <-time.After(20 * time.Second):
			return errors.New("nothing committed in 20 s")
		}
	}
}

// produce appends a record as acks=all does.
func produce(t testing.TB, p *partition.Partition, value string) {
	t.Helper()
	end, err := appendValue(p, value)
	if err == nil {
		err = await(p, end)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// values reads all that a partition has committed.
func values(t testing.TB, p *partition.Partition) string {
	t.Helper()
	var list []string
	offset := p.Offsets().Start
	for offset < p.Offsets().HighWatermark {
		r, _, err := p.Read(partition.Fetch{Offset: offset, LeaderEpoch: batch.NoEpoch, MaxBytes: 1 << 20, Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		content := make([]byte, r.Len())
		if _, err := r.ReadAt(content, 0); err != nil {
			t.Fatal(err)
		}
		r.Release()
		for len(content) > 0 {
			var b batch.Batch
			if b, content, err = batch.Next(content); err != nil {
				t.Fatal(err)
			}
			for record, err := range b.All(batch.Limit{}) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, string(record.Value))
			}
			offset = b.NextOffset()
		}
	}
	return strings.Join(list, " ")
}

func logTo(l *logs) *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// dirs lists the directories at the top.
func dirs(t testing.TB, files vfs.FS) string {
	t.Helper()
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, e.Name())
		}
	}
	return strings.Join(list, " ")
}

func newTopics(name string) []meta.NewTopic {
	return []meta.NewTopic{{Name: name, Partitions: 1, ReplicationFactor: 1}}
}

func refs(name string) []meta.TopicRef { return []meta.TopicRef{{Name: name}} }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
