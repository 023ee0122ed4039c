package server

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// remote is a connection that shows another address.
type remote struct {
	net.Conn
	addr net.Addr
}

func (r remote) RemoteAddr() net.Addr { return r.addr }

// dialFrom connects in memory, as if from ip, and has a first request answered.
func dialFrom(t *testing.T, s *Server, ip string) net.Conn {
	t.Helper()
	client, served := net.Pipe()
	s.accept("PLAINTEXT", remote{served, &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}})
	t.Cleanup(func() { client.Close() })
	send(client, metadataFrame(0))
	expectReplies(t, client, 0)
	return client
}

// isClosed reports whether the server has closed c. It is for connections that have no reply to come, in a bubble.
func isClosed(t *testing.T, c net.Conn) bool {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	_ = c.SetReadDeadline(time.Time{})
	return errors.Is(err, io.EOF)
}

// begun connects from ip and sends n bytes of a frame.
func begun(t *testing.T, s *Server, ip string, whole []byte, n int) net.Conn {
	t.Helper()
	c := dialFrom(t, s, ip)
	send(c, whole[:n])
	synctest.Wait()
	return c
}

// memoryServer is a server whose unfinished frames may hold 4 MiB, 3 MiB of one address. It is closed with the test's bubble.
func memoryServer(t *testing.T) *Server {
	s := New(Options{Handler: newStub(), Log: quiet(), QueuedMaxBytes: 8 << 20})
	t.Cleanup(func() { closeNow(s) })
	return s
}

func closeNow(s *Server) {
	for _, c := range s.stop() {
		c.cut()
	}
	s.wg.Wait()
}

// megabyte is a frame of a megabyte.
func megabyte(id int32) []byte { return produceFrame(id, make([]byte, 1_000_000)) }

// TestUnfinishedShare: frames that stand still hold at most their share, at most three quarters of it for one address; those that stood still
// the longest make room, and clients at the same and at another address get their frames through.
func TestUnfinishedShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memoryServer(t)
		defer closeNow(s)
		var all []net.Conn
		for i := range 40 {
			all = append(all, begun(t, s, "10.0.0.1", megabyte(1), 900_000))
			if m := s.RequestMemory(); m.Unfinished > 3<<20 || m.Used > 8<<20 {
				t.Fatalf("after %d connections: %+v", i+1, m)
			}
			time.Sleep(time.Second)
		}
		closed := slices.Collect(func(yield func(int) bool) {
			for i, c := range all {
				if isClosed(t, c) && !yield(i) {
					return
				}
			}
		})
		if len(closed) < 37 || slices.Contains(closed, 39) || closed[len(closed)-1] != len(closed)-1 {
			t.Errorf("closed are %v, want those that stood still the longest", closed)
		}
		for _, ip := range []string{"10.0.0.1", "10.0.0.2"} {
			c := dialFrom(t, s, ip)
			send(c, megabyte(7))
			expectReplies(t, c, 7)
		}
	})
}

// TestSlowestIsClosed: a client that trickles bytes makes room before one whose link is slow.
func TestSlowestIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memoryServer(t)
		defer closeNow(s)
		slow := begun(t, s, "10.0.0.1", megabyte(1), 700_000)
		trickle := begun(t, s, "10.0.0.1", megabyte(1), 900_000)
		for at := 700_000; at < 800_000; at += 10_000 { // 100 kB/s
			time.Sleep(100 * time.Millisecond)
			send(slow, megabyte(1)[at:at+10_000])
			send(trickle, []byte{0})
			synctest.Wait()
		}
		c := dialFrom(t, s, "10.0.0.1")
		send(c, megabyte(7))
		expectReplies(t, c, 7)
		if !isClosed(t, trickle) {
			t.Error("the client that trickles is open")
		}
		send(slow, megabyte(1)[800_000:])
		expectReplies(t, slow, 1)
	})
}

