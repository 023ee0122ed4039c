package ottla

import (
	"context"
	"fmt"
	"log/slog"
	"net"
)

// Options say what broker to start. The zero Options start what `ottla start` does.
type Options struct {
	// DataDir is the directory that holds everything; it is made if it is not there. Empty: what the settings say, which by default is
	// ./ottla-data. It is the setting log.dirs.
	DataDir string
	// Memory keeps all data in memory instead, until Close. Together with DataDir, or log.dirs in Settings, it is an error; log.dirs in
	// Environ or ConfigFile, which others share, has no effect then.
	Memory bool
	// Listen is the address for clients, HOST:PORT; port 0 picks one. Empty: what the settings say, which by default is
	// 127.0.0.1:9092. It is the setting listeners.
	Listen string
	// Admin is the HTTP address of health, metrics and profiles, HOST:PORT, or "off". Empty: what the settings say, which by default is
	// 127.0.0.1:9644. It is the setting admin.listener.
	Admin string
	// Settings are settings by Kafka's names (docs/reference/config.md); an unknown one is an error. The fields above stand above them, and
	// they above all below.
	Settings map[string]string
	// Environ are variables as of os.Environ, of which OTTLA_* and KAFKA_* are settings. Nil: none.
	Environ []string
	// ConfigFile is the name of a server.properties. Empty: none.
	ConfigFile string
	// Logger is told what happens. Nil: nothing is logged.
	Logger *slog.Logger
	// LogLevel is the level of Logger, which clients may then change (IncrementalAlterConfigs of a broker's loggers). Nil: they may not.
	LogLevel *slog.LevelVar
	// Version is what metrics and logs say this build is.
	Version string
}

// ListenError says that an address cannot be listened on.
type ListenError struct {
	Setting string // listeners or admin.listener
	Addr    string // HOST:PORT as it was asked for
	Err     error
}

func (e *ListenError) Error() string {
	return fmt.Sprintf("cannot listen on %s (%s): %v", e.Addr, e.Setting, e.Err)
}

func (e *ListenError) Unwrap() error { return e.Err }

// listen opens a TCP listener.
func listen(ctx context.Context, setting, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &ListenError{setting, addr, err}
	}
	return l, nil
}
