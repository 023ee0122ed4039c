package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}

// onBoth runs a test over TCP and over a pipe.
func onBoth(t *testing.T, opts Options, test func(t *testing.T, h *stub, c net.Conn)) {
	for name, dial := range wires {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStub()
			o := opts
			o.Handler, o.Log = h, quiet()
			test(t, h, dial(t, New(o)))
		})
	}
}

func TestRepliesInOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
		var frames [][]byte
		var ids []int32
		for id := range int32(500) {
			f := produceFrame(id, bytes.Repeat([]byte{1}, int(id)))
			if id%7 == 3 {
				f = metadataFrame(id)
			}
			frames, ids = append(frames, f), append(ids, id)
		}
		send(c, frames...)
		expectReplies(t, c, ids...)
	})
}

// TestDrain: what came in one piece is begun in one run, up to the bound of the queue.
func TestDrain(t *testing.T) {
	t.Parallel()
	h := newStub()
	c := overTCP(t, New(Options{Handler: h, Log: quiet()}))
	var frames [][]byte
	for id := range int32(200) {
		frames = append(frames, produceFrame(id, nil))
	}
	if _, err := c.Write(bytes.Join(frames, nil)); err != nil {
		t.Fatal(err)
	}
	for id := range int32(200) {
		expectReplies(t, c, id)
	}
	longest := 0
	for _, run := range h.allRuns() {
		longest = max(longest, len(run))
	}
	if longest != queueMax {
		t.Errorf("the longest run has %d requests, expected %d", longest, queueMax)
	}
}

// TestLargeFrames: frames far larger than the read buffer, after a first request (until then they are bounded).
func TestLargeFrames(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{QueuedMaxBytes: 4 << 20}, func(t *testing.T, _ *stub, c net.Conn) {
		send(c, metadataFrame(0))
		expectReplies(t, c, 0)
		for id := range int32(6) {
			body := bytes.Repeat([]byte{byte(id + 1)}, 1+int(id)*700_000)
			send(c, produceFrame(id, body), produceFrame(100+id, []byte{9}))
			if got, payload := readReply(t, c); got != id || !bytes.Equal(payload, body) {
				t.Fatalf("reply %d of %d bytes is not what was sent", got, len(payload))
			}
			expectReplies(t, c, 100+id)
		}
	})
}

func TestSlowHead(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, h *stub, c net.Conn) {
		send(c, fetchFrame(1), produceFrame(2, nil), fetchFrame(3), produceFrame(4, nil))
		for range 4 { // all are begun though the first waits
			<-h.begun
		}
		h.let(3)
		h.let(1)
		expectReplies(t, c, 1, 2, 3, 4)
	})
}

// TestLateWaits: a request that is not early is begun when earlier replies have left, and nothing behind it before it was.
func TestLateWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newStub()
		c := overPipe(t, New(Options{Handler: h, Log: quiet()}))
		send(c, fetchFrame(1), metadataFrame(2), produceFrame(3, nil))
		synctest.Wait()
		if runs := h.allRuns(); len(runs) != 1 || !slices.Equal(runs[0], []int32{1}) {
			t.Fatalf("begun before the fetch was answered: %v", runs)
		}
		h.let(1)
		expectReplies(t, c, 1, 2, 3)
	})
}

// TestWaitingLateReply: a late request whose reply waits holds up no early one: those behind it begin meanwhile.
func TestWaitingLateReply(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, h *stub, c net.Conn) {
		send(c, frame(kmsg.ListOffsets, 1, 1, nil), produceFrame(2, nil), metadataFrame(3))
		for _, id := range []int32{1, 2} {
			if got := <-h.begun; got != id {
				t.Fatalf("request %d began, expected %d", got, id)
			}
		}
		h.let(1)
		expectReplies(t, c, 1, 2, 3)
	})
}

func TestQueueBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newStub()
		c := overPipe(t, New(Options{Handler: h, Log: quiet()}))
		var frames [][]byte
		for id := range int32(queueMax + 10) {
			frames = append(frames, fetchFrame(id))
		}
		send(c, frames...)
		synctest.Wait()
		if n := len(h.begun); n != queueMax {
			t.Fatalf("%d requests were begun while none was answered, the bound is %d", n, queueMax)
		}
		h.let(0)
		expectReplies(t, c, 0)
		synctest.Wait()
		if n := len(h.begun); n != queueMax+1 {
			t.Fatalf("%d requests were begun after one was answered, expected %d", n, queueMax+1)
		}
		for id := int32(1); id < queueMax+10; id++ {
			synctest.Wait()
			h.let(id)
			expectReplies(t, c, id)
		}
	})
}

