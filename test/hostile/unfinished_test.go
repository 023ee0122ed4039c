package hostile

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rest is how long an attacker waits before it opens a connection again that the broker has closed.
const rest = 5 * time.Second

// stalled is a frame of 1,010 KiB of which 1,000 KiB come.
var stalled = append(sized(raw(3, 1, 2), 1010<<10), make([]byte, 1000<<10)...)

// from has connections begin at an address of loopback.
func from(ip string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: 10 * time.Second}
}

// opened connects from ip and has a first request answered, so that large frames are let in; nil if the broker closed the connection.
func (b *broker) opened(t *testing.T, ip string) net.Conn {
	t.Helper()
	c, err := from(ip).Dial("tcp", b.addr)
	if err != nil {
		return nil
	}
	_ = c.SetDeadline(time.Now().Add(patience)) // of a closed connection the read tells
	w := conn{c, t}
	w.send(frame(kmsg.NewPtrApiVersionsRequest(), 1))
	if _, _, err := w.reply(); err != nil {
		c.Close()
		return nil
	}
	return c
}

// flood keeps conns connections from ip which stall, until ctx ends: one that the broker closes is opened again after a rest. Every other one sends
// a byte now and then. It returns a function that waits for the end, and tells how many connections there were.
func (b *broker) flood(ctx context.Context, t *testing.T, ip string, conns int) (wait func() (opened int)) {
	t.Helper()
	var wg sync.WaitGroup
	counts := make([]int, conns)
	first := make(chan struct{}, conns)
	for i := range conns {
		wg.Go(func() {
			for ctx.Err() == nil {
				if c := b.opened(t, ip); c != nil {
					counts[i]++
					stall(ctx, c, i%2 == 0)
				}
				select {
				case first <- struct{}{}:
				default:
				}
				select {
				case <-ctx.Done():
				case <-time.After(rest):
				}
			}
		})
	}
	for range min(conns, 50) { // it has begun
		<-first
	}
	return func() (opened int) {
		wg.Wait()
		for _, n := range counts {
			opened += n
		}
		return opened
	}
}

// stall sends most of a frame, and then nothing, or a byte now and then, until the broker closes the connection.
func stall(ctx context.Context, c net.Conn, dribble bool) {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := c.Write(stalled); err != nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = c.Read(make([]byte, 1))
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-closed:
			return
		case <-tick.C:
			if dribble {
				_, _ = c.Write([]byte{0})
			}
		}
	}
}

// honest produces n times size bytes from ip, and tells how long each took.
func (b *broker) honest(t *testing.T, ip, topic string, n, size int) (took []time.Duration) {
	t.Helper()
	cl := b.client(t, kgo.Dialer(from(ip).DialContext), kgo.ProducerBatchMaxBytes(1<<20))
	value := bytes.Repeat([]byte("v"), size)
	for range n {
		began := time.Now()
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: value}).FirstErr(); err != nil {
			t.Errorf("an honest client at %s: %v", ip, err)
			return took
		}
		took = append(took, time.Since(began))
	}
	return took
}

func percentile(took []time.Duration, p int) time.Duration {
	took = slices.Sorted(slices.Values(took))
	if len(took) == 0 {
		return 0
	}
	return took[(len(took)-1)*p/100].Round(10 * time.Microsecond)
}

// TestUnfinishedFrames: a thousand connections that stop within a frame neither kill a broker with a gigabyte of memory nor lock anybody out. Clients
// at their address and at another one produce meanwhile; how long that takes is logged, with and without the attack.
func TestUnfinishedFrames(t *testing.T) {
	bound := confine(t, 1<<30)
	b := bound.start(t, t.TempDir())
	b.create(t, "honest", 1, "durability", "memory")
	const n = 1000
	measure := func(when string) {
		for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
			for _, size := range []int{1000, 900_000} {
				took := b.honest(t, ip, "honest", n/(1+size/30_000), size)
				t.Logf("%s, %s, %d bytes: p50 %v, p99 %v", when, ip, size, percentile(took, 50), percentile(took, 99))
			}
		}
	}
	measure("quiet")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wait := b.flood(ctx, t, "127.0.0.1", 1000)
	measure("attacked")
	slowFrame(t, b, "127.0.0.2")
	stop()
	t.Logf("%d connections attacked; the broker had at most %d MiB of memory", wait(), bound.peak(t)>>20)
	b.serves(t)
	bound.wantAlive(t, b)
	if text := b.log.String(); !strings.Contains(text, "slowest progress") {
		t.Errorf("the log does not say that connections were closed for want of memory:\n%.2000s", text)
	}
}

// slowFrame sends a large produce in pieces, each after the broker has had some time, and wants it answered.
func slowFrame(t *testing.T, b *broker, ip string) {
	t.Helper()
	c := b.opened(t, ip)
	if c == nil {
		t.Fatal("a client at another address is not served")
	}
	defer c.Close()
	f := frame(produceOf("honest", 0, simpleBatch(strings.Repeat("v", 900_000))), 7)
	tick := time.NewTicker(20 * time.Millisecond) // a link of half a megabyte a second
	defer tick.Stop()
	for piece := range slices.Chunk(f, 10_000) {
		<-tick.C
		if _, err := c.Write(piece); err != nil {
			t.Fatalf("a client with a slow link was closed: %v", err)
		}
	}
	if id, _, err := (conn{c, t}).reply(); err != nil || id != 7 {
		t.Fatalf("a client with a slow link: reply %d, %v", id, err)
	}
}

// TestLargeFrame: a frame of nearly socket.request.max.bytes gets through to a broker that has little memory for requests, though others stand still
// with such frames.
func TestLargeFrame(t *testing.T) {
	bound := confine(t, 1<<30)
	b := bound.start(t, t.TempDir(), "--set", "queued.max.request.bytes=33554432")
	send := func(ip string) {
		t.Helper()
		c := b.opened(t, ip)
		if c == nil {
			t.Fatal("a client is not served")
		}
		defer c.Close()
		f := frame(produceOf("large", 0, bytes.Repeat([]byte{1}, 99<<20)), 7)
		_, _ = c.Write(f) // the reply tells
		if id, _, err := (conn{c, t}).reply(); err != nil || id != 7 {
			t.Fatalf("a frame of %d bytes: reply %d, %v", len(f), id, err)
		}
	}
	send("127.0.0.1")
	for i := range 3 {
		c := b.opened(t, "127.0.0.1")
		if c == nil {
			t.Fatal("a client is not served")
		}
		t.Cleanup(func() { _ = c.Close() })
		claim := append(sized(raw(3, 1, 2), 99<<20), make([]byte, 40<<20)...)
		go func() { _, _ = c.Write(claim) }() // it ends with the connection
		if i == 0 {
			send("127.0.0.1")
		}
	}
	send("127.0.0.2")
	b.serves(t)
	t.Logf("the broker had at most %d MiB of memory", bound.peak(t)>>20)
	bound.wantAlive(t, b)
}
