package api

import (
	"bytes"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// remove deletes a topic, as the broker does: from the metadata, and its partitions are closed.
func (n *testNode) remove(name string) {
	n.t.Helper()
	t := n.Image().Topic(name)
	for _, r := range decide(n, meta.DeleteTopics{Topics: []meta.TopicRef{{Name: name}}}) {
		if r.Err != nil {
			n.t.Fatal(r.Err)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range t.Partitions {
		dir := topic.Dir(name, int32(i))
		if p := n.mu.partitions[dir]; p != nil {
			_ = p.Close(false)
			delete(n.mu.partitions, dir)
		}
		if err := n.fs.RemoveAll(dir); err != nil {
			n.t.Fatal(err)
		}
	}
}

// onlyPartition is the code of the only partition of a fetch's response.
func onlyPartition(t *testing.T, resp kmsg.Response) *kmsg.FetchResponseTopicPartition {
	t.Helper()
	m := resp.(*kmsg.FetchResponse)
	if m.ErrorCode != 0 || len(m.Topics) != 1 || len(m.Topics[0].Partitions) != 1 {
		t.Fatalf("response %+v", m)
	}
	return &m.Topics[0].Partitions[0]
}

// TestFetchWaitsForDeletedTopic checks that a fetch that waits on a topic is answered when it is
// deleted, with Kafka 4.4's code: UNKNOWN_TOPIC_OR_PARTITION by name and by id; INCONSISTENT_TOPIC_ID
// by id if the name is another topic's by then.
func TestFetchWaitsForDeletedTopic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version int16
		again   bool
		want    *kerr.Error
	}{
		"by name":                {12, false, kerr.UnknownTopicOrPartition},
		"by id":                  {17, false, kerr.UnknownTopicOrPartition},
		"by name, created again": {12, true, kerr.UnknownTopicOrPartition},
		"by id, created again":   {17, true, kerr.InconsistentTopicID},
	} {
		a := newTestAPI(t)
		m := fetchRequest(c.version, "t", a.node.create("t", 1), 0)
		replies, err := a.begin(m)
		if err != nil {
			t.Fatal(err)
		}
		if resp := a.poll(m, replies[0], nil); resp != nil {
			t.Fatalf("%s: %+v before there is a record", name, resp)
		}
		a.node.remove("t")
		if c.again {
			a.node.create("t", 1)
		}
		resp := a.poll(m, replies[0], nil)
		if resp == nil {
			t.Fatalf("%s: the fetch waits on", name)
		}
		if p := onlyPartition(t, resp); p.ErrorCode != c.want.Code || p.AbortedTransactions != nil {
			t.Errorf("%s: %v, aborted %v; expected %v and null", name, kerr.ErrorForCode(p.ErrorCode), p.AbortedTransactions, c.want)
		}
	}
}

// TestProduceWaitsForDeletedTopic checks the same of an acks=all produce that waits for its sync.
func TestProduceWaitsForDeletedTopic(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.opts.Durability = partition.DurabilityDisk
	a.node.create("t", 1)
	m := produceRequest(9, -1, "t", topic.ID{}, records(t, 0, 1, 10))
	replies, err := a.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	if resp := a.poll(m, replies[0], nil); resp != nil {
		t.Fatalf("%+v before the sync", resp)
	}
	a.node.remove("t")
	resp, ok := a.poll(m, replies[0], nil).(*kmsg.ProduceResponse)
	if !ok {
		t.Fatal("the produce waits on")
	}
	if p := resp.Topics[0].Partitions[0]; p.ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("%v", kerr.ErrorForCode(p.ErrorCode))
	}
}