func TestNoReply(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
		send(c, produceFrame(1, []byte{noReply}), produceFrame(2, nil), produceFrame(3, []byte{noReply}), metadataFrame(4))
		expectReplies(t, c, 2, 4)
	})
}

// TestFault: after a fault nothing more is begun, earlier replies leave, then the connection is closed.
func TestFault(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, h *stub, c net.Conn) {
		h.fail, h.at = errors.New("broken"), 3
		send(c, produceFrame(1, nil), fetchFrame(2), produceFrame(3, nil), produceFrame(4, nil))
		<-h.begun
		<-h.begun
		h.let(2)
		expectReplies(t, c, 1, 2)
		if rest := expectEnd(t, c); len(rest) > 0 {
			t.Errorf("%d bytes came after the fault", len(rest))
		}
	})
}

// TestLinger: a reply that does not become ready does not hold a faulty connection for longer than lingerTime.
func TestLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newStub()
		c := overPipe(t, New(Options{Handler: h, Log: quiet()}))
		began := time.Now()
		send(c, fetchFrame(1), []byte{0xff, 0xff, 0xff, 0xff})
		expectEnd(t, c)
		if took := time.Since(began); took != lingerTime {
			t.Errorf("closed after %v, expected %v", took, lingerTime)
		}
		synctest.Wait()
		if h.mu.drops != 1 {
			t.Errorf("%d replies were dropped, expected 1", h.mu.drops)
		}
	})
}

// hostile are bytes that no client sends.
var hostile = map[string][]byte{
	"negative":    {0x80, 0, 0, 0},
	"oversize":    {0x7f, 0xff, 0xff, 0xff, 1, 2, 3},
	"empty":       {0, 0, 0, 0},
	"short":       {0, 0, 0, 3, 1, 2, 3},
	"unknown key": {0, 0, 0, 8, 0x7f, 0, 0, 0, 0, 0, 0, 1},
	"client id":   {0, 0, 0, 10, 0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0},
	"version":     {0, 0, 0, 10, 0, 3, 0x7f, 0, 0, 0, 0, 1, 0, 0},
	"http":        []byte("GET / HTTP/1.1\r\nHost: localhost:9092\r\n\r\n"),
	"tls":         {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03},
}

// TestHostile: each of them ends its connection at every state of it, and what was asked before is answered.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, bad := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
				send(c, bad)
				rest := expectEnd(t, c)
				if isHTTP := strings.HasPrefix(string(rest), "HTTP/1.1 400"); isHTTP != (name == "http") {
					t.Errorf("the answer is %q", rest)
				}
				if name == "http" && (!strings.Contains(string(rest), "admin.listener") || strings.Contains(string(rest), "console")) {
					t.Errorf("the answer must name admin.listener, and nothing that is not there: %q", rest)
				}
			})
			onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
				send(c, metadataFrame(1), produceFrame(2, nil), bad)
				expectReplies(t, c, 1, 2)
				expectEnd(t, c)
			})
			onBoth(t, Options{}, func(t *testing.T, h *stub, c net.Conn) {
				send(c, fetchFrame(1), bad)
				<-h.begun
				h.let(1)
				expectReplies(t, c, 1)
				expectEnd(t, c)
			})
		})
	}
}

// TestApiVersionsOfTheFuture: traps.md trap 1, an unknown version of ApiVersions is the handler's to answer, not a fault.
func TestApiVersionsOfTheFuture(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
		send(c, frame(18, 99, 7, []byte{1, 2, 3}))
		expectReplies(t, c, 7)
	})
}

