package api

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// Configs knows the settings of topics and of this broker, by Kafka's names. Lists are ordered by name.
type Configs interface {
	// DescribeTopic lists the settings of a topic with these overrides.
	DescribeTopic(dynamic Dynamic, overrides map[string]string) []ConfigEntry
	// DescribeBroker lists the settings of this broker.
	DescribeBroker(dynamic Dynamic) []ConfigEntry
}

// Dynamic is the broker settings that were changed while brokers run: those of all brokers, and those of this one, which
// stand above them (KIP-226). The maps are shared and must not be written.
type Dynamic struct {
	Cluster, Node map[string]string
}

// ConfigEntry is one setting as DescribeConfigs shows it (KIP-226, KIP-569).
type ConfigEntry struct {
	Name      string
	Value     *string // nil: not set, or hidden because it is sensitive
	Type      kmsg.ConfigType
	Source    kmsg.ConfigSource
	ReadOnly  bool
	Sensitive bool
	Synonyms  []ConfigSynonym // what gives the value, then what it stands above
	Doc       string
}

// ConfigSynonym is one of the values that an entry was chosen from.
type ConfigSynonym struct {
	Name   string
	Value  *string
	Source kmsg.ConfigSource
}

// dynamic is the broker settings that were changed, as image has them.
func (a *API) dynamic(image *meta.Image) Dynamic {
	return Dynamic{
		Cluster: image.Config(meta.Resource{Type: meta.ResourceBroker}),
		Node:    image.Config(meta.Resource{Type: meta.ResourceBroker, Name: a.nodeName()}),
	}
}

// topicEntries are the settings of a topic with these overrides.
func (a *API) topicEntries(image *meta.Image, overrides map[string]string) []ConfigEntry {
	if a.opts.Configs == nil {
		return nil
	}
	return plain(a.opts.Configs.DescribeTopic(a.dynamic(image), overrides))
}

// brokerEntries are the settings of this broker.
func (a *API) brokerEntries(image *meta.Image) []ConfigEntry {
	if a.opts.Configs == nil {
		return nil
	}
	entries := plain(a.opts.Configs.DescribeBroker(a.dynamic(image)))
	// An id that nobody set was found in the data directory, or given; tools read it here.
	if e := entryNamed(entries, "node.id"); e != nil && e.Value == nil {
		name := a.nodeName()
		e.Value = &name
	}
	return entries
}

// clusterEntries are the settings that were changed for all brokers, and nothing that stands above or below them.
func (a *API) clusterEntries(image *meta.Image) []ConfigEntry {
	cluster := a.dynamic(image).Cluster
	if a.opts.Configs == nil || len(cluster) == 0 {
		return nil
	}
	var entries []ConfigEntry
	for _, e := range plain(a.opts.Configs.DescribeBroker(Dynamic{Cluster: cluster})) {
		if _, set := cluster[e.Name]; !set {
			continue
		}
		var synonyms []ConfigSynonym
		for _, s := range e.Synonyms {
			if s.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig {
				synonyms = append(synonyms, s)
			}
		}
		e.Synonyms = synonyms
		entries = append(entries, e)
	}
	return entries
}

// plain writes lists and booleans in the one way that tools compare with: Kafka Connect, for one, does not start if the policy of its
// topics is not exactly "compact".
func plain(entries []ConfigEntry) []ConfigEntry {
	for i := range entries {
		e := &entries[i]
		if e.Value == nil {
			continue
		}
		text := *e.Value
		switch e.Type {
		case kmsg.ConfigTypeList:
			items := strings.Split(text, ",")
			for i := range items {
				items[i] = strings.TrimSpace(items[i])
			}
			text = strings.Join(items, ",")
		case kmsg.ConfigTypeBoolean:
			text = strings.ToLower(strings.TrimSpace(text))
		case kmsg.ConfigTypeInt, kmsg.ConfigTypeShort, kmsg.ConfigTypeLong, kmsg.ConfigTypeDouble:
			text = strings.TrimSpace(text)
		}
		if text != *e.Value {
			e.Value = &text
		}
	}
	return entries
}

// entryNamed finds a setting in a list; nil if it is not there.
func entryNamed(entries []ConfigEntry, name string) *ConfigEntry {
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i]
		}
	}
	return nil
}