// TestSessionOfRecreatedTopic checks what Kafka 4.4 answers in a fetch session whose topic is deleted
// and created again. By id, the session knows the name that the id had: UNKNOWN_TOPIC_OR_PARTITION,
// then INCONSISTENT_TOPIC_ID, until the client names the new id. By name it reads on in the new topic,
// where the old offset is out of range, and then is not.
func TestSessionOfRecreatedTopic(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} { // whether the session learns the name after its first fetch only
		a := newTestAPI(t)
		old := a.node.create("t", 1)
		a.produceOne("t", records(t, 0, 5, 10))
		var ids, names int32
		if late {
			ids = a.fetch(inSession(fetchRequest(17, "", a.node.create("other", 1), 0), 0, 0)).SessionID
			names = a.fetch(inSession(fetchRequest(12, "other", topic.ID{}, 0), 0, 0)).SessionID
			a.fetch(inSession(fetchRequest(17, "", old, 5), ids, 1))
			a.fetch(inSession(fetchRequest(12, "t", topic.ID{}, 5), names, 1))
		} else {
			ids = a.fetch(inSession(fetchRequest(17, "", old, 5), 0, 0)).SessionID
			names = a.fetch(inSession(fetchRequest(12, "t", topic.ID{}, 5), 0, 0)).SessionID
		}
		epochs := map[int32]int32{ids: 1, names: 1}
		if late {
			epochs = map[int32]int32{ids: 2, names: 2}
		}
		next := func(version int16, session int32) *kmsg.FetchRequest {
			m := fetchRequest(version, "", topic.ID{})
			m.Topics = nil
			epochs[session]++
			return inSession(m, session, epochs[session]-1)
		}
		a.node.remove("t")
		for range 2 {
			if p := onlyPartition(t, a.fetch(next(17, ids))); p.ErrorCode != kerr.UnknownTopicOrPartition.Code || p.AbortedTransactions == nil {
				t.Errorf("by id, deleted: %v, aborted %v", kerr.ErrorForCode(p.ErrorCode), p.AbortedTransactions)
			}
			if p := onlyPartition(t, a.fetch(next(12, names))); p.ErrorCode != kerr.UnknownTopicOrPartition.Code {
				t.Errorf("by name, deleted: %v", kerr.ErrorForCode(p.ErrorCode))
			}
		}
		renewed := a.node.create("t", 1)
		for range 2 {
			if p := onlyPartition(t, a.fetch(next(17, ids))); p.ErrorCode != kerr.InconsistentTopicID.Code || p.AbortedTransactions != nil {
				t.Errorf("by id, created again: %v, aborted %v", kerr.ErrorForCode(p.ErrorCode), p.AbortedTransactions)
			}
			if p := onlyPartition(t, a.fetch(next(12, names))); p.ErrorCode != kerr.OffsetOutOfRange.Code {
				t.Errorf("by name, created again: %v", kerr.ErrorForCode(p.ErrorCode))
			}
		}
		if p := onlyPartition(t, a.fetch(fetchRequest(17, "", old, 5))); p.ErrorCode != kerr.UnknownTopicID.Code || p.AbortedTransactions == nil {
			t.Errorf("a full fetch by the old id: %v, aborted %v", kerr.ErrorForCode(p.ErrorCode), p.AbortedTransactions)
		}
		a.produceOne("t", records(t, 0, 6, 10))
		if p := onlyPartition(t, a.fetch(next(12, names))); p.ErrorCode != 0 || len(batches(t, p.RecordBatches)) != 1 {
			t.Errorf("by name, when the new topic has the offset: %v, %d bytes", kerr.ErrorForCode(p.ErrorCode), len(p.RecordBatches))
		}
		m := next(17, ids)
		forgotten := kmsg.NewFetchRequestForgottenTopic()
		forgotten.TopicID, forgotten.Partitions = old, []int32{0}
		m.ForgottenTopics, m.Topics = append(m.ForgottenTopics, forgotten), fetchRequest(17, "", renewed, 0).Topics
		if p := onlyPartition(t, a.fetch(m)); p.ErrorCode != 0 || len(batches(t, p.RecordBatches)) != 1 {
			t.Errorf("by the new id: %v, %d bytes", kerr.ErrorForCode(p.ErrorCode), len(p.RecordBatches))
		}
	}
}

// TestFetchAborted checks where aborted transactions are null and where they are an empty list, as in
// Kafka 4.4: a list where a partition is not there, and with records read for read_committed; null
// with every other error, for read_uncommitted and where the log diverges.
func TestFetchAborted(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	a.produceOne("t", records(t, 0, 3, 10))
	for name, c := range map[string]struct {
		change func(*kmsg.FetchRequest, *kmsg.FetchRequestTopicPartition)
		list   [2]bool // by isolation level
	}{
		"records":   {func(*kmsg.FetchRequest, *kmsg.FetchRequestTopicPartition) {}, [2]bool{false, true}},
		"end":       {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 3 }, [2]bool{false, true}},
		"no topic":  {func(m *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { m.Topics[0].TopicID[5] = 9 }, [2]bool{true, true}},
		"no index":  {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.Partition = 7 }, [2]bool{true, true}},
		"above":     {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 99 }, [2]bool{false, false}},
		"new epoch": {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 6 }, [2]bool{false, false}},
		"diverges": {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) {
			p.FetchOffset, p.LastFetchedEpoch = 99, 5
		}, [2]bool{false, false}},
	} {
		for isolation, list := range c.list {
			m := fetchRequest(13, "t", id, 0)
			m.IsolationLevel, m.MaxWaitMillis = int8(isolation), 0
			c.change(m, &m.Topics[0].Partitions[0])
			if p := a.fetchOne(m); (p.AbortedTransactions != nil) != list || p.RecordBatches == nil {
				t.Errorf("%s, isolation level %d: aborted transactions are %v, a list expected: %v", name, isolation, p.AbortedTransactions, list)
			}
		}
	}
}

