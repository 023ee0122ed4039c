package server

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// acceptPause is how long accepting rests at first, and at most, when the system refuses (too many open files).
const (
	acceptPause    = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// Serve accepts connections of a listener, which name names in Kafka's way, until Close; it returns nil then. Connections outlive it.
func (s *Server) Serve(name string, l net.Listener) error {
	if !s.addListener(l) {
		_ = l.Close() // it never accepted
		return nil
	}
	var pause time.Duration
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.accept(name, nc)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			if pause == 0 {
				s.opts.Log.Warn("cannot accept connections, trying again", slog.String("listener", name), slog.Any("err", err))
			}
			pause = min(max(pause*2, acceptPause), acceptPauseMax)
			select {
			case <-time.After(pause):
			case <-s.closing:
			}
		}
	}
}

// accept starts a connection, or closes it where there are too many.
func (s *Server) accept(name string, nc net.Conn) {
	ip := addrPort(nc.RemoteAddr()).Addr()
	if reason := s.crowd.enter(ip); reason != "" {
		s.opts.Log.Debug("connection refused", slog.String("listener", name), slog.Any("remote", nc.RemoteAddr()), slog.String("limit", reason))
		s.opts.Observer.Refused(name, reason)
		_ = nc.Close() // nothing was sent
		return
	}
	c := newConn(s, name, nc)
	if !s.add(c) {
		s.crowd.leave(ip)
		s.budget.leave(c.claim.origin)
		_ = nc.Close() // nothing was sent
		return
	}
	s.opts.Observer.Connections(name, 1)
	go func() {
		defer s.remove(c)
		defer s.opts.Observer.Connections(name, -1)
		defer s.crowd.leave(ip)
		c.serve()
	}()
}

// crowd counts connections, in all and by address. The zero limits are none.
type crowd struct {
	limit, perIP int
	mu           struct {
		sync.Mutex
		all  int
		byIP map[netip.Addr]int
	}
}

// enter counts a connection and returns "", or the limit that it would break.
func (c *crowd) enter(ip netip.Addr) (reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.limit > 0 && c.mu.all >= c.limit:
		return "limit"
	case c.perIP > 0 && c.mu.byIP[ip] >= c.perIP:
		return "limit-ip"
	}
	c.mu.all++
	if c.perIP > 0 {
		if c.mu.byIP == nil {
			c.mu.byIP = make(map[netip.Addr]int)
		}
		c.mu.byIP[ip]++
	}
	return ""
}

func (c *crowd) leave(ip netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.all--
	if c.perIP > 0 {
		if c.mu.byIP[ip]--; c.mu.byIP[ip] <= 0 {
			delete(c.mu.byIP, ip)
		}
	}
}

// addrPort is a TCP address; invalid for others, as of pipes.
func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
