package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
)

// Bounds that are no settings.
const (
	// freshFrameMax bounds a frame, in bytes, until the first request of its connection was begun, and freshProduceMax one that is a
	// produce request; see checkFresh. With either, the connection holds less than 1 MiB: there is a size class for it.
	freshFrameMax   = 512 << 10
	freshProduceMax = 896 << 10
	// queueMax and queueBytes bound the replies that wait on one connection, and the memory that they hold.
	queueMax   = 64
	queueBytes = 4 << 20
	// writeMax is how many bytes of ready responses are collected before they are written.
	writeMax = 1 << 20
	// lingerTime is how long earlier replies may take to leave after a fault.
	lingerTime = 5 * time.Second
)

// Handler answers requests: *api.API, of which it is what the server needs.
type Handler interface {
	Early(key kmsg.Key) bool
	Begin(ctx context.Context, now time.Time, run []*api.Request, replies []api.Reply) (int, error)
}

// Options say how to serve.
type Options struct {
	Handler  Handler
	Log      *slog.Logger // clients cause every line: its rate should be bounded (lograte)
	Observer Observer     // nil: none

	MaxFrame            int           // socket.request.max.bytes
	MaxConnections      int           // max.connections; 0: no limit
	MaxConnectionsPerIP int           // max.connections.per.ip; 0: no limit
	QueuedMaxBytes      int64         // queued.max.request.bytes; 0: no limit
	IdleTimeout         time.Duration // connections.max.idle.ms
	FrameTimeout        time.Duration // how long a frame that began may take to come
	WriteTimeout        time.Duration // how long a client may take nothing of a response
}

// defaults fills in what is not set with Kafka's defaults, or ours where Kafka has none.
func (o *Options) defaults() {
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.MaxFrame <= 0 {
		o.MaxFrame = 100 << 20
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 10 * time.Minute
	}
	if o.FrameTimeout <= 0 {
		o.FrameTimeout = 30 * time.Second
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 30 * time.Second
	}
}

// Server serves connections of any number of listeners.
type Server struct {
	opts    Options
	buffers buffers
	budget  budget
	crowd   crowd
	loans   sync.Pool      // *loan
	pens    sync.Pool      // *pen
	outs    sync.Pool      // *outgoing
	rings   sync.Pool      // *[queueMax]entry
	wg      sync.WaitGroup // of connections and writers
	closing chan struct{}  // closed when Close begins
	mu      struct {
		sync.Mutex
		closed    bool
		listeners map[net.Listener]struct{}
		conns     map[*conn]struct{}
	}
}

// New returns a server.
func New(opts Options) *Server {
	opts.defaults()
	s := &Server{opts: opts, closing: make(chan struct{})}
	s.budget.setLimit(opts.QueuedMaxBytes)
	s.crowd.limit, s.crowd.perIP = opts.MaxConnections, opts.MaxConnectionsPerIP
	s.loans.New = func() any { return newLoan() }
	s.pens.New = func() any { return newPen() }
	s.outs.New = func() any { return new(outgoing) }
	s.rings.New = func() any { return new([queueMax]entry) }
	s.mu.listeners = make(map[net.Listener]struct{})
	s.mu.conns = make(map[*conn]struct{})
	return s
}

// errClosed is why an open connection ends when the server closes.
var errClosed = errors.New("the server is closing")

// addListener registers l, or reports that the server is closed.
func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return false
	}
	s.mu.listeners[l] = struct{}{}
	return true
}

// add registers a connection, which remove ends, or reports that the server is closed.
func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return false
	}
	s.mu.conns[c] = struct{}{}
	s.wg.Add(1)
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	delete(s.mu.conns, c)
	s.mu.Unlock()
	s.wg.Done()
}

// Close stops accepting and reading, polls replies that wait once more, lets the requests that were begun be answered until ctx ends, then closes what is left and
// waits for all connections' goroutines. It closes the listeners.
func (s *Server) Close(ctx context.Context) error {
	for _, c := range s.stop() {
		c.stopReading()
	}
	gone := make(chan struct{})
	go func() { // ends with the last connection, which is waited for below
		s.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.stop() {
		c.cut()
	}
	<-gone
	return ctx.Err()
}

// stop closes the listeners and returns the connections that there are.
func (s *Server) stop() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.closed {
		s.mu.closed = true
		close(s.closing)
	}
	for l := range s.mu.listeners {
		_ = l.Close() // the process has no use for it either way
	}
	clear(s.mu.listeners)
	conns := make([]*conn, 0, len(s.mu.conns))
	for c := range s.mu.conns {
		conns = append(conns, c)
	}
	return conns
}
