package groupapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/groupapi"
	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fake is a coordinator that answers what the test says.
type fake struct {
	// answer is the result of an input; with ok false it comes later, by fakeCall.settle.
	answer func(group.Input) (result any, ok bool)
	locate error
	shards int // of AskAll

	mu    sync.Mutex
	token group.Token
	calls []*fakeCall
}

type fakeCall struct {
	group string
	in    group.Input

	mu      sync.Mutex
	result  any
	done    bool
	waiter  *partition.Waiter
	dropped bool
}

func (f *fake) Locate(context.Context, string) error { return f.locate }

func (f *fake) Caller(clientID, remote string) group.Caller {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token++
	return group.Caller{Token: f.token, ClientID: clientID, Host: remote, FreshID: "fresh"}
}

func (f *fake) Ask(id string, in group.Input) groupapi.Call {
	c := &fakeCall{group: id, in: in}
	if f.answer != nil {
		c.result, c.done = f.answer(in)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	return c
}

func (f *fake) AskAll(input func() group.Input) (all []groupapi.Call) {
	for range f.shards {
		all = append(all, f.Ask("", input()))
	}
	return all
}

// last is the input that was put last.
func (f *fake) last() *fakeCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		return nil
	}
	return f.calls[len(f.calls)-1]
}

func (c *fakeCall) settle(result any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result, c.done = result, true
	if c.waiter != nil {
		c.waiter.Wake()
	}
}

func (c *fakeCall) Poll(w *partition.Waiter) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiter = w
	return c.result, c.done
}

func (c *fakeCall) Wait(ctx context.Context) any {
	w := partition.NewWaiter()
	for {
		if r, ok := c.Poll(w); ok {
			return r
		}
		select {
		case <-w.C:
		case <-ctx.Done():
			return group.Failed(c.in, kerr.CoordinatorNotAvailable)
		}
	}
}

func (c *fakeCall) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped = true
}

// node is the handlers on a real broker in memory and a fake coordinator.
type node struct {
	t      testing.TB
	broker *broker.Broker
	fake   *fake
	api    *api.API
	conn   api.Conn
	log    bytes.Buffer
}

func newNode(t testing.TB) *node { return newNodeWith(t, true) }

func newNodeWith(t testing.TB, consumer bool) *node {
	t.Helper()
	c, err := config.Load(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, fake: &fake{shards: 3}}
	n.conn = api.Conn{Listener: "OUTSIDE", Local: netip.MustParseAddrPort("127.0.0.1:9092"), Remote: netip.MustParseAddrPort("192.0.2.9:40000")}
	n.broker, err = broker.Open(t.Context(), broker.Options{
		FS: vfs.NewMem(), DataDir: "/var/lib/ottla", NoLock: true, NodeID: 7, Topic: c, Schema: anyConfig{},
		Clock:             func() time.Time { return testNow },
		Advertise:         []meta.Endpoint{{Listener: "PLAINTEXT"}, {Listener: "OUTSIDE", Host: "kafka.example.org", Port: 9094}},
		DefaultPartitions: 1, DefaultReplicationFactor: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.broker.Close(); err != nil {
			t.Error(err)
		}
	})
	n.api = api.New(api.Options{
		Broker: n.broker, Log: slog.New(slog.NewTextHandler(&n.log, nil)),
		Handlers: []map[kmsg.Key]api.Handler{groupapi.Handlers(groupapi.Options{Groups: n.fake, Consumer: consumer})},
	})
	return n
}

// anyConfig takes every config.
type anyConfig struct{}

func (anyConfig) Validate(meta.Resource, map[string]string, []string) error { return nil }
func (anyConfig) List(meta.Resource, string) (string, bool)                 { return "", false }

// create makes a topic.
func (n *node) create(name string, partitions int32) [16]byte {
	n.t.Helper()
	results, err := n.broker.CreateTopics(n.t.Context(), []meta.NewTopic{{Name: name, Partitions: partitions, ReplicationFactor: 1}}, false)
	if err != nil || results[0].Err != nil {
		n.t.Fatal(err, results)
	}
	return n.broker.Image().Topic(name).ID
}

// begin begins a request through its bytes, and then spoils them: what the frame was must not matter any more.
func (n *node) begin(m kmsg.Request) (api.Reply, error) {
	n.t.Helper()
	return n.beginIn(n.t.Context(), m)
}

func (n *node) beginIn(ctx context.Context, m kmsg.Request) (api.Reply, error) {
	n.t.Helper()
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("the client")).AppendRequest(nil, m, 77)
	header, body, err := wire.ParseHeader(frame[4:])
	if err != nil {
		return nil, err
	}
	replies := make([]api.Reply, 1)
	_, err = n.api.Begin(ctx, testNow, []*api.Request{{Header: header, Body: body, Conn: &n.conn, Received: testNow}}, replies)
	copy(frame, bytes.Repeat([]byte{0xEE}, len(frame)))
	return replies[0], err
}

// poll decodes a reply; nil if it is not ready.
func (n *node) poll(m kmsg.Request, r api.Reply, w *partition.Waiter) kmsg.Response {
	n.t.Helper()
	var out api.Out
	ready, deadline := r.Poll(testNow, w, &out)
	if !deadline.IsZero() || !ready && out.Len() > 0 {
		n.t.Errorf("%s v%d: deadline %v, %d bytes, ready %v", kmsg.NameForKey(m.Key()), m.GetVersion(), deadline, out.Len(), ready)
	}
	if !ready {
		return nil
	}
	return decode(n.t, m, out.Bytes)
}

func decode(t testing.TB, m kmsg.Request, frame []byte) kmsg.Response {
	t.Helper()
	if len(frame) < 8 || int(binary.BigEndian.Uint32(frame)) != len(frame)-4 || binary.BigEndian.Uint32(frame[4:]) != 77 {
		t.Fatalf("%s v%d: %x", kmsg.NameForKey(m.Key()), m.GetVersion(), frame)
	}
	body := frame[8:]
	if m.IsFlexible() {
		body = body[1:]
	}
	resp := m.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("%s v%d: %v", kmsg.NameForKey(m.Key()), m.GetVersion(), err)
	}
	return resp
}

// ask sends a request at a version; the response must be ready.
func ask[R kmsg.Response](n *node, version int16, m kmsg.Request) R {
	n.t.Helper()
	m.SetVersion(version)
	r, err := n.begin(m)
	if err != nil {
		n.t.Fatal(err)
	}
	resp := n.poll(m, r, nil)
	if resp == nil {
		n.t.Fatalf("%s v%d is not ready", kmsg.NameForKey(m.Key()), version)
	}
	return resp.(R)
}

// says lets every input of that type be answered with the result.
func (n *node) says(result any) {
	n.fake.answer = func(group.Input) (any, bool) { return result, true }
}

// fails lets every input fail with err.
func (n *node) fails(err error) {
	n.fake.answer = func(in group.Input) (any, bool) { return group.Failed(in, err), true }
}

// versions are those of a key that are served.
func versions(t testing.TB, key kmsg.Key) (all []int16) {
	t.Helper()
	row, ok := wire.Lookup(key)
	if !ok {
		t.Fatalf("%s is not in the version table", key.Name())
	}
	for v := row.Served; v <= row.Max; v++ {
		all = append(all, v)
	}
	return all
}

// wantCode checks an error code.
func wantCode(t testing.TB, what string, got int16, want error) {
	t.Helper()
	if !errors.Is(kerr.ErrorForCode(got), want) {
		t.Errorf("%s: error is %v, expected %v", what, kerr.ErrorForCode(got), want)
	}
}
