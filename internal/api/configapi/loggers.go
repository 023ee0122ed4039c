package configapi

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/setting"
)

// rootLogger is the one logger that there is, by Kafka's name for it.
const rootLogger = "root"

// logLevel is one of Kafka's level names.
type logLevel struct {
	name  string
	level slog.Level
}

// logLevels are Kafka's levels by slog's, ascending.
var logLevels = [...]logLevel{
	{"TRACE", slog.LevelDebug - 4},
	{"DEBUG", slog.LevelDebug},
	{"INFO", slog.LevelInfo},
	{"WARN", slog.LevelWarn},
	{"ERROR", slog.LevelError},
	{"FATAL", slog.LevelError + 4},
}

// levelName is the last of Kafka's levels that is not above level.
func levelName(level slog.Level) string {
	name := logLevels[0].name
	for _, l := range logLevels {
		if l.level <= level {
			name = l.name
		}
	}
	return name
}

// loggerEntries are the loggers and their levels.
func (f *family) loggerEntries() []setting.Entry {
	if f.level == nil {
		return nil
	}
	name := levelName(f.level.Level())
	return []setting.Entry{{Name: rootLogger, Value: &name, Source: kmsg.ConfigSourceDynamicBrokerLoggerConfig}}
}

// alterLoggers sets levels of loggers (KIP-412; Kafka's RuntimeLoggerManager). times is how often the request names the resource.
func (f *family) alterLoggers(audit *api.Audit, r meta.ResourceChanges, times int, validateOnly bool) error {
	if times > 1 {
		return api.Refuse(kerr.InvalidRequest, "resource %q is named %d times: name each once", r.Resource.Name, times)
	}
	if err := checkKeys(r); err != nil {
		return err
	}
	if err := f.refuseOtherNode(r.Resource.Name); err != nil {
		return err
	}
	var next *logLevel
	for _, c := range r.Changes {
		level, err := f.checkLevel(c)
		if err != nil {
			return err
		}
		next = level
	}
	if next != nil && !validateOnly {
		f.setLevel(audit, r.Resource, next)
	}
	return nil
}

// setLevel sets the level of the root logger. Its line is written at the lower of the two levels.
func (f *family) setLevel(audit *api.Audit, r meta.Resource, next *logLevel) {
	old := f.level.Level()
	f.level.Set(min(old, next.level))
	if name := levelName(old); name != next.name {
		auditSetting(audit, r, rootLogger, name, next.name)
	}
	f.level.Set(next.level)
}

// checkLevel judges one change and finds the level it asks for.
func (f *family) checkLevel(c meta.ConfigChange) (*logLevel, error) {
	switch c.Op {
	case meta.OpSet:
	case meta.OpDelete:
		if c.Name == rootLogger {
			return nil, api.Refuse(kerr.InvalidRequest, "the level of the root logger cannot be removed")
		}
	case meta.OpAppend, meta.OpSubtract:
		return nil, api.Refuse(kerr.InvalidRequest, "a logger's level is set, it cannot be appended to or subtracted from")
	default:
		return nil, api.Refuse(kerr.InvalidRequest, "unknown operation %d on logger %q", c.Op, c.Name)
	}
	if c.Name != rootLogger || f.level == nil {
		return nil, api.Refuse(kerr.InvalidConfig, "logger %q does not exist", c.Name)
	}
	at := slices.IndexFunc(logLevels[:], func(l logLevel) bool { return strings.EqualFold(l.name, *c.Value) })
	if at < 0 {
		return nil, api.Refuse(kerr.InvalidConfig, "level %q of logger %s is unknown: expected TRACE, DEBUG, INFO, WARN, ERROR or FATAL", *c.Value, c.Name)
	}
	return &logLevels[at], nil
}