// TestBusyClientsWait: more large frames at a time than fit are received one after the other, and no connection is closed.
func TestBusyClientsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memoryServer(t)
		defer closeNow(s)
		replies := make(chan int32)
		for id := range int32(8) {
			c := dialFrom(t, s, "10.0.0.1")
			go func() { // a megabyte in half a second
				for piece := range slices.Chunk(megabyte(id), 10_000) {
					time.Sleep(5 * time.Millisecond)
					if _, err := c.Write(piece); err != nil {
						break
					}
				}
				if n, err := io.CopyN(io.Discard, c, int64(len(megabyte(id))-len(produceFrame(id, nil))+8)); err != nil {
					t.Logf("the reply has %d bytes: %v", n, err)
					id = -1
				}
				replies <- id
			}()
		}
		for range 8 {
			if id := <-replies; id < 0 {
				t.Error("a client that was not slow was closed")
			}
		}
		if m := s.RequestMemory(); m.Unfinished != 0 {
			t.Errorf("at the end %+v", m)
		}
	})
}

// TestOtherAddress: a client that holds little keeps it, whatever another address wants.
func TestOtherAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memoryServer(t)
		defer closeNow(s)
		honest := begun(t, s, "10.0.0.9", megabyte(1), 900_000) // it stands still from here on
		for i := range 40 {
			begun(t, s, []string{"10.0.0.1", "2001:db8::1", "2001:db8::2"}[i%3], megabyte(1), 900_000)
			time.Sleep(graceTime)
		}
		send(honest, megabyte(1)[900_000:])
		expectReplies(t, honest, 1)
	})
}

// TestLargeFrameLane: a frame larger than all unfinished ones may hold gets through; there is one at a time, and one that stands still loses its place.
func TestLargeFrameLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memoryServer(t)
		defer closeNow(s)
		large := produceFrame(1, make([]byte, 20<<20))
		alone := dialFrom(t, s, "10.0.0.1")
		send(alone, large)
		expectReplies(t, alone, 1)
		stalls := begun(t, s, "10.0.0.1", large, 15<<20)
		small := dialFrom(t, s, "10.0.0.1") // the lane's does not count against others
		send(small, megabyte(2))
		expectReplies(t, small, 2)
		send(alone, large)
		expectReplies(t, alone, 1)
		if !isClosed(t, stalls) {
			t.Error("the large frame that stood still is not closed")
		}
		synctest.Wait()
		if m := s.RequestMemory(); m.Unfinished != 0 || m.Used > smallBuffer {
			t.Errorf("at the end %+v", m)
		}
	})
}

// TestPausedMemory: what waits behind a reply counts, in no more memory than it needs, and is served when the reply has left.
func TestPausedMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newStub()
		s := New(Options{Handler: h, Log: quiet(), QueuedMaxBytes: 8 << 20})
		defer closeNow(s)
		c := dialFrom(t, s, "10.0.0.1")
		send(c, fetchFrame(1), metadataLike(2, 1500), metadataFrame(3))
		<-h.begun // the metadata of dialFrom
		<-h.begun
		synctest.Wait()
		if m := s.RequestMemory(); m.Used == 0 || m.Used > smallBuffer || m.Unfinished != m.Used {
			t.Errorf("while it waits %+v", m)
		}
		h.let(1)
		expectReplies(t, c, 1, 2, 3)
	})
}

// TestNetwork: connections of one IPv6 network count as one client.
func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b string }{{"10.0.0.1", "10.0.0.1"}, {"2001:db8::1", "2001:db8::ffff:1"}, {"fe80::1%eth0", "fe80::2%eth1"}} {
		if a, b := network(netip.MustParseAddr(tt.a)), network(netip.MustParseAddr(tt.b)); a != b {
			t.Errorf("%s and %s are %v and %v", tt.a, tt.b, a, b)
		}
	}
	for _, tt := range []struct{ a, b string }{{"10.0.0.1", "10.0.0.2"}, {"2001:db8::1", "2001:db8:0:1::1"}} {
		if a, b := network(netip.MustParseAddr(tt.a)), network(netip.MustParseAddr(tt.b)); a == b {
			t.Errorf("%s and %s are both %v", tt.a, tt.b, a)
		}
	}
}
