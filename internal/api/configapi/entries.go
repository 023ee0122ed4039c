package configapi

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/setting"
)

// dynamic returns the broker settings that were changed, as image has them.
func (f *family) dynamic(image *meta.Image) api.Dynamic {
	return api.DynamicOf(image, f.node.NodeID())
}

// nodeName returns the name by which resources name this broker.
func (f *family) nodeName() string { return strconv.Itoa(int(f.node.NodeID())) }

// topicEntries lists the settings of a topic with these overrides.
func (f *family) topicEntries(image *meta.Image, overrides map[string]string) []setting.Entry {
	if f.configs == nil {
		return nil
	}
	return setting.Plain(f.configs.DescribeTopic(f.dynamic(image), overrides))
}

// brokerEntries lists the settings of this broker.
func (f *family) brokerEntries(image *meta.Image) []setting.Entry {
	if f.configs == nil {
		return nil
	}
	entries := setting.Plain(f.configs.DescribeBroker(f.dynamic(image)))
	// An unset id was found in the data directory, or assigned; tools read it here.
	if e := setting.Find(entries, "node.id"); e != nil && e.Value == nil {
		name := f.nodeName()
		e.Value = &name
	}
	return entries
}

// clusterEntries lists the settings that were changed for all brokers, and nothing above or below them.
func (f *family) clusterEntries(image *meta.Image) []setting.Entry {
	cluster := f.dynamic(image).Cluster
	if f.configs == nil || len(cluster) == 0 {
		return nil
	}
	var entries []setting.Entry
	for _, e := range setting.Plain(f.configs.DescribeBroker(api.Dynamic{Cluster: cluster})) {
		if _, set := cluster[e.Name]; !set {
			continue
		}
		var synonyms []setting.Synonym
		for _, s := range e.Synonyms {
			if s.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig {
				synonyms = append(synonyms, s)
			}
		}
		// What does not count here, such as a key that only a restart changes, was set all the same.
		if e.Synonyms = synonyms; len(synonyms) > 0 {
			e.Value, e.Source = synonyms[0].Value, synonyms[0].Source
		}
		entries = append(entries, e)
	}
	return entries
}
