package api

import (
	"bytes"
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

// fetchRequest is a fetch of the first partitions of one topic, one for each offset.
func fetchRequest(version int16, name string, id topic.ID, offsets ...int64) *kmsg.FetchRequest {
	m := kmsg.NewPtrFetchRequest()
	m.Version, m.MaxWaitMillis, m.MinBytes, m.MaxBytes = version, 500, 1, 50<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = name, id
	for i, o := range offsets {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(i), o, 10<<20
		t.Partitions = append(t.Partitions, p)
	}
	m.Topics = append(m.Topics, t)
	return m
}

// fetchOne is the only partition of a fetch's response.
func (a *testAPI) fetchOne(m *kmsg.FetchRequest) kmsg.FetchResponseTopicPartition {
	a.t.Helper()
	resp := a.call(m).(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		a.t.Fatalf("response %+v", resp)
	}
	return resp.Topics[0].Partitions[0]
}

// batches are the batches that come whole.
func batches(t testing.TB, data []byte) (all []batch.Batch) {
	t.Helper()
	for len(data) > 0 {
		b, rest, err := batch.Next(data)
		if err != nil {
			return all
		}
		if err := b.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		all, data = append(all, b), rest
	}
	return all
}

func TestFetchEveryVersion(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	a.produceOne("t", records(t, 0, 3, 10))
	large := records(t, 0, 10, 20_000)
	a.produceOne("t", large)
	row, _ := wire.Lookup(kmsg.Fetch)
	for v := row.Served; v <= row.Max; v++ {
		p := a.fetchOne(fetchRequest(v, "t", id, 0))
		got := batches(t, p.RecordBatches)
		if p.ErrorCode != 0 || p.HighWatermark != 13 || p.LastStableOffset != 13 || len(got) != 2 {
			t.Fatalf("v%d: code %d, high watermark %d, %d batches", v, p.ErrorCode, p.HighWatermark, len(got))
		}
		if got[1].BaseOffset() != 3 || got[1].LeaderEpoch() != 5 || !bytes.Equal(got[1].Records(), batch.Batch(large).Records()) {
			t.Errorf("v%d: the second batch is not what was produced", v)
		}
		if p.AbortedTransactions != nil {
			t.Errorf("v%d: aborted transactions for read_uncommitted", v)
		}
	}
	m := fetchRequest(11, "t", id, 0)
	m.IsolationLevel = 1
	if p := a.fetchOne(m); p.AbortedTransactions == nil || len(p.AbortedTransactions) != 0 {
		t.Errorf("read_committed: aborted transactions are %v, expected an empty list", p.AbortedTransactions)
	}
}

// TestFetchMiddle: traps.md trap 11, an offset in the middle of a batch gets the whole batch.
func TestFetchMiddle(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 1)
	a.produceOne("t", records(t, batch.CodecGzip, 10, 10))
	got := batches(t, a.fetchOne(fetchRequest(11, "t", topic.ID{}, 7)).RecordBatches)
	if len(got) != 1 || got[0].BaseOffset() != 0 {
		t.Errorf("%d batches", len(got))
	}
}

// TestFetchLimits: KIP-74, the first batch comes whole whatever the limits are, and everything behind it keeps to them.
func TestFetchLimits(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 3)
	for i := range int32(3) {
		m := produceRequest(9, 1, "t", id, nil)
		m.Topics[0].Partitions[0].Partition, m.Topics[0].Partitions[0].Records = i, records(t, 0, 1, 1000)
		for range 3 {
			m.Topics[0].Partitions[0].Records = records(t, 0, 1, 1000)
			a.call(m)
		}
	}
	size := len(records(t, 0, 1, 1000))
	for name, c := range map[string]struct {
		max, part int32
		want      [3]int // whole batches of each partition
	}{
		"no room":        {0, 0, [3]int{1, 0, 0}},
		"one byte":       {1, 1, [3]int{1, 0, 0}},
		"two":            {int32(2 * size), 1 << 20, [3]int{2, 0, 0}},
		"four":           {int32(4*size + 10), 1 << 20, [3]int{3, 1, 0}},
		"one each":       {1 << 20, int32(size), [3]int{1, 1, 1}},
		"less than each": {1 << 20, int32(size - 1), [3]int{1, 0, 0}},
		"all":            {1 << 20, 1 << 20, [3]int{3, 3, 3}},
	} {
		m := fetchRequest(11, "t", id, 0, 0, 0)
		m.MaxBytes = c.max
		for i := range m.Topics[0].Partitions {
			m.Topics[0].Partitions[i].PartitionMaxBytes = c.part
		}
		resp := a.call(m).(*kmsg.FetchResponse)
		for i, p := range resp.Topics[0].Partitions {
			if n := len(batches(t, p.RecordBatches)); n != c.want[i] {
				t.Errorf("%s: partition %d has %d batches, expected %d", name, i, n, c.want[i])
			}
			if c.want[i] == 0 && len(p.RecordBatches) > 0 {
				t.Errorf("%s: partition %d has %d bytes that are no batch", name, i, len(p.RecordBatches))
			}
		}
	}
}

