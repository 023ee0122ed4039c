package api

import (
	"strconv"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/setting"
)

// Configs knows the settings of topics and of this broker, by Kafka's names. Lists are ordered by name.
type Configs interface {
	// DescribeTopic lists the settings of a topic with these overrides.
	DescribeTopic(dynamic Dynamic, overrides map[string]string) []setting.Entry
	// DescribeBroker lists the settings of this broker.
	DescribeBroker(dynamic Dynamic) []setting.Entry
	// BrokerSetting describes a broker's setting as it is at the start, also one that DescribeBroker lists only where it was given; ok is false
	// if it is unknown.
	BrokerSetting(name string) (e setting.Entry, ok bool)
}

// Dynamic is the broker settings that were changed while brokers run: those of all brokers, and those of this one, which
// stand above them (KIP-226). The maps are shared and must not be written.
type Dynamic struct {
	Cluster, Node map[string]string
}

// DynamicOf returns the broker settings of node that were changed, as image has them.
func DynamicOf(image *meta.Image, node int32) Dynamic {
	return Dynamic{
		Cluster: image.Config(meta.Resource{Type: meta.ResourceBroker}),
		Node:    image.Config(meta.Resource{Type: meta.ResourceBroker, Name: strconv.Itoa(int(node))}),
	}
}

// topicEntries are the settings of a topic with these overrides.
func (a *API) topicEntries(image *meta.Image, overrides map[string]string) []setting.Entry {
	if a.opts.Configs == nil {
		return nil
	}
	return setting.Plain(a.opts.Configs.DescribeTopic(DynamicOf(image, a.node.NodeID()), overrides))
}
