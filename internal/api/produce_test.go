package api

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

func TestProduceEveryVersion(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 2)
	next := int64(0)
	row, _ := wire.Lookup(kmsg.Produce)
	for v := row.Served; v <= row.Max; v++ {
		resp := a.call(produceRequest(v, 1, "t", id, records(t, batch.CodecNone, 3, 10), records(t, batch.CodecGzip, 3, 10))).(*kmsg.ProduceResponse)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 2 {
			t.Fatalf("v%d: %+v", v, resp)
		}
		rt := resp.Topics[0]
		if v < 13 && rt.Topic != "t" || v >= 13 && rt.TopicID != id {
			t.Errorf("v%d: the topic is %q, %v", v, rt.Topic, rt.TopicID)
		}
		for i, p := range rt.Partitions {
			if p.ErrorCode != 0 || p.BaseOffset != next || p.LogAppendTime != -1 || p.Partition != int32(i) || p.ErrorMessage != nil {
				t.Errorf("v%d: partition %+v, expected base offset %d", v, p, next)
			}
			if v >= 5 && p.LogStartOffset != 0 {
				t.Errorf("v%d: log start offset %d", v, p.LogStartOffset)
			}
		}
		next += 3
	}
}

// TestProduceRefused: what is refused has no offset, says why, and appends nothing. Of the traps of traps.md, 9 is here (an
// unknown topic id).
func TestProduceRefused(t *testing.T) {
	t.Parallel()
	good := func() []byte { return records(t, batch.CodecNone, 1, 10) }
	flip := func(b []byte, at int) []byte { b[at] ^= 0x40; return b }
	txn := "txn"
	for name, c := range map[string]struct {
		version int16
		acks    int16
		topic   string
		records []byte
		txn     *string
		full    bool
		want    *kerr.Error
	}{
		"topic":         {9, 1, "nope", good(), nil, false, kerr.UnknownTopicOrPartition},
		"topic id":      {13, 1, "", good(), nil, false, kerr.UnknownTopicID},
		"acks":          {9, 2, "t", good(), nil, false, kerr.InvalidRequiredAcks},
		"acks -2":       {9, -2, "t", good(), nil, false, kerr.InvalidRequiredAcks},
		"transaction":   {9, -1, "t", good(), &txn, false, kerr.TransactionalIDAuthorizationFailed},
		"internal":      {9, 1, "__consumer_offsets", good(), nil, false, kerr.InvalidTopicException},
		"zstd below v7": {6, 1, "t", records(t, batch.CodecZstd, 1, 10), nil, false, kerr.UnsupportedCompressionType},
		"crc":           {9, 1, "t", flip(good(), 70), nil, false, kerr.CorruptMessage},
		"magic":         {9, 1, "t", flip(good(), 16), nil, false, kerr.CorruptMessage},
		"none":          {9, 1, "t", nil, nil, false, kerr.InvalidRecord},
		"two":           {9, 1, "t", append(good(), good()...), nil, false, kerr.InvalidRecord},
		"too large":     {9, 1, "t", records(t, batch.CodecNone, 1, 9<<20), nil, false, kerr.MessageTooLarge},
		"disk full":     {9, 1, "t", good(), nil, true, kerr.KafkaStorageError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTestAPI(t)
			a.node.create("t", 1)
			a.node.create("__consumer_offsets", 1)
			if c.full {
				a.node.full = kerr.KafkaStorageError
			}
			m := produceRequest(c.version, c.acks, c.topic, topic.ID{9}, c.records)
			m.TransactionID = c.txn
			p := a.call(m).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			if p.ErrorCode != c.want.Code || p.BaseOffset != -1 {
				t.Errorf("error %v at offset %d, expected %v", kerr.ErrorForCode(p.ErrorCode), p.BaseOffset, c.want)
			}
			if c.version >= 8 && (p.ErrorMessage == nil || *p.ErrorMessage == "") {
				t.Error("there is no error message")
			}
			if end := a.end("t"); end != 0 {
				t.Errorf("the log ends at %d", end)
			}
		})
	}
}

// end is the log end of partition 0.
func (a *testAPI) end(name string) batch.Offset {
	p, err := a.node.Partition(name, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	return p.Offsets().End
}

// TestProduceRun: batches of one partition from several requests are appended in order, and a fetch between them is begun as well.
func TestProduceRun(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 1)
	one, two := produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 2, 10)), produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 3, 10))
	f := fetchRequest(11, "t", topic.ID{}, 0)
	replies, err := a.begin(one, f, two)
	if err != nil {
		t.Fatal(err)
	}
	if base := a.poll(one, replies[0], nil).(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset; base != 0 {
		t.Errorf("first base offset %d", base)
	}
	if hw := a.poll(f, replies[1], nil).(*kmsg.FetchResponse).Topics[0].Partitions[0].HighWatermark; hw != 5 {
		t.Errorf("the fetch saw high watermark %d", hw)
	}
	if base := a.poll(two, replies[2], nil).(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset; base != 2 {
		t.Errorf("second base offset %d", base)
	}
}

// TestProduceWaits: acks=-1 on a disk topic is answered after the sync that covers it; acks=1 before.
func TestProduceWaits(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.opts.Durability = partition.DurabilityDisk
	a.node.create("t", 1)
	all := produceRequest(9, -1, "t", topic.ID{}, records(t, 0, 1, 10))
	one := produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 1, 10))
	replies, err := a.begin(all, one)
	if err != nil {
		t.Fatal(err)
	}
	w := partition.NewWaiter()
	if a.poll(all, replies[0], w) != nil {
		t.Fatal("acknowledged before the sync")
	}
	if a.poll(one, replies[1], nil) == nil {
		t.Error("acks=1 waits for the sync")
	}
	a.node.sync()
	select {
	case <-w.C:
	default:
		t.Fatal("the sync woke nobody")
	}
	if resp := a.poll(all, replies[0], w); resp == nil || resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("after the sync: %+v", resp)
	}
}

