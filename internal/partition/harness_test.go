package partition

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const noLimit = time.Duration(math.MaxInt64)

var (
	start  = time.UnixMilli(1_700_000_000_000)
	testID = ID{Topic: "orders", TopicID: topic.ID{1, 2, 3}, Index: 7}
)

func testOptions() Options {
	return Options{
		Log: log.Options{
			SegmentBytes: 1 << 20, SegmentAge: 7 * 24 * time.Hour, IndexInterval: 4096, IndexBytesMax: 1 << 20,
			RetentionBytes: -1, RetentionAge: -1,
		},
		MaxMessageBytes: 1 << 20, TimestampBefore: noLimit, TimestampAfter: noLimit,
		Compression: batch.CodecProducer, Delete: true, MinISR: 1,
		FlushMessages: math.MaxInt64, FlushAge: noLimit, ProducerExpiry: 24 * time.Hour,
	}
}

// dirtied is a Syncer that remembers whether it was told.
type dirtied struct {
	mu    sync.Mutex
	times int
}

func (d *dirtied) Dirty(*Partition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times++
}

func (d *dirtied) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.times
}

// openTest opens the test's partition, leading at epoch 5, until the test ends.
func openTest(t testing.TB, fs vfs.FS, change func(*OpenOptions)) *Partition {
	t.Helper()
	p := openBriefly(t, fs, change)
	t.Cleanup(func() { _ = p.Close(false) })
	return p
}

// openBriefly is openTest for those who close it themselves.
func openBriefly(t testing.TB, fs vfs.FS, change func(*OpenOptions)) *Partition {
	t.Helper()
	opts := OpenOptions{Options: testOptions()}
	if change != nil {
		change(&opts)
	}
	p, err := Open(fs, testID.String(), testID, start, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Lead(start, 5); err != nil {
		t.Fatal(err)
	}
	return p
}

func memory(o *OpenOptions) { o.Durability = DurabilityMemory }

// proto is a batch to be: records of Size bytes each, by default one of 10, written at start.
type proto struct {
	producer int64
	epoch    int16
	sequence int32
	count    int
	size     int
	noKey    bool
	value    string // of each record, instead of size
	at       time.Time
	fields   func(*batch.Fields)
}

// plain is n records without a producer.
func plain(n int) proto { return proto{producer: -1, epoch: -1, sequence: -1, count: n} }

// from is n records of an idempotent producer.
func from(producer int64, epoch int16, sequence int32, n int) proto {
	return proto{producer: producer, epoch: epoch, sequence: sequence, count: n}
}

func (o proto) batch(t testing.TB) batch.Batch {
	t.Helper()
	f := batch.NewFields(0)
	f.ProducerID, f.ProducerEpoch, f.BaseSequence = o.producer, o.epoch, o.sequence
	if o.fields != nil {
		o.fields(&f)
	}
	var w batch.Builder
	w.Reset(f)
	if o.at.IsZero() {
		o.at = start
	}
	for i := range max(o.count, 1) {
		r := batch.Record{Offset: batch.Offset(i), Timestamp: o.at.UnixMilli(), Key: []byte("k"), Value: []byte(o.value)}
		if o.noKey {
			r.Key = nil
		}
		if o.value == "" {
			r.Value = make([]byte, max(o.size, 10))
		}
		w.Append(r)
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(b)
}

func (o proto) produce(t testing.TB) *Produce { return &Produce{Records: o.batch(t)} }

// appendAll appends a group and returns it.
func appendAll(t testing.TB, p *Partition, group ...proto) []*Produce {
	t.Helper()
	var out []*Produce
	for _, o := range group {
		out = append(out, o.produce(t))
	}
	p.Append(start, out)
	return out
}

// mustAppend appends a group of which all must be accepted.
func mustAppend(t testing.TB, p *Partition, group ...proto) []*Produce {
	t.Helper()
	out := appendAll(t, p, group...)
	for i, pr := range out {
		if pr.Err != nil || pr.Duplicate {
			t.Fatalf("batch %d of %d: %s", i, len(out), describe(pr))
		}
	}
	return out
}

func mustSync(t testing.TB, p *Partition) {
	t.Helper()
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
}

func describe(pr *Produce) string {
	switch {
	case pr.Err != nil:
		return pr.Err.Error()
	case pr.Duplicate:
		return fmt.Sprintf("duplicate [%d, %d)", pr.Base, pr.End)
	}
	return fmt.Sprintf("[%d, %d)", pr.Base, pr.End)
}

// readAll returns the batches from the log's start to the high watermark.
func readAll(t testing.TB, p *Partition) []batch.Batch {
	t.Helper()
	var out []batch.Batch
	marks := p.Offsets()
	for at := marks.Start; at < marks.HighWatermark; {
		r, _, err := p.Read(Fetch{Offset: at, LeaderEpoch: batch.NoEpoch, MaxBytes: 1 << 16, Whole: true})
		if err != nil {
			t.Fatalf("read at %d: %v", at, err)
		}
		data := make([]byte, r.Len())
		if n, err := r.ReadAt(data, 0); n < len(data) {
			t.Fatalf("read at %d: %d of %d bytes: %v", at, n, len(data), err)
		}
		r.Release()
		before := at
		for len(data) > 0 {
			b, rest, err := batch.Next(data)
			if err != nil {
				break // cut by the byte limit
			}
			if err := b.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			out, data, at = append(out, b), rest, b.NextOffset()
		}
		if at == before {
			t.Fatalf("nothing read at %d, the high watermark is %d", at, marks.HighWatermark)
		}
	}
	return out
}

func newFS(testing.TB) *vfs.Mem { return vfs.NewMem() }

// setSequence makes the batch the producer's at that sequence, and its offset a client's again.
func setSequence(b batch.Batch, sequence int32) {
	binary.BigEndian.PutUint32(b[53:], uint32(sequence))
	b.SetBaseOffset(0)
	b.SetMaxTimestamp(b.MaxTimestamp() + 1) // computes the CRC
	b.SetMaxTimestamp(b.MaxTimestamp() - 1)
}
