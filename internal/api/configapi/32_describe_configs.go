package configapi

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/setting"
)

// DescribeConfigs: v0 to v4.
//
// **Behaviour**
//
// Lists the settings of topics, of this broker (by its id), of all brokers (empty name: only what was changed for all), of groups, of
// client metrics subscriptions and of this broker's loggers, by name, with where each value is from and, if asked, what it stands above and
// what it means. With config names, only those that exist are listed. Values of passwords are never shown. Lists are written without spaces,
// so cleanup.policy is exactly what tools compare with. Keys that are unknown here, which a directory of Kafka brought, are listed with the type
// UNKNOWN; a broker's without the value, since it may be a secret. Settings that Kafka calls internal, and those that Kafka 4 dropped, are listed
// where they were set.
//
// Per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST (another broker's id, an empty name, an unknown type,
// a resource that was named before), POLICY_VIOLATION (more than 1000 groups and client metrics subscriptions).
//
// **Differences from Apache Kafka**
//
// Kafka refuses the whole request for one resource of an unknown type. It answers a resource as often as it is named, and any number of
// groups: a small request could have a response of any size. There is one logger, root. A broker setting that is not set
// shows the value that a synonym gives it (log.retention.ms in hours' place); Kafka shows null. Settings are ordered by name; null
// and empty lists of config names both mean all. Kafka hides the value of a topic's unknown key too. A topic tells what is wrong with its
// partitions here under the name ottla.troubles, if that is among the names.
//
// **Versions**
//
//	v1 synonyms and sources (KIP-226), v3 types and documentation (KIP-569)
//	v4 flexible; groups (KIP-848) and client metrics (KIP-714) by their types

func (f *family) describeConfigs(_ context.Context, a *api.API, req *api.Request, m *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	q := a.Asked(req)
	d := description{family: f, image: f.node.Image(), seen: make(map[meta.Resource]bool, len(m.Resources))}
	for i := range m.Resources {
		r := &m.Resources[i]
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		entries, err := d.resource(meta.Resource{Type: int8(r.ResourceType), Name: r.ResourceName})
		if err != nil {
			rr.ErrorCode, rr.ErrorMessage = q.Code(err), api.Explain(err)
			resp.Resources = append(resp.Resources, rr)
			continue
		}
		rr.ErrorMessage = new(string) // as in Kafka
		rr.Configs = d.configs(m, r, entries)
		if e, ok := f.troubles(r); ok {
			rr.Configs = append(rr.Configs, describedConfig(m, r.ResourceType, &e))
		}
		resp.Resources = append(resp.Resources, rr)
	}
	return resp
}

// configs is the settings of a resource that are asked for. All topics that have none of their own share one list, which ten thousand of them
// would have a copy of until the response is encoded.
func (d *description) configs(m *kmsg.DescribeConfigsRequest, r *kmsg.DescribeConfigsRequestResource, entries []setting.Entry) []kmsg.DescribeConfigsResponseResourceConfig {
	shared := len(r.ConfigNames) == 0 && int8(r.ResourceType) == meta.ResourceTopic && len(d.image.Config(meta.TopicResource(r.ResourceName))) == 0
	if shared && d.plain != nil {
		return d.plain
	}
	var configs []kmsg.DescribeConfigsResponseResourceConfig
	for i := range entries {
		if len(r.ConfigNames) == 0 || slices.Contains(r.ConfigNames, entries[i].Name) {
			configs = append(configs, describedConfig(m, r.ResourceType, &entries[i]))
		}
	}
	if shared {
		d.plain = configs
	}
	return configs
}

// describedNamesMax is how many groups and client metrics subscriptions one request may describe. Topics and brokers are bounded by
// what there is; these have settings under any name, a hundred times larger than the name.
const describedNamesMax = 1000

// description is one request's view of the settings.
type description struct {
	family *family
	image  *meta.Image
	seen   map[meta.Resource]bool
	names  int // of groups and client metrics subscriptions
	own    []setting.Entry
	topic  []setting.Entry                              // of topics that have no settings of their own
	plain  []kmsg.DescribeConfigsResponseResourceConfig // what is said of these
}

