package ottla

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/ottla-io/ottla/internal/admin"
	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/coordinator"
	"github.com/ottla-io/ottla/internal/lograte"
	"github.com/ottla-io/ottla/internal/server"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// drainTime is how long Close lets requests that were begun be answered.
const drainTime = 10 * time.Second

// Server is a running broker.
type Server struct {
	config   *config.Config
	log      *slog.Logger
	rate     *lograte.Limiter // of lines that clients can cause
	dataDir  string
	metrics  *admin.Metrics
	settings *settings

	listeners []listener
	http      net.Listener // nil: off

	disk   *vfs.Disk // nil: in memory
	broker *broker.Broker
	groups *coordinator.Coordinator
	api    *api.API
	kafka  *server.Server
	admin  *admin.Server

	changes chan struct{} // has a token after each change of the metadata

	stop context.CancelFunc // ends the broker's background work
	runs sync.WaitGroup
	done chan struct{}

	mu struct {
		sync.Mutex
		err    error // why the server ended by itself
		ended  bool
		closed bool
	}
	closing sync.Once
	result  error // of Close
}

// listener is an open listener for clients.
type listener struct {
	net.Listener
	name string
}

// Start starts a broker and returns when it serves. ctx bounds the start only.
func Start(ctx context.Context, opts Options) (*Server, error) {
	s := &Server{log: opts.Logger, done: make(chan struct{}), changes: make(chan struct{}, 1)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.rate = lograte.New(s.log)
	var err error
	if s.config, err = loadConfig(opts); err != nil {
		return nil, err
	}
	if err = s.listen(ctx); err == nil {
		err = s.open(ctx, opts)
	}
	if err != nil {
		s.abandon()
		return nil, err
	}
	s.serve(opts)
	return s, nil
}

// listen opens all addresses, so that one that is taken is found before anything is written.
func (s *Server) listen(ctx context.Context) error {
	at, _, notices, err := s.config.Listeners()
	if err != nil {
		return err
	}
	for _, n := range append(s.config.Notices(), notices...) {
		level := slog.LevelInfo
		if n.Warn {
			level = slog.LevelWarn
		}
		s.log.LogAttrs(ctx, level, "setting", slog.String("note", n.Text))
	}
	for _, l := range at {
		open, err := listen(ctx, "listeners", l.Address())
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, listener{open, l.Name})
	}
	if addr := s.config.String("admin.listener"); addr != "off" {
		if config.Open(addr) {
			s.log.Warn("admin.listener is open to the network without authentication: anyone there can read metrics, and take profiles if admin.pprof=on",
				slog.String("addr", addr), slog.String("admin_pprof", s.config.String("admin.pprof")))
		}
		s.http, err = listen(ctx, "admin.listener", addr)
	}
	return err
}

// abandon gives back what a Start that failed has taken. That Start's error is what counts.
func (s *Server) abandon() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	if s.http != nil {
		_ = s.http.Close()
	}
	if s.disk != nil {
		_ = s.disk.Close()
	}
}

// open opens the broker.
func (s *Server) open(ctx context.Context, opts Options) error {
	files, lock, err := s.files(opts)
	if err != nil {
		return err
	}
	node, err := s.nodeID(files)
	if err != nil {
		return err
	}
	s.metrics = admin.NewMetrics(opts.Version, s.metricBounds())
	s.settings = newSettings(s.config, node)
	s.broker, err = broker.Open(ctx, s.brokerOptions(files, lock, node))
	if err != nil {
		return err
	}
	s.settings.follow(s.broker.Image())
	return nil
}

// serve starts the goroutines of an opened server.
func (s *Server) serve(opts Options) {
	var background context.Context
	background, s.stop = context.WithCancel(context.Background())
	s.runs.Go(func() { s.ended(s.broker.Run(background)) })
	s.runs.Go(func() { s.rate.Run(background) })
	s.groups = coordinator.New(s.groupsOptions())
	s.runs.Go(func() { s.ended(s.groups.Run(background)) })
	s.api = api.New(s.apiOptions(opts))
	s.kafka = server.New(s.serverOptions(s.api))
	for _, l := range s.listeners {
		s.runs.Go(func() { s.ended(s.kafka.Serve(l.name, l.Listener)) })
	}
	if s.http != nil {
		s.admin = admin.New(s.adminOptions())
		s.runs.Go(func() { s.ended(s.admin.Serve(s.http)) })
	}
	s.log.Info("serving", slog.String("version", opts.Version), slog.String("cluster", s.ClusterID()), slog.Any("node", s.NodeID()), slog.Any("kafka", s.Addrs()), slog.String("admin", s.AdminAddr()), slog.String("dir", s.dataDir))
}

// ended is told when a part of the server returns, which it does not before Close unless it failed.
func (s *Server) ended(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed || s.mu.ended {
		return
	}
	s.mu.ended = true
	s.mu.err = err
	close(s.done)
}

// ready is nil if this node serves and can write.
func (s *Server) ready() error {
	if err := s.broker.Healthy(); err != nil {
		return err
	}
	return s.broker.Writable()
}

// Addr is the first listener's address, HOST:PORT, with the port that was picked where 0 was asked for.
func (s *Server) Addr() string { return s.listeners[0].Addr().String() }

// Addrs are all listeners' addresses.
func (s *Server) Addrs() []string {
	all := make([]string, len(s.listeners))
	for i, l := range s.listeners {
		all[i] = l.Addr().String()
	}
	return all
}

// AdminAddr is the HTTP address, HOST:PORT, or empty if it is off.
func (s *Server) AdminAddr() string {
	if s.http == nil {
		return ""
	}
	return s.http.Addr().String()
}

// ClusterID is the cluster's id, which the first start in a directory makes up.
func (s *Server) ClusterID() string { return s.broker.ClusterID() }

// NodeID is this broker's id.
func (s *Server) NodeID() int32 { return s.broker.NodeID() }

// DataDir is the data directory's path, or "memory".
func (s *Server) DataDir() string { return s.dataDir }

// Done is closed when the server can no longer run; Close it then. Close does not close Done.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is why Done is closed.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.err
}

// Close stops the server cleanly: requests that were begun are answered, all is written to disk, and the next start need not
// recover. It may be called again and then returns the same.
func (s *Server) Close() error {
	s.closing.Do(func() { s.result = s.close() })
	return s.result
}

// Unclean says, once Close has returned, why the next start must recover the logs, as after a crash; nil if it need not. Close itself
// may have returned nil: a partition that is offline, or was not recovered yet, is no error of the stop.
func (s *Server) Unclean() error { return s.broker.Unclean() }

func (s *Server) close() error {
	s.mu.Lock()
	s.mu.closed = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	s.api.Drain()
	s.groups.Close()
	err := s.kafka.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("some requests were not answered in time", slog.Duration("waited", drainTime))
		err = nil
	}
	if s.admin != nil {
		err = errors.Join(err, s.admin.Close())
	}
	err = errors.Join(err, s.broker.Close())
	s.stop()
	s.runs.Wait()
	if s.disk != nil {
		err = errors.Join(err, s.disk.Close())
	}
	return err
}
