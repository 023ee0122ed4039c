package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// testNow is when everything happens.
var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testNode is a node whose metadata is a machine's and whose partitions are real, in memory.
type testNode struct {
	t     testing.TB
	fs    vfs.FS
	state *meta.State
	full  error           // Writable
	dead  map[string]bool // partitions that are offline, by directory
	opts  partition.Options
	mu    struct {
		sync.Mutex
		partitions map[string]*partition.Partition
		dirty      map[*partition.Partition]bool
		ids        int64
		topics     byte // that were created
	}
}

func newTestNode(t testing.TB) *testNode {
	n := &testNode{t: t, fs: vfs.NewMem(), state: meta.New("cluster", 0)}
	n.opts = partition.Options{
		Log: log.Options{
			SegmentBytes: 64 << 20, SegmentAge: 24 * time.Hour, IndexInterval: 4096, IndexBytesMax: 1 << 20,
			RetentionBytes: -1, RetentionAge: -1,
		},
		MaxMessageBytes: 8 << 20, TimestampBefore: 1<<63 - 1, TimestampAfter: 1<<63 - 1,
		Compression: batch.CodecProducer, Durability: partition.DurabilityMemory, MinISR: 1,
	}
	n.mu.partitions = make(map[string]*partition.Partition)
	n.mu.dirty = make(map[*partition.Partition]bool)
	decide(n, meta.RegisterBroker{ID: 0, Endpoints: []meta.Endpoint{{Listener: "PLAINTEXT"}, {Listener: "OUTSIDE", Host: "kafka.example.org", Port: 9094}}})
	decide(n, meta.SetFeatures{Features: []meta.Feature{{Name: "metadata.version", Level: 27}}})
	t.Cleanup(func() {
		for _, p := range n.mu.partitions {
			_ = p.Close(false)
		}
	})
	return n
}

// decide decides a command and applies its records.
func decide[R any](n *testNode, c meta.Command[R]) R {
	records, result, err := meta.Decide(n.state, c)
	for _, r := range records {
		if err == nil {
			err = n.state.Apply(n.state.Version()+1, r)
		}
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return result
}

// Dirty implements partition.Syncer: it remembers.
func (n *testNode) Dirty(p *partition.Partition) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.dirty[p] = true
}

// sync syncs what is dirty.
func (n *testNode) sync() {
	n.mu.Lock()
	dirty := n.mu.dirty
	n.mu.dirty = make(map[*partition.Partition]bool)
	n.mu.Unlock()
	for p := range dirty {
		if err := p.Sync(); err != nil {
			n.t.Error(err)
		}
	}
}

func (n *testNode) Image() *meta.Image                    { return n.state.Image() }
func (n *testNode) NodeID() int32                         { return 0 }
func (n *testNode) TopicOptions(string) partition.Options { return n.opts }
func (n *testNode) Offline(name string, index int32) bool { return n.dead[topic.Dir(name, index)] }
func (n *testNode) Writable() error                       { return n.full }

func (n *testNode) AllocateProducerID(context.Context) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.ids++
	return 999 + n.mu.ids, nil
}

// freshID is an id that no topic had before.
func (n *testNode) freshID() topic.ID {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.topics++
	return topic.ID{1, n.mu.topics}
}

func (n *testNode) CreateTopics(_ context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error) {
	for i := range topics {
		topics[i].ID = n.freshID()
	}
	results := decide(n, meta.CreateTopics{
		Topics: topics, ValidateOnly: validateOnly, DefaultPartitions: 2, DefaultReplicationFactor: 1, Schema: anyConfig{},
	})
	return results, nil
}

// create makes a topic.
func (n *testNode) create(name string, partitions int32) topic.ID {
	n.t.Helper()
	results, _ := n.CreateTopics(context.Background(), []meta.NewTopic{{Name: name, Partitions: partitions, ReplicationFactor: 1}}, false)
	if results[0].Err != nil {
		n.t.Fatal(results[0].Err)
	}
	return n.Image().Topic(name).ID
}

func (n *testNode) Partition(name string, index int32) (*partition.Partition, error) {
	return n.host(n.Image().Topic(name), index, kerr.UnknownTopicOrPartition)
}

func (n *testNode) PartitionByID(id topic.ID, index int32) (*partition.Partition, error) {
	return n.host(n.Image().TopicByID(id), index, kerr.UnknownTopicID)
}

// host opens a partition on first touch and leads it at epoch 5.
func (n *testNode) host(t *meta.Topic, index int32, unknown error) (*partition.Partition, error) {
	if t == nil {
		return nil, unknown
	}
	if index < 0 || int(index) >= len(t.Partitions) {
		return nil, kerr.UnknownTopicOrPartition
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	dir := topic.Dir(t.Name, index)
	if p := n.mu.partitions[dir]; p != nil {
		return p, nil
	}
	id := partition.ID{Topic: t.Name, TopicID: t.ID, Index: index}
	p, err := partition.Open(n.fs, dir, id, testNow, partition.OpenOptions{Options: n.opts, Syncer: n})
	if err != nil {
		return nil, err
	}
	n.mu.partitions[dir] = p
	err = p.Lead(testNow, 5)
	return p, err
}

// anyConfig takes every config.
type anyConfig struct{}

func (anyConfig) Validate(meta.Resource, map[string]string, []string) error { return nil }
func (anyConfig) List(meta.Resource, string) (string, bool)                 { return "", false }

// testAPI is the handlers over a testNode, and a client's connection.
type testAPI struct {
	*API
	t    testing.TB
	node *testNode
	conn *Conn
	now  time.Time
}

func newTestAPI(t testing.TB) *testAPI {
	n := newTestNode(t)
	a := New(Options{
		Log: slog.New(slog.DiscardHandler), AutoCreateTopics: true, FetchMaxBytes: 55 << 20, FetchSessions: 10, SessionIdle: 2 * time.Minute,
	})
	a.node = n
	conn := &Conn{Listener: "PLAINTEXT", Local: netip.MustParseAddrPort("192.0.2.7:9092"), Remote: netip.MustParseAddrPort("192.0.2.1:5555")}
	return &testAPI{API: a, t: t, node: n, conn: conn, now: testNow}
}

// request makes a frame of m, at m's version, and parses its header as the server does.
func (a *testAPI) request(m kmsg.Request) *Request {
	a.t.Helper()
	b := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, m, 77)
	h, body, err := wire.ParseHeader(b[4:])
	if err != nil {
		a.t.Fatal(err)
	}
	return &Request{Header: h, Body: body, Conn: a.conn, Received: a.now}
}