// TestProduceDuplicate checks that a duplicate has the first batch's offset, and its largest timestamp
// as the append time, as in Kafka 4.4 (UnifiedLog.append), whichever timestamps the topic has.
func TestProduceDuplicate(t *testing.T) {
	t.Parallel()
	for _, appendTime := range []bool{false, true} {
		a := newTestAPI(t)
		a.node.opts.LogAppendTime = appendTime
		a.node.create("t", 1)
		a.produceOne("t", records(t, 0, 2, 10))
		first := a.call(produceRequest(9, 1, "t", topic.ID{}, sequencedAt(t, 0, 3))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		want := testNow.UnixMilli() + 2
		if appendTime {
			want = first.LogAppendTime
		} else if first.LogAppendTime != -1 {
			t.Errorf("the first has append time %d on a topic with create times", first.LogAppendTime)
		}
		a.now = a.now.Add(time.Minute)
		second := a.call(produceRequest(9, 1, "t", topic.ID{}, sequencedAt(t, 0, 3))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if second.ErrorCode != 0 || second.BaseOffset != 2 || second.LogAppendTime != want {
			t.Errorf("append time %v: %+v, expected offset 2 and append time %d", appendTime, second, want)
		}
	}
}

// TestProduceErrorLogStart checks with which errors a log start offset is told, as in Kafka 4.4: not
// where the records are not one batch.
func TestProduceErrorLogStart(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	a.node.opts.Delete = true
	a.node.create("t", 1)
	a.node.create("__consumer_offsets", 1)
	for range 2 {
		a.produceOne("t", records(t, 0, 1, 10))
	}
	p, err := a.node.Partition("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DeleteRecords(1); err != nil {
		t.Fatal(err)
	}
	a.produceOne("t", sequencedAt(t, 0, 1))
	old := records(t, 0, 1, 10)
	old[16] = 1
	for name, c := range map[string]struct {
		topic   string
		records []byte
		start   int64
		want    *kerr.Error
	}{
		"none":         {"t", nil, -1, kerr.InvalidRecord},
		"empty":        {"t", []byte{}, -1, kerr.InvalidRecord},
		"two":          {"t", append(records(t, 0, 1, 10), records(t, 0, 1, 10)...), -1, kerr.InvalidRecord},
		"magic 1":      {"t", old, -1, kerr.InvalidRecord},
		"no topic":     {"nope", nil, -1, kerr.UnknownTopicOrPartition},
		"internal":     {"__consumer_offsets", records(t, 0, 1, 10), -1, kerr.InvalidTopicException},
		"out of order": {"t", sequencedAt(t, 9, 1), 1, kerr.OutOfOrderSequenceNumber},
	} {
		got := a.call(produceRequest(9, 1, c.topic, topic.ID{}, c.records)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if got.ErrorCode != c.want.Code || got.LogStartOffset != c.start {
			t.Errorf("%s: %v, log start %d; expected %v, %d", name, kerr.ErrorForCode(got.ErrorCode), got.LogStartOffset, c.want, c.start)
		}
	}
}

// sequencedAt is a batch of n records of an idempotent producer, whose first sequence number is base.
func sequencedAt(t *testing.T, base int32, n int) []byte {
	t.Helper()
	f := batch.NewFields(0)
	f.ProducerID, f.ProducerEpoch, f.BaseSequence = 7, 0, base
	var b batch.Builder
	b.Reset(f)
	for i := range n {
		b.Append(batch.Record{Delta: int32(i), Offset: batch.Offset(i), Timestamp: testNow.UnixMilli() + int64(i), Value: []byte("v")})
	}
	built, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(built)
}