// TestFetchErrors: an error stands at its partition, and does not wait. Of the traps of
// traps.md, 9 is here (an unknown topic id).
func TestFetchErrors(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	a.produceOne("t", records(t, 0, 3, 10))
	for name, c := range map[string]struct {
		version int16
		change  func(*kmsg.FetchRequest, *kmsg.FetchRequestTopicPartition)
		want    *kerr.Error
	}{
		"topic":     {12, func(m *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { m.Topics[0].Topic = "nope" }, kerr.UnknownTopicOrPartition},
		"topic id":  {13, func(m *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { m.Topics[0].TopicID[5] = 9 }, kerr.UnknownTopicID},
		"partition": {13, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.Partition = 1 }, kerr.UnknownTopicOrPartition},
		"below":     {13, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = -5 }, kerr.OffsetOutOfRange},
		"no epoch": {13, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) {
			p.CurrentLeaderEpoch, p.FetchOffset = -2, 4
		}, kerr.OffsetOutOfRange},
		"above":        {13, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 4 }, kerr.OffsetOutOfRange},
		"old epoch":    {16, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 4 }, kerr.FencedLeaderEpoch},
		"new epoch":    {13, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 6 }, kerr.UnknownLeaderEpoch},
		"replica":      {13, func(m *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { m.ReplicaID = 1 }, kerr.ClusterAuthorizationFailed},
		"replica v15":  {15, func(m *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { m.ReplicaState.ID = 1 }, kerr.ClusterAuthorizationFailed},
		"isolation":    {13, func(m *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { m.IsolationLevel = 2 }, kerr.InvalidRequest},
		"after epochs": {13, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 9 }, kerr.OffsetOutOfRange},
	} {
		m := fetchRequest(c.version, "t", id, 0)
		m.MinBytes = 1 << 20 // an error does not wait
		c.change(m, &m.Topics[0].Partitions[0])
		p := a.fetchOne(m)
		if p.ErrorCode != c.want.Code || len(p.RecordBatches) != 0 || p.HighWatermark != -1 {
			t.Errorf("%s: %v, %d bytes, high watermark %d; expected %v", name, kerr.ErrorForCode(p.ErrorCode), len(p.RecordBatches), p.HighWatermark, c.want)
		}
		if hint := p.CurrentLeader.LeaderID; c.version >= 16 && hint != 0 {
			t.Errorf("%s: the hint is leader %d", name, hint)
		}
	}
}

// TestFetchZstd: a zstd batch goes to every version, also below v10 (KIP-110), as from Kafka 4: kafka-python 2.0.2 fetches with v4,
// reads zstd, and asks again without end when it is refused. Trap 4 of traps.md is here in part.
func TestFetchZstd(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	a.produceOne("t", records(t, batch.CodecZstd, 3, 10))
	for version := int16(4); version <= 18; version++ {
		p := a.fetchOne(fetchRequest(version, "t", id, 0))
		if got := batches(t, p.RecordBatches); p.ErrorCode != 0 || len(got) != 1 || got[0].Codec() != batch.CodecZstd || got[0].Count() != 3 {
			t.Errorf("v%d: error code %d, %d batches in %d bytes; want one of zstd", version, p.ErrorCode, len(got), len(p.RecordBatches))
		}
	}
}

