package api

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// newDiskAPI returns handlers over a node whose topic t syncs when the test says so.
func newDiskAPI(t *testing.T) *testAPI {
	t.Helper()
	a := newTestAPI(t)
	a.node.opts.Durability = partition.DurabilityDisk
	a.node.opts.Delete = true
	a.node.create("t", 1)
	return a
}

// listRequest asks for the offset of one timestamp of t-0.
func listRequest(version int16, timestamp int64) *kmsg.ListOffsetsRequest {
	m := kmsg.NewPtrListOffsetsRequest()
	m.Version = version
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.MaxNumOffsets = timestamp, 1
	m.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return m
}

// trimRequest asks to delete the records of t-0 before an offset.
func trimRequest(before int64) *kmsg.DeleteRecordsRequest {
	m := kmsg.NewPtrDeleteRecordsRequest()
	m.Version, m.TimeoutMillis = 2, 1000
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = before
	m.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{p}}}
	return m
}

// outcome is what a response says of t-0: an error code, and an offset that shows whether the newest record was seen.
func outcome(t *testing.T, resp kmsg.Response) (code int16, offset int64) {
	t.Helper()
	switch r := resp.(type) {
	case *kmsg.ListOffsetsResponse:
		p := r.Topics[0].Partitions[0]
		if len(p.OldStyleOffsets) > 0 {
			return p.ErrorCode, p.OldStyleOffsets[0]
		}
		return p.ErrorCode, p.Offset
	case *kmsg.DeleteRecordsResponse:
		p := r.Topics[0].Partitions[0]
		return p.ErrorCode, p.LowWatermark
	case *kmsg.FetchResponse:
		p := r.Topics[0].Partitions[0]
		next := int64(-1)
		for _, b := range batches(t, p.RecordBatches) {
			next = int64(b.NextOffset())
		}
		return p.ErrorCode, next
	}
	t.Fatalf("unexpected response %T", resp)
	return 0, 0
}

// immediate is a fetch that does not wait for records.
func immediate(offset int64) *kmsg.FetchRequest {
	m := fetchRequest(12, "t", topic.ID{}, offset)
	m.MaxWaitMillis = 0
	return m
}

// ownCase is a request that comes after two records were acknowledged; the sync covers the first one alone.
type ownCase struct {
	name    string
	request kmsg.Request
	want    int64 // the offset that shows the second record
	late    int16 // the code if the sync does not return in time
	offset  int64 // the offset with it
}

func ownCases() []ownCase {
	ts := testNow.UnixMilli()
	return []ownCase{
		{"latest", listRequest(7, latestTimestamp), 4, kerr.OffsetNotAvailable.Code, -1},
		{"latest, old", listRequest(4, latestTimestamp), 4, kerr.LeaderNotAvailable.Code, -1},
		{"latest, oldest", listRequest(0, latestTimestamp), 4, kerr.LeaderNotAvailable.Code, -1},
		{"time", listRequest(7, ts+2), 3, kerr.OffsetNotAvailable.Code, -1},
		{"max timestamp", listRequest(7, maxTimestamp), 3, kerr.OffsetNotAvailable.Code, -1},
		{"delete all", trimRequest(-1), 4, kerr.RequestTimedOut.Code, -1},
		{"delete up to it", trimRequest(4), 4, kerr.RequestTimedOut.Code, -1},
		{"fetch it", immediate(1), 4, 0, -1},
		{"fetch what is before", immediate(0), 4, 0, 1},
	}
}

// acknowledged starts from one committed record and three that were acknowledged before their sync.
func acknowledged(t *testing.T) *testAPI {
	a := newDiskAPI(t)
	a.produceOne("t", records(t, 0, 1, 10))
	a.node.sync()
	a.produceOne("t", records(t, 0, 3, 10))
	return a
}

// TestOwnRecordIsSeen: a request that comes after an acknowledgement with acks=1 waits for the sync under way, and shows the
// record; it shows nothing before, since a power cut could take it back.
func TestOwnRecordIsSeen(t *testing.T) {
	t.Parallel()
	for _, c := range ownCases() {
		a := acknowledged(t)
		replies, err := a.begin(c.request)
		if err != nil {
			t.Fatal(err)
		}
		w := partition.NewWaiter()
		if resp := a.poll(c.request, replies[0], w); resp != nil {
			code, offset := outcome(t, resp)
			t.Errorf("%s: code %d, offset %d before the sync", c.name, code, offset)
			continue
		}
		if replies[0].Held() <= 0 {
			t.Errorf("%s: holds %d bytes while it waits", c.name, replies[0].Held())
		}
		a.node.sync()
		select {
		case <-w.C:
		default:
			t.Errorf("%s: was not woken by the sync", c.name)
		}
		resp := a.poll(c.request, replies[0], w)
		if resp == nil {
			t.Errorf("%s: still waits after the sync", c.name)
			continue
		}
		if code, offset := outcome(t, resp); code != 0 || offset != c.want {
			t.Errorf("%s: code %d, offset %d, expected %d", c.name, code, offset, c.want)
		}
	}
}