// resource lists the settings of a resource.
func (d *description) resource(r meta.Resource) ([]setting.Entry, error) {
	if d.seen[r] {
		return nil, api.Refuse(kerr.InvalidRequest, "resource %q is named twice: name each once", r.Name)
	}
	d.seen[r] = true
	switch r.Type {
	case meta.ResourceTopic:
		if err := topic.Check(r.Name); err != nil {
			return nil, err
		}
		if d.image.Topic(r.Name) == nil {
			return nil, api.Refuse(kerr.UnknownTopicOrPartition, "topic %s does not exist", r.Name)
		}
		overrides := d.image.Config(r)
		if len(overrides) > 0 {
			return d.family.topicEntries(d.image, overrides), nil
		}
		if d.topic == nil {
			d.topic = d.family.topicEntries(d.image, nil)
		}
		return d.topic, nil
	case meta.ResourceBroker:
		if r.Name == "" {
			return d.family.clusterEntries(d.image), nil
		}
		if err := d.family.refuseOtherNode(r.Name); err != nil {
			return nil, err
		}
		return d.broker(), nil
	case meta.ResourceBrokerLogger:
		return d.family.loggerEntries(), d.family.refuseOtherNode(r.Name)
	case meta.ResourceClientMetrics:
		return setting.ClientMetrics(d.image.Config(r)), d.count(r)
	case meta.ResourceGroup:
		if err := d.count(r); err != nil {
			return nil, err
		}
		return setting.Group(d.broker(), d.image.Config(r)), nil
	}
	return nil, refuseType(r)
}

// broker is this broker's settings, listed once.
func (d *description) broker() []setting.Entry {
	if d.own == nil {
		d.own = d.family.brokerEntries(d.image)
	}
	return d.own
}

// count refuses names that are empty or too many.
func (d *description) count(r meta.Resource) error {
	if d.names++; d.names > describedNamesMax {
		return api.Refuse(kerr.PolicyViolation, "one request may describe at most %d groups and client metrics subscriptions: split it", describedNamesMax)
	}
	if r.Name == "" {
		return api.Refuse(kerr.InvalidRequest, "the name of the group or client metrics subscription is empty")
	}
	return nil
}

// refuseType is the error for a resource of a type that has no configs.
func refuseType(r meta.Resource) error {
	return api.Refuse(kerr.InvalidRequest, "resource %q has type %d, which is unknown: expected topic (2), broker (4), broker logger (8), client metrics (16) or group (32)", r.Name, r.Type)
}

// refuseOtherNode refuses a broker's name that is not this one's: a broker knows its own settings only.
func (f *family) refuseOtherNode(name string) error {
	if own := f.nodeName(); name != own {
		return api.Refuse(kerr.InvalidRequest, "broker id is %q, expected %s: ask each broker for its own settings", name, own)
	}
	return nil
}

// describedConfig is one setting of the response.
func describedConfig(m *kmsg.DescribeConfigsRequest, typ kmsg.ConfigResourceType, e *setting.Entry) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.Source, c.ConfigType = e.Name, e.Value, e.Source, e.Type
	c.ReadOnly, c.IsSensitive = e.ReadOnly, e.Sensitive
	// What v0 says instead of the source: for a topic, whether it has the setting itself.
	c.IsDefault = e.Source == kmsg.ConfigSourceDefaultConfig
	if typ == kmsg.ConfigResourceTypeTopic {
		c.IsDefault = e.Source != kmsg.ConfigSourceDynamicTopicConfig
	}
	if m.IncludeDocumentation {
		c.Documentation = &e.Doc
	}
	if !m.IncludeSynonyms {
		return c
	}
	for _, s := range e.Synonyms {
		cs := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		cs.Name, cs.Value, cs.Source = s.Name, s.Value, s.Source
		c.ConfigSynonyms = append(c.ConfigSynonyms, cs)
	}
	return c
}