// begin begins requests as one run.
func (a *testAPI) begin(ms ...kmsg.Request) ([]Reply, error) {
	run := make([]*Request, len(ms))
	for i, m := range ms {
		run[i] = a.request(m)
	}
	replies := make([]Reply, len(run))
	n, err := a.Begin(context.Background(), a.now, run, replies)
	for i := range run { // what the frame was must not matter any more
		for j := range run[i].Body {
			run[i].Body[j] = 0xEE
		}
	}
	for i := n; i < len(replies); i++ {
		if replies[i] != nil {
			a.t.Errorf("reply %d is there, though only %d were begun", i, n)
		}
	}
	return replies, err
}

// bytes are what leaves, ranges read in.
func (o *Out) bytes(t testing.TB) []byte {
	var b bytes.Buffer
	from := 0
	for i := range o.Ranges {
		cut := &o.Ranges[i]
		b.Write(o.Bytes[from:cut.At])
		from = cut.At
		data := make([]byte, cut.Range.Len())
		if _, err := cut.Range.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	b.Write(o.Bytes[from:])
	if int64(b.Len()) != o.Len() {
		t.Fatalf("%d bytes leave, Len says %d", b.Len(), o.Len())
	}
	return b.Bytes()
}

// decode parses the response to m from a whole frame.
func decode(m kmsg.Request, frame []byte) (kmsg.Response, error) {
	if len(frame) < 8 || int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		return nil, fmt.Errorf("the size prefix does not fit %d bytes", len(frame))
	}
	if id := binary.BigEndian.Uint32(frame[4:]); id != 77 {
		return nil, fmt.Errorf("correlation id %d", id)
	}
	body := frame[8:]
	if m.IsFlexible() && m.Key() != int16(kmsg.ApiVersions) {
		if body[0] != 0 {
			return nil, errors.New("the response header has tags")
		}
		body = body[1:]
	}
	resp := m.ResponseKind()
	return resp, resp.ReadFrom(body)
}

// poll polls a reply; nil if it is not ready.
func (a *testAPI) poll(m kmsg.Request, r Reply, w *partition.Waiter) kmsg.Response {
	a.t.Helper()
	var out Out
	defer out.Reset()
	ready, _ := r.Poll(a.now, w, &out)
	if !ready {
		if out.Len() != 0 {
			a.t.Errorf("a reply that is not ready left %d bytes", out.Len())
		}
		return nil
	}
	resp, err := decode(m, out.bytes(a.t))
	if err != nil {
		a.t.Fatalf("%s v%d: %v", kmsg.NameForKey(m.Key()), m.GetVersion(), err)
	}
	return resp
}

// call begins m and returns its response, which must be ready.
func (a *testAPI) call(m kmsg.Request) kmsg.Response {
	a.t.Helper()
	replies, err := a.begin(m)
	if err != nil {
		a.t.Fatal(err)
	}
	resp := a.poll(m, replies[0], nil)
	if resp == nil {
		a.t.Fatalf("%s v%d is not ready", kmsg.NameForKey(m.Key()), m.GetVersion())
	}
	return resp
}

// records is a batch of n records of size bytes each.
func records(t testing.TB, codec batch.Codec, n, size int) []byte {
	t.Helper()
	f := batch.NewFields(0)
	f.Codec = codec
	var b batch.Builder
	b.Reset(f)
	for i := range n {
		b.Append(batch.Record{Delta: int32(i), Offset: batch.Offset(i), Timestamp: testNow.UnixMilli() + int64(i), Value: bytes.Repeat([]byte{'v'}, size)})
	}
	built, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(built)
}

// produceRequest is a produce to partitions of one topic, by name or by id.
func produceRequest(version, acks int16, name string, id topic.ID, recs ...[]byte) *kmsg.ProduceRequest {
	m := kmsg.NewPtrProduceRequest()
	m.Version, m.Acks, m.TimeoutMillis = version, acks, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = name, id
	for i, r := range recs {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), r
		t.Partitions = append(t.Partitions, p)
	}
	m.Topics = append(m.Topics, t)
	return m
}

// produce appends a batch with acks=1 and returns its base offset.
func (a *testAPI) produceOne(name string, recs []byte) int64 {
	a.t.Helper()
	resp := a.call(produceRequest(9, 1, name, topic.ID{}, recs)).(*kmsg.ProduceResponse)
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		a.t.Fatalf("produce: %v", kerr.ErrorForCode(p.ErrorCode))
	}
	return p.BaseOffset
}
