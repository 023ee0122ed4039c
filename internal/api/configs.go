package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/setting"
)

// Configs knows the settings of topics and of this broker, by Kafka's names. Lists are ordered by name.
type Configs interface {
	// DescribeTopic lists the settings of a topic with these overrides.
	DescribeTopic(dynamic Dynamic, overrides map[string]string) []setting.Entry
	// DescribeBroker lists the settings of this broker.
	DescribeBroker(dynamic Dynamic) []setting.Entry
}

// Dynamic is the broker settings that were changed while brokers run: those of all brokers, and those of this one, which
// stand above them (KIP-226). The maps are shared and must not be written.
type Dynamic struct {
	Cluster, Node map[string]string
}

// dynamic is the broker settings that were changed, as image has them.
func (a *API) dynamic(image *meta.Image) Dynamic {
	return Dynamic{
		Cluster: image.Config(meta.Resource{Type: meta.ResourceBroker}),
		Node:    image.Config(meta.Resource{Type: meta.ResourceBroker, Name: a.nodeName()}),
	}
}

// topicEntries are the settings of a topic with these overrides.
func (a *API) topicEntries(image *meta.Image, overrides map[string]string) []setting.Entry {
	if a.opts.Configs == nil {
		return nil
	}
	return setting.Plain(a.opts.Configs.DescribeTopic(a.dynamic(image), overrides))
}

// brokerEntries are the settings of this broker.
func (a *API) brokerEntries(image *meta.Image) []setting.Entry {
	if a.opts.Configs == nil {
		return nil
	}
	entries := setting.Plain(a.opts.Configs.DescribeBroker(a.dynamic(image)))
	// An id that nobody set was found in the data directory, or given; tools read it here.
	if e := setting.Find(entries, "node.id"); e != nil && e.Value == nil {
		name := a.nodeName()
		e.Value = &name
	}
	return entries
}

// clusterEntries are the settings that were changed for all brokers, and nothing that stands above or below them.
func (a *API) clusterEntries(image *meta.Image) []setting.Entry {
	cluster := a.dynamic(image).Cluster
	if a.opts.Configs == nil || len(cluster) == 0 {
		return nil
	}
	var entries []setting.Entry
	for _, e := range setting.Plain(a.opts.Configs.DescribeBroker(Dynamic{Cluster: cluster})) {
		if _, set := cluster[e.Name]; !set {
			continue
		}
		var synonyms []setting.Synonym
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
