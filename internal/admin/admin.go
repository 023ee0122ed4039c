package admin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The limits of a connection. A profile may run for writeTime.
const (
	headerTime = 5 * time.Second
	readTime   = 10 * time.Second
	writeTime  = 2 * time.Minute
	idleTime   = time.Minute
	headerMax  = 16 << 10
	drainTime  = 2 * time.Second
)

// Options say what to serve.
type Options struct {
	Metrics *Metrics
	Healthy func() error // nil, or why this process cannot work
	Ready   func() error // nil, or why this node cannot serve
	Figures func() Figures
	// Profiles has /debug/pprof served.
	Profiles bool
}

// Server is the HTTP server.
type Server struct{ http http.Server }

// New returns a server.
func New(opts Options) *Server {
	opts.Metrics.look(opts.Figures)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", verdict(opts.Healthy))
	mux.HandleFunc("GET /readyz", verdict(opts.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(opts.Metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second}))
	paths := "/healthz\n/readyz\n/metrics\n"
	if opts.Profiles {
		paths += "/debug/pprof/\n"
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	} else {
		mux.HandleFunc("GET /debug/pprof/", noProfiles)
	}
	mux.HandleFunc("GET /{$}", index(paths))
	return &Server{http.Server{
		Handler: mux, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: headerMax,
	}}
}

// index names the paths.
func index(paths string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ottla\n\n" + paths))
	}
}

// noProfiles says how to have profiles.
func noProfiles(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "profiles are served on a loopback admin.listener only, or with admin.pprof=on", http.StatusForbidden)
}

// verdict answers 200, or 503 with what is wrong.
func verdict(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(err.Error() + "\n"))
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}
}

// Serve serves l until Close; it returns nil then.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close stops serving and closes all connections; those that are being answered get a moment.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close()
	} else if err != nil {
		return err
	}
	return nil
}