// TestFetchDiverges: a client that read another epoch's records is told where they end (KIP-595).
func TestFetchDiverges(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	a.produceOne("t", records(t, 0, 3, 10))
	p, err := a.node.Partition("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Lead(testNow, 8); err != nil {
		t.Fatal(err)
	}
	a.produceOne("t", records(t, 0, 1, 10))
	m := fetchRequest(13, "t", id, 4)
	m.MaxWaitMillis = 0
	for last, want := range map[int32]kmsg.FetchResponseTopicPartitionDivergingEpoch{
		5: {Epoch: 5, EndOffset: 3},
		6: {Epoch: 5, EndOffset: 3},
		8: {Epoch: -1, EndOffset: -1},
	} {
		m.Topics[0].Partitions[0].LastFetchedEpoch = last
		if d := a.fetchOne(m).DivergingEpoch; d.Epoch != want.Epoch || d.EndOffset != want.EndOffset {
			t.Errorf("last epoch %d: diverging epoch %+v, expected %+v", last, d, want)
		}
	}
}

func TestFetchWaits(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 2)
	m := fetchRequest(13, "t", id, 0, 0)
	size := len(records(t, 0, 1, 100))
	m.MinBytes = int32(2 * size)
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	w := partition.NewWaiter()
	for i := range 2 {
		if a.poll(m, replies[0], w) != nil {
			t.Fatalf("answered with %d batches, min bytes are 2", i)
		}
		p := produceRequest(13, 1, "", id, records(t, 0, 1, 100))
		p.Topics[0].Partitions[0].Partition = int32(i)
		a.call(p)
		select {
		case <-w.C:
		default:
			t.Fatal("the append woke nobody")
		}
	}
	resp := a.poll(m, replies[0], w).(*kmsg.FetchResponse)
	for _, p := range resp.Topics[0].Partitions {
		if len(p.RecordBatches) != size {
			t.Errorf("partition %d has %d bytes", p.Partition, len(p.RecordBatches))
		}
	}
}

// TestFetchSegmentEnd: a fetch that ends only because its segment does is answered at once, whatever fetch.min.bytes is:
// there is more for the next one (Kafka's DelayedFetch.tryComplete, case C).
func TestFetchSegmentEnd(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	size := len(records(t, 0, 1, 100))
	a.node.opts.Log.SegmentBytes = int64(size) // one batch fills a segment
	for range 2 {
		a.call(produceRequest(13, 1, "", id, records(t, 0, 1, 100)))
	}
	m := fetchRequest(13, "t", id, 0)
	m.MinBytes = int32(10 * size)
	if got := a.fetchOne(m); len(got.RecordBatches) != size {
		t.Errorf("%d bytes; want the %d of the first segment", len(got.RecordBatches), size)
	}
	m.Topics[0].Partitions[0].FetchOffset = 1
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	if a.poll(m, replies[0], partition.NewWaiter()) != nil {
		t.Error("the last segment was answered before there were min bytes")
	}
}

// TestFetchMissing: partitions that are not there do not end the wait for those that are, whatever the version names them by.
func TestFetchMissing(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	for _, v := range []int16{12, 13} {
		m := fetchRequest(v, "t", id, 0)
		gone := kmsg.NewFetchRequestTopic()
		gone.Topic, gone.TopicID = "nope", topic.ID{9}
		gone.Partitions = m.Topics[0].Partitions
		m.Topics = append(m.Topics, gone)
		replies, err := a.begin(m)
		if err != nil {
			t.Fatal(err)
		}
		if a.poll(m, replies[0], nil) != nil {
			t.Fatalf("v%d: answered at once", v)
		}
		a.now = a.now.Add(time.Second)
		resp, _ := a.poll(m, replies[0], nil).(*kmsg.FetchResponse)
		if resp == nil || len(resp.Topics) != 2 || resp.Topics[0].Partitions[0].ErrorCode != 0 || resp.Topics[1].Partitions[0].ErrorCode == 0 {
			t.Errorf("v%d: after the wait: %+v", v, resp)
		}
	}
}

// TestFetchMinAboveMax: more than max bytes is not waited for.
func TestFetchMinAboveMax(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	a.produceOne("t", records(t, 0, 1, 1000))
	m := fetchRequest(13, "t", id, 0)
	m.MinBytes, m.MaxBytes = 100_000, 500
	if got := batches(t, a.fetchOne(m).RecordBatches); len(got) != 1 {
		t.Errorf("%d batches", len(got))
	}
}