// TestFreshFrameLimit: until a request was begun, frames are bounded, so that a connection holds less than 1 MiB; a produce may be larger
// than others, since KafkaJS begins with one on a broker that it was told of by another.
func TestFreshFrameLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{MaxFrame: 1 << 20}, func(t *testing.T, _ *stub, c net.Conn) {
		send(c, metadataLike(1, freshFrameMax))
		expectReplies(t, c, 1)
		send(c, metadataLike(2, 1<<20))
		expectReplies(t, c, 2)
		send(c, metadataLike(3, 1<<20+1))
		expectEnd(t, c)
	})
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
		send(c, metadataLike(1, freshFrameMax+1))
		expectEnd(t, c)
	})
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
		send(c, sizedProduce(1, freshProduceMax))
		expectReplies(t, c, 1)
		send(c, sizedProduce(2, 3<<20))
		expectReplies(t, c, 2)
	})
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) { // in one write: the second is not the first
		send(c, produceFrame(1, nil), metadataLike(2, 3<<20))
		expectReplies(t, c, 1)
		expectReplies(t, c, 2)
	})
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
		send(c, sizedProduce(1, freshProduceMax+1))
		expectEnd(t, c)
	})
}

// sizedProduce is a produce request whose frame has size bytes after its size prefix.
func sizedProduce(id int32, size int) []byte {
	return produceFrame(id, make([]byte, size-(len(produceFrame(id, nil))-sizePrefix)))
}

// metadataLike is a metadata request of size bytes.
func metadataLike(id int32, size int) []byte {
	return frame(kmsg.Metadata, 1, id, make([]byte, size-10))
}

// TestFrameMemory: what a connection claims costs no memory; what it sends costs about twice that, and before the first request never 1 MiB.
// Every byte of it is counted, of any size.
func TestFrameMemory(t *testing.T) {
	t.Parallel()
	first, later := sizedProduce(1, freshProduceMax), produceFrame(1, make([]byte, 20<<20))
	for _, tt := range []struct {
		whole      []byte
		sent, most int
		reserved   int64 // what is counted, if not the buffer
	}{
		{first, 4, smallBuffer, 0},
		{first, 2000, smallBuffer, 0},
		{first, 100_000, readBuffer, freshProduceMax + bufferSlack},
		{first, 880_000, 1<<20 - 1, freshProduceMax + bufferSlack},
		{later, 4, smallBuffer, 0},
		{later, 400_000, freeBuffer, 0},
		{later, 3_000_000, 8<<20 + bufferSlack, 0},
	} {
		c := takePart(t, tt.whole, tt.sent)
		if held := len(c.in.buf.b); held > tt.most {
			t.Errorf("after %d bytes of %d the connection holds %d", tt.sent, len(tt.whole), held)
		}
		if got, want := c.srv.RequestMemory(), (Memory{Used: int64(len(c.in.buf.b)), Unfinished: max(int64(len(c.in.buf.b)), tt.reserved)}); got != want {
			t.Errorf("after %d bytes of %d the budget counts %+v, expected %+v", tt.sent, len(tt.whole), got, want)
		}
		c.release()
		if got := c.srv.RequestMemory(); c.in.buf != nil || got != (Memory{}) {
			t.Errorf("after the end the budget counts %+v", got)
		}
	}
}

// takePart is a connection that has read sent bytes of a frame.
func takePart(t *testing.T, whole []byte, sent int) *conn {
	t.Helper()
	client, served := net.Pipe()
	t.Cleanup(func() { client.Close() })
	c := newConn(New(Options{Handler: newStub(), Log: quiet()}), "PLAINTEXT", served)
	for at := 0; at < sent; {
		if !c.lend() {
			t.Fatal("no memory")
		}
		if err := c.room(); err != nil {
			t.Fatal(err)
		}
		n := copy(c.in.space(), whole[at:min(sent, at+10_000)])
		c.in.w, at = c.in.w+n, at+n
		if frame, err := c.in.next(c.srv.opts.MaxFrame); frame != nil || err != nil {
			t.Fatalf("frame of %d bytes, error %v", len(frame), err)
		}
		if !c.park() {
			t.Fatal("no memory to wait with")
		}
	}
	return c
}

// TestSlowLoris: a client that sends a frame a byte at a time is closed in time, whatever it trickles.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := overPipe(t, New(Options{Handler: newStub(), Log: quiet()}))
		began := time.Now()
		trickled := make(chan struct{})
		go func() {
			defer close(trickled)
			for _, b := range produceFrame(1, make([]byte, 1000)) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		expectEnd(t, c)
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("closed after %v, expected 30 s", took)
		}
		<-trickled
	})
}

