package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/internal/cli/session"
	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/host"
)

func (a *app) startCommand() *cobra.Command {
	var flags settingFlags
	var level string
	cmd := &cobra.Command{
		Use: "start", Short: "start a broker", Args: cobra.NoArgs,
		Long: "Start one broker. Settings come from flags, then variables OTTLA_* and KAFKA_*, then --config, then defaults.",
		Example: `  ottla start
  ottla start --data /var/lib/ottla --listen 0.0.0.0:9092 --set num.partitions=3
  ottla start --config server.properties`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.logging(level)
			if err != nil {
				return err
			}
			c, err := flags.load(a.environ)
			if err != nil {
				return err
			}
			return a.start(cmd.Context(), &flags, c, log)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// logging is a logger and its level, which clients may change.
type logging struct {
	logger *slog.Logger
	level  *slog.LevelVar
}

func (a *app) logging(level string) (logging, error) {
	l := new(slog.LevelVar)
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return logging{}, session.Usagef("--log-level %s: must be debug, info, warn or error", level)
	}
	return logging{slog.New(slog.NewTextHandler(a.ErrOut, &slog.HandlerOptions{Level: l})), l}, nil
}

// start runs a broker until a signal. A second signal does not wait for the first to be carried out.
func (a *app) start(ctx context.Context, flags *settingFlags, c *config.Config, log logging) error {
	if _, _, _, err := c.Listeners(); err != nil {
		return err
	}
	host.Fit(a.getenv, log.logger)
	if a.getenv("GOGC", "") == "" {
		following, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		wg.Go(func() { host.FollowHeap(following) })
	}
	settings := make(map[string]string)
	given, err := flags.given()
	if err != nil {
		return err
	}
	for _, f := range given {
		settings[f.Key] = f.Text
	}
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		server *ottla.Server
		err    error
	}
	a.broker.Store(true)
	started := make(chan result, 1)
	go func() {
		s, err := ottla.Start(starting, ottla.Options{Settings: settings, ConfigFile: flags.file, Environ: a.environ, Logger: log.logger, LogLevel: log.level, Version: Version()})
		started <- result{s, err}
	}()
	var r result
	select {
	case r = <-started:
	case <-a.Interrupt:
		cancel()
		if err := a.stop(func() error { r = <-started; return nil }); err != nil {
			return err
		}
		if r.err != nil && errors.Is(r.err, context.Canceled) {
			return nil
		}
		if r.err == nil { // it was ready before it noticed
			return a.stop(r.server.Close)
		}
	}
	if r.err != nil {
		return own(startError(r.err))
	}
	a.banner(r.server, c)
	return a.serve(ctx, r.server, log.logger)
}

// ownError is what kept the broker of this process from starting, running or stopping.
type ownError struct{ error }

func (e ownError) Unwrap() error { return e.error }

// serve waits for the end of the broker, or ends it at a signal.
func (a *app) serve(ctx context.Context, server *ottla.Server, logger *slog.Logger) error {
	select {
	case <-server.Done():
		return own(errors.Join(server.Err(), server.Close()))
	case <-ctx.Done():
	case s := <-a.Interrupt:
		logger.Info("stopping; the same signal again stops at once", slog.String("signal", s.String()))
	}
	if err := a.stop(server.Close); err != nil {
		return own(err)
	}
	if why := server.Unclean(); why != nil {
		logger.Warn("stopped; the next start recovers the logs", slog.Any("why", why))
	} else {
		logger.Info("stopped cleanly")
	}
	return nil
}

func own(err error) error {
	if err == nil {
		return nil
	}
	return ownError{err}
}

// stop calls shut and waits for it, or until a second signal.
func (a *app) stop(shut func() error) error {
	began := time.Now()
	closed := make(chan error, 1)
	go func() { closed <- shut() }()
	for {
		select {
		case err := <-closed:
			return err
		case s := <-a.Interrupt:
			if time.Since(began) >= echo {
				return fmt.Errorf("stopped at once by a second %s: the next start recovers the logs", s)
			}
		}
	}
}

// startError says who has a port and which flag changes it.
func startError(err error) error {
	var busy *ottla.ListenError
	if !errors.As(err, &busy) || !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	owner := "another process"
	if pid, name, ok := host.PortOwner(busy.Addr); ok {
		owner = fmt.Sprintf("pid %d (%s)", pid, name)
	}
	flag := "--listen HOST:PORT"
	if busy.Setting == "admin.listener" {
		flag = "--admin HOST:PORT (or off)"
	}
	return fmt.Errorf("%s is in use by %s; stop it or choose another address with %s", busy.Addr, owner, flag)
}

// banner tells a person what runs, and what to try.
func (a *app) banner(server *ottla.Server, c *config.Config) {
	out := a.Out
	if p, ok := out.(*session.Printer); ok { // the broker serves, and stops cleanly, whether or not this can be printed
		out = p.W
	}
	kafka := strings.Join(server.Addrs(), ", ")
	admin, metrics := server.AdminAddr(), ""
	if admin == "" {
		admin = "off"
	} else {
		metrics = "/metrics"
		admin = "http://" + admin
	}
	fmt.Fprintf(out, "ottla %s   cluster %s   node %d\n\n", Version(), server.ClusterID(), server.NodeID())
	fmt.Fprintf(out, "  Kafka       %s\n%s  HTTP        %s%s\n  Data        %s\n  Durability  %s\n\n",
		kafka, advertised(c), admin, metrics, server.DataDir(), contracts[c.String("log.durability")])
	brokers := ""
	if first := server.Addr(); first != "127.0.0.1:9092" {
		brokers = " -b " + reachable(first)
	}
	fmt.Fprintf(out, "  Try in another terminal:\n    %[1]s topic create greetings%[2]s\n    echo hello | %[1]s produce greetings%[2]s\n    %[1]s consume greetings%[2]s\n\n",
		a.self, brokers)
	fmt.Fprintf(out, "ready kafka=%s admin=%s\n", strings.Join(server.Addrs(), ","), strings.TrimPrefix(admin, "http://"))
}

// advertised is the banner's line of the addresses that clients are told to connect to, if those are not the ones they reached.
func advertised(c *config.Config) string {
	_, all, _, err := c.Listeners()
	if err != nil || len(all) == 0 {
		return ""
	}
	addresses := make([]string, len(all))
	for i, l := range all {
		addresses[i] = l.Address()
	}
	return fmt.Sprintf("  Advertised  %s\n", strings.Join(addresses, ", "))
}

// reachable turns an address that listens everywhere into one to connect to.
func reachable(addr string) string {
	for _, all := range []string{"0.0.0.0:", "[::]:"} {
		if port, ok := strings.CutPrefix(addr, all); ok {
			return "127.0.0.1:" + port
		}
	}
	return addr
}
