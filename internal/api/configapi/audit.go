package configapi

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// What a line of the audit says in place of a value.
const (
	auditDefault = "(default)" // there is none of this resource's own
	auditHidden  = "(hidden)"  // a password, or a key that may be one
)

// resourceWords are the words for types of resources.
var resourceWords = map[int8]string{
	meta.ResourceTopic: "topic", meta.ResourceBroker: "broker", meta.ResourceBrokerLogger: "broker-logger",
	meta.ResourceClientMetrics: "client-metrics", meta.ResourceGroup: "group",
}

// auditChanges writes a line for each setting of r that differs between the images. Of a change that
// another request made in between, both may have a line.
func (f *family) auditChanges(t *api.Audit, r meta.Resource, before, after *meta.Image) {
	was, is := before.Config(r), after.Config(r)
	keys := slices.Collect(maps.Keys(was))
	for key := range is {
		if _, both := was[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		old, had := was[key]
		value, has := is[key]
		if had == has && old == value {
			continue
		}
		hidden := f.hidden(r, key)
		auditSetting(t, r, key, auditValue(old, had, hidden), auditValue(value, has, hidden))
	}
}

// auditSetting writes the line of one setting.
func auditSetting(t *api.Audit, r meta.Resource, key, old, value string) {
	t.Line("setting changed", slog.String("resource", resourceWords[r.Type]), slog.String("name", api.AuditText(r.Name)),
		slog.String("key", api.AuditText(key)), slog.String("old", old), slog.String("new", value))
}

func auditValue(text string, set, hidden bool) string {
	switch {
	case !set:
		return auditDefault
	case hidden:
		return auditHidden
	}
	return api.AuditText(text)
}

// hidden says whether the values of a key stay out of the log: a broker's that are passwords, or that
// nothing is known of.
func (f *family) hidden(r meta.Resource, key string) bool {
	if r.Type != meta.ResourceBroker {
		return false
	}
	if f.configs == nil {
		return true
	}
	e, known := f.configs.BrokerSetting(key)
	return !known || e.Sensitive
}
