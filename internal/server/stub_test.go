package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/partition"
)

// stub is a Handler that answers with the correlation id. Its replies of Fetch, which is early, and of ListOffsets, which is
// not, wait until they are let go.
type stub struct {
	mu struct {
		sync.Mutex
		runs   [][]int32 // correlation ids begun together
		parked map[int32]*stubReply
		drops  int
	}
	begun    chan int32
	patience time.Duration // how long a parked reply waits; 0: for ever
	fail     error         // of the request with correlation id failAt
	at       int32
}

func newStub() *stub {
	s := &stub{begun: make(chan int32, 1000)}
	s.mu.parked = make(map[int32]*stubReply)
	return s
}

func (s *stub) Early(key kmsg.Key) bool { return key == kmsg.Produce || key == kmsg.Fetch }

func (s *stub) Begin(_ context.Context, _ time.Time, run []*api.Request, replies []api.Reply) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []int32
	defer func() { s.mu.runs = append(s.mu.runs, ids) }()
	for i, req := range run {
		if s.fail != nil && req.CorrelationID == s.at {
			return i, s.fail
		}
		ids = append(ids, req.CorrelationID)
		r := &stubReply{stub: s, id: req.CorrelationID, ready: !waits(req.Key), payload: bytes.Clone(req.Body)}
		replies[i] = r
		if req.Key == kmsg.Produce && len(req.Body) > 0 && req.Body[0] == noReply {
			replies[i] = nil
		}
		if s.patience > 0 {
			r.deadline = time.Now().Add(s.patience)
		}
		if waits(req.Key) {
			s.mu.parked[r.id] = r
		}
		s.note(r.id)
	}
	return len(run), nil
}

// waits reports whether replies of key wait.
func waits(key kmsg.Key) bool { return key == kmsg.Fetch || key == kmsg.ListOffsets }

// note tells the test, unless it has stopped looking.
func (s *stub) note(id int32) {
	select {
	case s.begun <- id:
	default:
	}
}

// noReply as the first byte of a produce body stands for acks=0.
const noReply = 0xA0

// let makes a parked reply ready.
func (s *stub) let(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.parked[id]
	r.ready = true
	if r.waiter != nil {
		r.waiter.Wake()
	}
}

// set makes a parked reply ready without waking anybody.
func (s *stub) set(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.parked[id].ready = true
}

func (s *stub) allRuns() [][]int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]int32(nil), s.mu.runs...)
}

// stubReply answers with the correlation id and the request's body.
type stubReply struct {
	stub     *stub
	id       int32
	ready    bool
	waiter   *partition.Waiter
	payload  []byte
	deadline time.Time
}

func (r *stubReply) Poll(now time.Time, w *partition.Waiter, out *api.Out) (bool, time.Time) {
	r.stub.mu.Lock()
	defer r.stub.mu.Unlock()
	r.waiter = w
	if !r.ready && (r.deadline.IsZero() || now.Before(r.deadline)) {
		return false, r.deadline
	}
	out.Bytes = binary.BigEndian.AppendUint32(out.Bytes, uint32(4+len(r.payload)))
	out.Bytes = binary.BigEndian.AppendUint32(out.Bytes, uint32(r.id))
	out.Bytes = append(out.Bytes, r.payload...)
	return true, time.Time{}
}

func (r *stubReply) Held() int { return len(r.payload) }

func (r *stubReply) Drop() {
	r.stub.mu.Lock()
	defer r.stub.mu.Unlock()
	r.stub.mu.drops++
}

// frame is a request with its size prefix.
func frame(key kmsg.Key, version int16, id int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(10+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(id))
	b = binary.BigEndian.AppendUint16(b, 0xffff) // no client id
	return append(b, body...)
}

func produceFrame(id int32, body []byte) []byte { return frame(kmsg.Produce, 3, id, body) }
func fetchFrame(id int32) []byte                { return frame(kmsg.Fetch, 4, id, nil) }
func metadataFrame(id int32) []byte             { return frame(kmsg.Metadata, 1, id, nil) }

// readReply reads one response.
func readReply(t testing.TB, r io.Reader) (id int32, payload []byte) {
	t.Helper()
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		t.Fatalf("read response: %v", err)
	}
	payload = make([]byte, binary.BigEndian.Uint32(head[:])-4)
	if _, err := io.ReadFull(r, payload); err != nil {
		t.Fatalf("read response: %v", err)
	}
	return int32(binary.BigEndian.Uint32(head[4:])), payload
}

func expectReplies(t testing.TB, r io.Reader, ids ...int32) {
	t.Helper()
	for _, want := range ids {
		if id, _ := readReply(t, r); id != want {
			t.Fatalf("reply %d came, expected %d", id, want)
		}
	}
}

// expectEnd reads what is left until the connection is closed by the server.
func expectEnd(t testing.TB, r io.Reader) []byte {
	t.Helper()
	rest, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, io.ErrClosedPipe) && !isReset(err) {
		t.Fatalf("read to the end: %v", err)
	}
	return rest
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// wires are the two kinds of connections.
var wires = map[string]func(t testing.TB, s *Server) net.Conn{"tcp": overTCP, "pipe": overPipe}

// overTCP connects over loopback.
func overTCP(t testing.TB, s *Server) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve("PLAINTEXT", l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(ctx)
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second)) // a test that hangs fails
	return c
}

// overPipe connects in memory.
func overPipe(t testing.TB, s *Server) net.Conn {
	t.Helper()
	client, served := net.Pipe()
	s.accept("PLAINTEXT", served)
	t.Cleanup(func() {
		client.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(ctx)
	})
	return client
}

// send writes on its own goroutine, since a pipe has no buffer; an error is the reader's to see.
func send(c net.Conn, frames ...[]byte) {
	go func() { _, _ = c.Write(bytes.Join(frames, nil)) }()
}
