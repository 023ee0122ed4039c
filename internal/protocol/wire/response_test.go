package wire

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// orNull is what a string that is null when empty is in kmsg.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// kmsgProduce is r in kmsg's types. Hints exist in Kafka from version 10 on; kmsg would send them at 9 too.
func kmsgProduce(r *ProduceResponse, version int16) *kmsg.ProduceResponse {
	k := kmsg.NewPtrProduceResponse()
	k.Version, k.ThrottleMillis = version, r.ThrottleMillis
	for _, t := range r.Topics {
		kt := kmsg.NewProduceResponseTopic()
		kt.Topic, kt.TopicID = t.Name, t.ID
		for _, p := range t.Partitions {
			kp := kmsg.NewProduceResponseTopicPartition()
			kp.Partition, kp.ErrorCode, kp.BaseOffset = p.Index, p.ErrorCode, int64(p.BaseOffset)
			kp.LogAppendTime, kp.LogStartOffset, kp.ErrorMessage = p.AppendTime, int64(p.LogStart), orNull(p.ErrorMessage)
			for _, e := range p.RecordErrors {
				ke := kmsg.NewProduceResponseTopicPartitionErrorRecord()
				ke.RelativeOffset, ke.ErrorMessage = e.Index, orNull(e.Message)
				kp.ErrorRecords = append(kp.ErrorRecords, ke)
			}
			if version >= 10 {
				kp.CurrentLeader.LeaderID, kp.CurrentLeader.LeaderEpoch = p.Leader.ID, int32(p.Leader.Epoch)
			}
			kt.Partitions = append(kt.Partitions, kp)
		}
		k.Topics = append(k.Topics, kt)
	}
	for _, n := range r.Nodes {
		if version >= 10 {
			k.Brokers = append(k.Brokers, kmsg.ProduceResponseBroker{NodeID: n.ID, Host: n.Host, Port: n.Port, Rack: orNull(n.Rack)})
		}
	}
	return k
}

// kmsgFetch is r in kmsg's types, with the records of each partition.
func kmsgFetch(r *FetchResponse, version int16, records func(t, p int) []byte) *kmsg.FetchResponse {
	k := kmsg.NewPtrFetchResponse()
	k.Version, k.ThrottleMillis, k.ErrorCode, k.SessionID = version, r.ThrottleMillis, r.ErrorCode, r.SessionID
	for i, t := range r.Topics {
		kt := kmsg.NewFetchResponseTopic()
		kt.Topic, kt.TopicID = t.Name, t.ID
		for j := range t.Partitions {
			kp := kmsgFetchPartition(&t.Partitions[j])
			kp.RecordBatches = records(i, j)
			kt.Partitions = append(kt.Partitions, kp)
		}
		k.Topics = append(k.Topics, kt)
	}
	for _, n := range r.Nodes {
		if version >= 16 {
			k.Brokers = append(k.Brokers, kmsg.FetchResponseBroker{NodeID: n.ID, Host: n.Host, Port: n.Port, Rack: orNull(n.Rack)})
		}
	}
	return k
}

func kmsgFetchPartition(p *FetchPartition) kmsg.FetchResponseTopicPartition {
	k := kmsg.NewFetchResponseTopicPartition()
	k.Partition, k.ErrorCode, k.PreferredReadReplica = p.Index, p.ErrorCode, p.PreferredReplica
	k.HighWatermark, k.LastStableOffset, k.LogStartOffset = int64(p.HighWatermark), int64(p.LastStable), int64(p.LogStart)
	if p.ListsAborted {
		k.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for _, a := range p.Aborted {
			ka := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			ka.ProducerID, ka.FirstOffset = a.ProducerID, int64(a.FirstOffset)
			k.AbortedTransactions = append(k.AbortedTransactions, ka)
		}
	}
	k.DivergingEpoch.Epoch, k.DivergingEpoch.EndOffset = int32(p.Diverging.Epoch), int64(p.Diverging.End)
	k.CurrentLeader.LeaderID, k.CurrentLeader.LeaderEpoch = p.Leader.ID, int32(p.Leader.Epoch)
	k.SnapshotID.Epoch, k.SnapshotID.EndOffset = int32(p.Snapshot.Epoch), int64(p.Snapshot.End)
	return k
}