// TestOwnRecordInTime: a sync that does not return is waited for as long as the request says.
func TestOwnRecordInTime(t *testing.T) {
	t.Parallel()
	for _, c := range ownCases() {
		a := acknowledged(t)
		replies, err := a.begin(c.request)
		if err != nil {
			t.Fatal(err)
		}
		var out Out
		ready, until := replies[0].Poll(a.now, partition.NewWaiter(), &out)
		if ready || until.Sub(a.now) <= 0 || until.Sub(a.now) > settleMax {
			t.Errorf("%s: ready %t, waits %v", c.name, ready, until.Sub(a.now))
			continue
		}
		a.now = until.Add(-time.Millisecond)
		if a.poll(c.request, replies[0], nil) != nil {
			t.Errorf("%s: answered before its time", c.name)
			continue
		}
		a.now = until
		resp := a.poll(c.request, replies[0], nil)
		if resp == nil {
			t.Errorf("%s: still waits after its time", c.name)
			continue
		}
		if code, offset := outcome(t, resp); code != c.late || offset != c.offset {
			t.Errorf("%s: code %d, offset %d, expected %d and %d", c.name, code, offset, c.late, c.offset)
		}
	}
}

// TestOwnRecordFailedDisk: a disk that fails ends the wait.
func TestOwnRecordFailedDisk(t *testing.T) {
	t.Parallel()
	for _, c := range ownCases() {
		a := acknowledged(t)
		replies, err := a.begin(c.request)
		if err != nil {
			t.Fatal(err)
		}
		w := partition.NewWaiter()
		if a.poll(c.request, replies[0], w) != nil {
			t.Fatalf("%s: does not wait", c.name)
		}
		p, err := a.node.Partition("t", 0)
		if err != nil {
			t.Fatal(err)
		}
		p.Fail(errors.New("the disk burns"))
		<-w.C
		resp := a.poll(c.request, replies[0], w)
		if resp == nil {
			t.Errorf("%s: still waits for a disk that failed", c.name)
			continue
		}
		if code, _ := outcome(t, resp); code != kerr.KafkaStorageError.Code {
			t.Errorf("%s: code %d", c.name, code)
		}
	}
}

// TestOwnRecordNotWaitedFor: what does not depend on the newest records is answered at once.
func TestOwnRecordNotWaitedFor(t *testing.T) {
	t.Parallel()
	full := immediate(0)
	full.MaxBytes = 1
	for _, c := range []struct {
		name    string
		request kmsg.Request
		code    int16
		want    int64
	}{
		{"earliest", listRequest(7, earliestTimestamp), 0, 0},
		{"earliest local", listRequest(8, earliestLocal), 0, 0},
		{"latest tiered", listRequest(9, latestTiered), 0, -1},
		{"delete what is committed", trimRequest(1), 0, 1},
		{"delete above the end", trimRequest(5), kerr.OffsetOutOfRange.Code, -1},
		{"a fetch that is full", full, 0, 1},
	} {
		a := acknowledged(t)
		if code, offset := outcome(t, a.call(c.request)); code != c.code || offset != c.want {
			t.Errorf("%s: code %d, offset %d, expected %d and %d", c.name, code, offset, c.code, c.want)
		}
	}
}

// TestOwnRecordInOneRun: what is pipelined behind a produce waits for its record too, although both begin together.
func TestOwnRecordInOneRun(t *testing.T) {
	t.Parallel()
	a := newDiskAPI(t)
	m, fetch := produceRequest(9, 1, "t", topic.ID{}, records(t, 0, 1, 10)), immediate(0)
	replies, err := a.begin(m, fetch)
	if err != nil {
		t.Fatal(err)
	}
	if a.poll(m, replies[0], nil) == nil {
		t.Fatal("acks=1 waits for the sync")
	}
	if a.poll(fetch, replies[1], nil) != nil {
		t.Fatal("the fetch does not wait for the record before it")
	}
	a.node.sync()
	if code, offset := outcome(t, a.poll(fetch, replies[1], nil)); code != 0 || offset != 1 {
		t.Errorf("code %d, offset %d", code, offset)
	}
}

// TestParkedKeysAreOrdered: a request that may wait begins when all earlier replies have left, and is not early.
func TestParkedKeysAreOrdered(t *testing.T) {
	t.Parallel()
	a := newDiskAPI(t)
	for _, key := range []kmsg.Key{kmsg.ListOffsets, kmsg.DeleteRecords} {
		if a.Early(key) {
			t.Errorf("%s is early: it would not see the requests before it", key.Name())
		}
	}
}