// TestProduceSyncsAppends: where flush.messages=1, acks=1 is answered after the sync too, however long that takes.
func TestProduceSyncsAppends(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.opts.FlushMessages = 1
	a.node.create("t", 1)
	m := produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 1, 10))
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	a.now = a.now.Add(time.Hour)
	w := partition.NewWaiter()
	var out Out
	if ready, deadline := replies[0].Poll(a.now, w, &out); ready || !deadline.IsZero() {
		t.Fatalf("before the sync: ready %v, deadline %v", ready, deadline)
	}
	a.node.sync()
	select {
	case <-w.C:
	default:
		t.Fatal("the sync woke nobody")
	}
	resp := a.poll(m, replies[0], w)
	if resp == nil || resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("after the sync: %+v", resp)
	}
}

func TestProduceTimeout(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.opts.Durability = partition.DurabilityDisk
	a.node.create("t", 1)
	m := produceRequest(9, -1, "t", topic.ID{}, records(t, 0, 1, 10))
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	var out Out
	ready, deadline := replies[0].Poll(a.now, partition.NewWaiter(), &out)
	if ready || !deadline.Equal(testNow.Add(time.Second)) {
		t.Fatalf("ready %v, deadline %v", ready, deadline)
	}
	a.now = deadline
	p := a.poll(m, replies[0], partition.NewWaiter()).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if p.ErrorCode != kerr.RequestTimedOut.Code || p.BaseOffset != 0 {
		t.Errorf("partition %+v", p)
	}
}

// TestProduceNoAcks: traps.md trap 8, acks=0 has no response; an error closes the connection and takes later replies with it.
func TestProduceNoAcks(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 1)
	good := func(acks int16) kmsg.Request { return produceRequest(9, acks, "t", topic.ID{}, records(t, 0, 1, 10)) }
	replies, err := a.begin(good(0), good(1))
	if err != nil || replies[0] != nil || replies[1] == nil {
		t.Fatalf("replies %v, error %v", replies, err)
	}
	bad := produceRequest(9, 0, "nope", topic.ID{}, records(t, 0, 1, 10))
	replies, err = a.begin(good(1), bad, good(1))
	if !errors.Is(err, kerr.UnknownTopicOrPartition) || replies[0] == nil || replies[2] != nil {
		t.Fatalf("replies %v, error %v", replies, err)
	}
}

// TestProduceRecordErrors: traps.md rule 14, KIP-467, the records that were refused are named.
func TestProduceRecordErrors(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.opts.Compact = true // so that every record needs a key
	a.node.create("t", 1)
	p := a.call(produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 2, 10))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if p.LogStartOffset != 0 {
		t.Errorf("log start offset %d, expected 0", p.LogStartOffset)
	}
	if p.ErrorCode != kerr.InvalidRecord.Code || len(p.ErrorRecords) != 2 || p.ErrorRecords[1].RelativeOffset != 1 || p.ErrorRecords[0].ErrorMessage == nil {
		t.Errorf("partition %+v", p)
	}
}

func TestBeginRefusesRubbish(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 1)
	good := a.request(produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 1, 10)))
	bad := a.request(produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 1, 10)))
	bad.Body = bad.Body[:len(bad.Body)-3]
	replies := make([]Reply, 3)
	n, err := a.Begin(t.Context(), a.now, []*Request{good, bad, good}, replies)
	if n != 1 || !errors.Is(err, wire.ErrMalformed) || replies[0] == nil || replies[1] != nil {
		t.Errorf("%d begun, error %v, replies %v", n, err, replies)
	}
	if a.end("t") != 1 {
		t.Error("what came before the rubbish was not appended")
	}
	unknown := a.request(produceRequest(9, 1, "t", topic.ID{}, nil))
	unknown.Key = 64
	if _, err := a.Begin(t.Context(), a.now, []*Request{unknown}, replies); !errors.Is(err, wire.ErrUnknownKey) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkProduce is stage one and two of an acks=1 produce. Allocations must not grow with the records.
func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			a := newTestAPI(b)
			a.onDisk()
			a.node.opts.Log.RetentionBytes = 1
			a.node.create("t", 1)
			recs := records(b, 0, 10, size/10)
			req := a.request(produceRequest(9, 1, "t", topic.ID{}, recs))
			frame := append([]byte(nil), req.Body...)
			run, replies := []*Request{req}, make([]Reply, 1)
			var out Out
			b.ReportAllocs()
			b.SetBytes(int64(len(recs)))
			p, _ := a.node.Partition("t", 0)
			for i := 0; b.Loop(); i++ {
				copy(req.Body, frame)
				if _, err := a.Begin(b.Context(), a.now, run, replies); err != nil {
					b.Fatal(err)
				}
				if ready, _ := replies[0].Poll(a.now, nil, &out); !ready {
					b.Fatal("not ready")
				}
				out.Reset()
				if i%64 == 0 {
					b.StopTimer()
					_ = p.Maintain(a.now)
					b.StartTimer()
				}
			}
		})
	}
}