// refill fills a used response through its own API with what random has, so that reuse is tested beside encoding.
func refillProduce(r, random *ProduceResponse, pick *rand.Rand) {
	r.Reset()
	r.ThrottleMillis, r.Nodes = random.ThrottleMillis, append(r.Nodes, random.Nodes...)
	for _, t := range random.Topics {
		rt := r.AddTopic(t.Name, t.ID)
		for _, p := range t.Partitions {
			rp := rt.AddPartition(p.Index)
			if pick.IntN(3) == 0 {
				continue // the defaults
			}
			used := rp.RecordErrors
			used = append(used, p.RecordErrors...)
			*rp = p
			rp.RecordErrors = used
		}
	}
}

func refillFetch(r, random *FetchResponse, pick *rand.Rand) {
	r.Reset()
	r.ThrottleMillis, r.ErrorCode, r.SessionID = random.ThrottleMillis, random.ErrorCode, random.SessionID
	r.Nodes = append(r.Nodes, random.Nodes...)
	for _, t := range random.Topics {
		rt := r.AddTopic(t.Name, t.ID)
		for _, p := range t.Partitions {
			rp := rt.AddPartition(p.Index)
			leader := rp.Leader
			if pick.IntN(3) == 0 {
				continue
			}
			used := rp.Aborted
			used = append(used, p.Aborted...)
			*rp = p
			rp.Aborted = used
			rp.RecordsSize = pick.IntN(3) * pick.IntN(300)
			if pick.IntN(2) == 0 {
				rp.Leader, rp.Snapshot = leader, noEpochEnd
			}
		}
	}
}

func checkProduce(t *testing.T, r *ProduceResponse, seed uint64) {
	pick := rand.New(rand.NewPCG(seed, 1))
	var random ProduceResponse
	fill(pick, reflect.ValueOf(&random).Elem(), 3)
	refillProduce(r, &random, pick)
	everyVersion(func(h Header) {
		if h.Key != kmsg.Produce {
			return
		}
		got, want := r.AppendTo([]byte("before"), h), AppendResponse([]byte("before"), h, kmsgProduce(r, h.Version))
		if !bytes.Equal(got, want) {
			t.Fatalf("v%d of seed %d:\ngot  %x\nwant %x", h.Version, seed, got, want)
		}
	})
}

func checkFetch(t *testing.T, r *FetchResponse, seed uint64) {
	pick := rand.New(rand.NewPCG(seed, 1))
	var random FetchResponse
	fill(pick, reflect.ValueOf(&random).Elem(), 3)
	refillFetch(r, &random, pick)
	records := func(i, j int) []byte {
		return bytes.Repeat([]byte{byte(i*16 + j + 1)}, r.Topics[i].Partitions[j].RecordsSize)
	}
	everyVersion(func(h Header) {
		if h.Key != kmsg.Fetch {
			return
		}
		parts, cuts := r.AppendTo([]byte("before"), h)
		got, at := []byte(nil), 0
		for _, c := range cuts {
			got = append(append(got, parts[at:c.At]...), records(c.Topic, c.Partition)...)
			at = c.At
		}
		got = append(got, parts[at:]...)
		want := AppendResponse([]byte("before"), h, kmsgFetch(r, h.Version, records))
		if !bytes.Equal(got, want) {
			t.Fatalf("v%d of seed %d:\ngot  %x\nwant %x", h.Version, seed, got, want)
		}
	})
}

func FuzzProduceResponse(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		var r ProduceResponse
		checkProduce(t, &r, seed)
		checkProduce(t, &r, seed+1) // reused
	})
}

func FuzzFetchResponse(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		var r FetchResponse
		checkFetch(t, &r, seed)
		checkFetch(t, &r, seed+1)
	})
}