// TestIdle: a connection is closed when nothing came for the idle time, but not while it waits for its reply.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newStub()
		c := overPipe(t, New(Options{Handler: h, Log: quiet(), IdleTimeout: time.Minute}))
		began := time.Now()
		send(c, fetchFrame(1))
		time.Sleep(5 * time.Minute)
		h.let(1)
		expectReplies(t, c, 1)
		time.Sleep(30 * time.Second)
		send(c, produceFrame(2, nil))
		expectReplies(t, c, 2)
		expectEnd(t, c)
		if took := time.Since(began); took < 6*time.Minute+29*time.Second || took > 7*time.Minute {
			t.Errorf("closed after %v, expected a minute after the last request at 5 min 30 s", took)
		}
	})
}

// TestStuckReader: a client that takes no replies is given up.
func TestStuckReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Handler: newStub(), Log: quiet()})
		c := overPipe(t, s)
		if _, err := c.Write(produceFrame(1, nil)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.wg.Wait()
		if took := time.Since(began); took != s.opts.WriteTimeout {
			t.Errorf("given up after %v, expected %v", took, s.opts.WriteTimeout)
		}
	})
}

func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{MaxConnections: 2}, {MaxConnectionsPerIP: 2}} {
		opts.Handler, opts.Log = newStub(), quiet()
		s := New(opts)
		a, b, refused := overPipe(t, s), overPipe(t, s), overPipe(t, s)
		expectEnd(t, refused)
		a.Close()
		for s.crowd.enter(addrPort(a.LocalAddr()).Addr()) != "" { // until the place is free
			time.Sleep(time.Millisecond)
		}
		s.crowd.leave(addrPort(a.LocalAddr()).Addr())
		c := overPipe(t, s)
		for _, ok := range []net.Conn{b, c} {
			send(ok, produceFrame(1, nil))
			expectReplies(t, ok, 1)
		}
	}
}

// TestClose: requests that were begun are answered, for as long as the caller allows.
func TestClose(t *testing.T) {
	t.Parallel()
	for name, dial := range wires {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStub()
			s := New(Options{Handler: h, Log: quiet()})
			c := dial(t, s)
			send(c, fetchFrame(1))
			<-h.begun
			closed := make(chan error, 1)
			go func() { closed <- s.Close(context.Background()) }()
			<-s.closing
			h.let(1)
			expectReplies(t, c, 1)
			expectEnd(t, c)
			if err := <-closed; err != nil {
				t.Error(err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a reply that waits is polled again without being woken
		h := newStub()
		s := New(Options{Handler: h, Log: quiet()})
		c := overPipe(t, s)
		send(c, fetchFrame(1))
		<-h.begun
		synctest.Wait() // the writer sleeps
		h.set(1)
		go s.Close(context.Background())
		expectReplies(t, c, 1)
		expectEnd(t, c)
	})
	synctest.Test(t, func(t *testing.T) {
		h := newStub()
		s := New(Options{Handler: h, Log: quiet()})
		send(overPipe(t, s), fetchFrame(1))
		<-h.begun
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close gave %v, expected that the time is over", err)
		}
		if h.mu.drops != 1 {
			t.Errorf("%d replies were dropped, expected 1", h.mu.drops)
		}
	})
}

// TestPeerGone: a reader that waits behind a long poll sees that its client has gone.
func TestPeerGone(t *testing.T) {
	t.Parallel()
	h := newStub()
	s := New(Options{Handler: h, Log: quiet()})
	c := overTCP(t, s)
	send(c, fetchFrame(1), metadataFrame(2))
	<-h.begun
	c.Close()
	s.wg.Wait() // looks every peerInterval
	if h.mu.drops != 1 {
		t.Errorf("%d replies were dropped, expected 1", h.mu.drops)
	}
}

// TestHalfFrames: frames cut at every byte come out whole.
func TestHalfFrames(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, _ *stub, c net.Conn) {
		both := append(produceFrame(1, []byte("abc")), metadataFrame(2)...)
		for cut := range both {
			if _, err := c.Write(both[:cut]); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = c.Write(both[cut:])
			}()
			if id, payload := readReply(t, c); id != 1 || string(payload) != "abc" {
				t.Fatalf("cut at %d: reply %d with %q", cut, id, payload)
			}
			expectReplies(t, c, 2)
			<-done
		}
		c.Close()
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Error("the test did not close its connection")
		}
	})
}