// fetched counts what an Observer is told of fetches.
type fetched struct {
	nobody
	records, bytes int
}

func (f *fetched) Fetched(_ string, records, bytes int) {
	f.records += records
	f.bytes += bytes
}

// TestFetchCountsRecords: records that leave are counted, whether they are read into the response or sent as a range, from the offset
// that was asked for to the last whole batch.
func TestFetchCountsRecords(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 100, "large": 10_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTestAPI(t)
			var told fetched
			a.opts.Observer = &told
			id := a.node.create("t", 1)
			batchBytes := len(records(t, 0, 10, size))
			for range 5 {
				a.call(produceRequest(13, 1, "", id, records(t, 0, 10, size)))
			}
			m := fetchRequest(13, "t", id, 3) // in the first batch
			m.Topics[0].Partitions[0].PartitionMaxBytes = int32(2*batchBytes + batchBytes/2)
			got := a.fetchOne(m)
			if n := len(got.RecordBatches); told.records != 17 || told.bytes != n || n != 2*batchBytes+batchBytes/2 {
				t.Errorf("%d records and %d bytes are told of a response of %d; want 17, of two batches and a half", told.records, told.bytes, n)
			}
			m.Topics[0].Partitions[0].FetchOffset, m.Topics[0].Partitions[0].PartitionMaxBytes = 20, 1<<20
			if a.fetchOne(m); told.records != 17+30 {
				t.Errorf("%d records are told of in all, want 47", told.records)
			}
		})
	}
}

func TestFetchDeadline(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	m := fetchRequest(13, "t", id, 0)
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	var out Out
	ready, deadline := replies[0].Poll(a.now, partition.NewWaiter(), &out)
	if ready || !deadline.Equal(testNow.Add(500*time.Millisecond)) {
		t.Fatalf("ready %v, deadline %v", ready, deadline)
	}
	a.now = deadline
	if p := a.poll(m, replies[0], partition.NewWaiter()).(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || len(p.RecordBatches) != 0 {
		t.Errorf("partition %+v", p)
	}
	m.Topics = nil
	if resp := a.call(m).(*kmsg.FetchResponse); len(resp.Topics) != 0 {
		t.Errorf("a fetch of nothing got %+v", resp)
	}
}

// TestFetchUncommitted: on a disk topic nothing is read before the sync that covers it.
func TestFetchUncommitted(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.opts.Durability = partition.DurabilityDisk
	a.node.create("t", 1)
	a.produceOne("t", records(t, 0, 3, 10))
	m := fetchRequest(11, "t", topic.ID{}, 0)
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	if a.poll(m, replies[0], nil) != nil {
		t.Fatal("read what is not durable")
	}
	a.node.sync()
	if p := a.poll(m, replies[0], nil).(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.HighWatermark != 3 || len(batches(t, p.RecordBatches)) != 1 {
		t.Errorf("after the sync: %+v", p)
	}
}

// BenchmarkFetch is a fetch of records that are there. Allocations must not grow with the records.
func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			a := newTestAPI(b)
			a.onDisk()
			id := a.node.create("t", 1)
			a.produceOne("t", records(b, 0, 10, size/10))
			req := a.request(fetchRequest(13, "t", id, 0))
			run, replies := []*Request{req}, make([]Reply, 1)
			var out Out
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := a.Begin(b.Context(), a.now, run, replies); err != nil {
					b.Fatal(err)
				}
				if ready, _ := replies[0].Poll(a.now, nil, &out); !ready {
					b.Fatal("not ready")
				}
				out.Reset()
			}
		})
	}
}

// TestDrain: a fetch that waits is answered with what there is once the broker is about to close.
func TestDrain(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.create("t", 1)
	m := fetchRequest(12, "t", topic.ID{}, 0)
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	if resp := a.poll(m, replies[0], nil); resp != nil {
		t.Fatalf("the fetch did not wait: %+v", resp)
	}
	a.Drain()
	resp, _ := a.poll(m, replies[0], nil).(*kmsg.FetchResponse)
	if resp == nil || resp.ErrorCode != 0 || len(resp.Topics) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("response %+v", resp)
	}
}