// What Add returns has the defaults of kmsg, whatever was there before.
func TestAddResets(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var p ProduceResponse
	var f FetchResponse
	for range 50 {
		fill(r, reflect.ValueOf(&p).Elem(), 3)
		fill(r, reflect.ValueOf(&f).Elem(), 3)
		p.Reset()
		f.Reset()
		for range 3 {
			p.AddTopic("t", topic.ID{}).AddPartition(0)
			f.AddTopic("t", topic.ID{}).AddPartition(0).ListsAborted = true
		}
		ph, fh := Header{Key: kmsg.Produce, Version: 13, Flexible: true}, Header{Key: kmsg.Fetch, Version: 18, Flexible: true}
		got, _ := f.AppendTo(nil, fh)
		if want := AppendResponse(nil, fh, defaultFetch(3)); !bytes.Equal(got, want) {
			t.Fatalf("fetch\ngot  %x\nwant %x", got, want)
		}
		if got, want := p.AppendTo(nil, ph), AppendResponse(nil, ph, defaultProduce(3)); !bytes.Equal(got, want) {
			t.Fatalf("produce\ngot  %x\nwant %x", got, want)
		}
	}
}

func defaultProduce(topics int) kmsg.Response {
	k := kmsg.NewPtrProduceResponse()
	for k.Version = 13; len(k.Topics) < topics; {
		p := kmsg.NewProduceResponseTopicPartition()
		p.BaseOffset = -1
		k.Topics = append(k.Topics, kmsg.ProduceResponseTopic{Partitions: []kmsg.ProduceResponseTopicPartition{p}})
	}
	return k
}

func defaultFetch(topics int) kmsg.Response {
	k := kmsg.NewPtrFetchResponse()
	for k.Version = 18; len(k.Topics) < topics; {
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
		p.RecordBatches = []byte{}
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		k.Topics = append(k.Topics, kmsg.FetchResponseTopic{Partitions: []kmsg.FetchResponseTopicPartition{p}})
	}
	return k
}

// Names and counts whose compact lengths take two bytes.
func TestResponsesLong(t *testing.T) {
	t.Parallel()
	node := Node{ID: 1, Host: strings.Repeat("h", 200), Port: 9092, Rack: strings.Repeat("r", 130)}
	var p ProduceResponse
	var f FetchResponse
	for range 130 {
		p.Nodes = append(p.Nodes, node)
		f.Nodes = append(f.Nodes, node)
		pt, ft := p.AddTopic(strings.Repeat("t", 249), topic.ID{1}), f.AddTopic(strings.Repeat("t", 249), topic.ID{1})
		for i := range int32(140) {
			pt.AddPartition(i).ErrorMessage = strings.Repeat("e", 300)
			ft.AddPartition(i).Leader = Leader{1, 2}
		}
	}
	none := func(int, int) []byte { return []byte{} }
	everyVersion(func(h Header) {
		switch h.Key {
		case kmsg.Produce:
			if !bytes.Equal(p.AppendTo(nil, h), AppendResponse(nil, h, kmsgProduce(&p, h.Version))) {
				t.Errorf("produce v%d differs", h.Version)
			}
		case kmsg.Fetch:
			if got, _ := f.AppendTo(nil, h); !bytes.Equal(got, AppendResponse(nil, h, kmsgFetch(&f, h.Version, none))) {
				t.Errorf("fetch v%d differs", h.Version)
			}
		default: // kmsg encodes the others
		}
	})
}

// The response header of every key and version is the one that kmsg's clients expect.
func TestAppendResponse(t *testing.T) {
	t.Parallel()
	everyVersion(func(h Header) {
		resp := h.Key.Response()
		resp.SetVersion(h.Version)
		frame := AppendResponse(nil, h, resp)
		header := 4
		if resp.IsFlexible() && h.Key != kmsg.ApiVersions {
			header = 5
		}
		want := append(make([]byte, 4+header), resp.AppendTo(nil)...)
		want[3], want[2], want[7] = byte(len(want)-4), byte((len(want)-4)>>8), 7
		if !bytes.Equal(frame, want) {
			t.Errorf("%s v%d: %x, want %x", h.Key.Name(), h.Version, frame, want)
		}
	})
}

func TestHotPathAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's builds allocate more")
	}
	produce, fetch := Header{Key: kmsg.Produce, Version: 13, Flexible: true}, Header{Key: kmsg.Fetch, Version: 18, Flexible: true}
	var p ProduceResponse
	var f FetchResponse
	dst := make([]byte, 0, 4096)
	encode := func() {
		p.Reset()
		f.Reset()
		for i := range int32(3) {
			p.AddTopic("t", topic.ID{1}).AddPartition(i).Leader = Leader{1, 2}
			fp := f.AddTopic("t", topic.ID{1}).AddPartition(i)
			fp.RecordsSize, fp.ListsAborted = 100, true
			fp.Aborted = append(fp.Aborted, AbortedTxn{1, 2})
		}
		dst = p.AppendTo(dst[:0], produce)
		dst, _ = f.AppendTo(dst[:0], fetch)
	}
	if n := testing.AllocsPerRun(100, encode); n != 0 {
		t.Errorf("reused responses allocate %v times", n)
	}
	for _, version := range []int16{3, 9, 13} {
		frame := produceFrame(version, 1024)
		var req kmsg.ProduceRequest
		n := testing.AllocsPerRun(100, func() {
			h, body, err := ParseHeader(frame)
			if err != nil || DecodeProduce(&req, h, body) != nil {
				t.Fatal("not decoded")
			}
		})
		if n != 0 {
			t.Errorf("produce v%d decodes with %v allocations, want none", version, n)
		}
	}
}

// produceFrame is a frame, without its size, of one partition with size bytes of records.
func produceFrame(version int16, size int) []byte {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = bytes.Repeat([]byte{1}, size)
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = "events", [16]byte{1}, append(topic.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Topics = version, append(req.Topics, topic)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 1)[4:]
}

// A reused request has nothing of the request before, and its records alias the frame.
func TestDecodeProduceReuse(t *testing.T) {
	t.Parallel()
	var req kmsg.ProduceRequest
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		h := Header{Key: kmsg.Produce, Version: 3 + int16(r.IntN(11))}
		h.Flexible = h.Version >= 9
		body := randomRequest(r, h).AppendTo(nil)
		if err := DecodeProduce(&req, h, body); err != nil {
			t.Fatal(err)
		}
		want, err := Decode(h, body)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := hex.EncodeToString(req.AppendTo(nil)), hex.EncodeToString(want.AppendTo(nil)); got != want {
			t.Fatalf("v%d:\ngot  %s\nwant %s", h.Version, got, want)
		}
	}
	frame := produceFrame(13, 64)
	h, body, err := ParseHeader(frame)
	if err != nil || DecodeProduce(&req, h, body) != nil {
		t.Fatal("not decoded")
	}
	records := req.Topics[0].Partitions[0].Records
	if records[0] = 0xee; !bytes.Contains(frame, []byte{0xee}) {
		t.Error("records were copied")
	}
}

func BenchmarkProduceDecode(b *testing.B) {
	frame := produceFrame(13, 16<<10)
	var req kmsg.ProduceRequest
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		h, body, err := ParseHeader(frame)
		if err != nil {
			b.Fatal(err)
		}
		if err := DecodeProduce(&req, h, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProduceResponse(b *testing.B) {
	h := Header{Key: kmsg.Produce, Version: 13, Flexible: true}
	var r ProduceResponse
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		r.Reset()
		r.AddTopic("events", topic.ID{1}).AddPartition(0).BaseOffset = 77
		dst = r.AppendTo(dst[:0], h)
	}
}

func BenchmarkFetchResponse(b *testing.B) {
	h := Header{Key: kmsg.Fetch, Version: 18, Flexible: true}
	var r FetchResponse
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		r.Reset()
		t := r.AddTopic("events", topic.ID{1})
		for i := range int32(10) {
			t.AddPartition(i).RecordsSize = 1 << 20
		}
		dst, _ = r.AppendTo(dst[:0], h)
	}
}
