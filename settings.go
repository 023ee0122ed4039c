package ottla

import (
	"strconv"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/setting"
)

// settings answers what the broker and the handlers ask of the configuration: it is a broker.TopicDefaults, a meta.ConfigSchema and an
// api.Configs.
type settings struct {
	static *config.Config
	node   string
	now    atomic.Pointer[config.Config] // with what was changed while the broker runs
}

func newSettings(c *config.Config, node int32) *settings {
	s := &settings{static: c, node: strconv.Itoa(int(node))}
	s.now.Store(c)
	return s
}

// follow takes the broker settings of image over.
func (s *settings) follow(image *meta.Image) {
	s.now.Store(s.static.WithDynamic(
		image.Config(meta.Resource{Type: meta.ResourceBroker}),
		image.Config(meta.Resource{Type: meta.ResourceBroker, Name: s.node})))
}

// Resolve implements broker.TopicDefaults.
func (s *settings) Resolve(overrides map[string]string) partition.Options {
	return s.now.Load().Resolve(overrides)
}

// topicValidator is the part of broker.TopicDefaults that meta.ConfigSchema has too, under the same name.
type topicValidator struct{ *settings }

// Validate implements broker.TopicDefaults.
func (v topicValidator) Validate(overrides map[string]string, changed []string) error {
	return v.static.Validate(overrides, changed)
}

// schema is the meta.ConfigSchema.
type schema struct{ *settings }

// Validate checks what a change did to a resource's configs. It must be pure, so topics and groups are checked against the settings of the start.
func (s schema) Validate(r meta.Resource, configs map[string]string, changed []string) error {
	switch r.Type {
	case meta.ResourceTopic:
		return s.static.Validate(configs, changed)
	case meta.ResourceBroker:
		return config.ValidateDynamic(configs, changed)
	case meta.ResourceGroup:
		return setting.CheckGroupTogether(entries(s.static.DescribeBroker()), configs, changed)
	default:
		return nil
	}
}

// List says whether a key is a list.
func (s schema) List(r meta.Resource, key string) (def string, isList bool) {
	return config.ListDefault(key, r.Type == meta.ResourceTopic)
}

// DescribeTopic implements api.Configs.
func (s *settings) DescribeTopic(d api.Dynamic, overrides map[string]string) []setting.Entry {
	return entries(s.static.WithDynamic(d.Cluster, d.Node).DescribeTopic(overrides))
}

// DescribeBroker implements api.Configs.
func (s *settings) DescribeBroker(d api.Dynamic) []setting.Entry {
	return entries(s.static.WithDynamic(d.Cluster, d.Node).DescribeBroker())
}

// BrokerSetting implements api.Configs.
func (s *settings) BrokerSetting(name string) (setting.Entry, bool) {
	e, ok := s.static.DescribeBrokerKey(name)
	return entries([]config.Entry{e})[0], ok
}

func entries(all []config.Entry) []setting.Entry {
	out := make([]setting.Entry, len(all))
	for i, e := range all {
		out[i] = setting.Entry{
			Name: e.Name, Value: e.Value, Type: kmsg.ConfigType(e.Type), Source: kmsg.ConfigSource(e.Source),
			ReadOnly: e.ReadOnly, Sensitive: e.Sensitive, Doc: e.Doc,
		}
		for _, syn := range e.Synonyms {
			out[i].Synonyms = append(out[i].Synonyms, setting.Synonym{Name: syn.Name, Value: syn.Value, Source: kmsg.ConfigSource(syn.Source)})
		}
	}
	return out
}
