package controller

import (
	"context"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Features are the levels that a new cluster begins with: those of Kafka 4.4, which the records here follow. metadata.version comes
// first, as Kafka wants it.
var Features = []meta.Feature{
	{Name: "metadata.version", Level: 33},
	{Name: "transaction.version", Level: 2},
	{Name: "group.version", Level: 1},
	{Name: "eligible.leader.replicas.version", Level: 1},
}

// Node is a broker that comes up as the only one.
type Node struct {
	ID          int32
	Incarnation [16]byte
	Rack        *string
	Endpoints   []meta.Endpoint
	Directory   [16]byte
	// Unclean: its last run did not stop cleanly.
	Unclean bool
	// Adopt are topics whose partitions were found without metadata.
	Adopt []meta.AdoptedTopic
}

// Start brings a lone broker up: the features of a new cluster, its registration, the topics it adopts, and the lead of all it can
// lead. It returns the broker's epoch.
func (c *Controller) Start(ctx context.Context, n Node) (epoch int64, err error) {
	if c.Image().Feature("metadata.version") == 0 {
		if _, err := Execute(ctx, c, meta.SetFeatures{Features: Features}); err != nil {
			return 0, err
		}
	}
	registered, err := execute(ctx, c, func(next batch.Offset) meta.Command[meta.Registered] {
		return meta.RegisterBroker{
			ID: n.ID, Incarnation: n.Incarnation, Rack: n.Rack, Endpoints: n.Endpoints,
			Directories: [][16]byte{n.Directory}, Features: ranges(), Offset: next, Alone: true,
		}
	})
	if err != nil {
		return 0, err
	}
	for _, t := range n.Adopt {
		if _, err := Execute(ctx, c, meta.AdoptTopic{Broker: n.ID, Topic: t}); err != nil {
			return 0, err
		}
	}
	elect := meta.ElectLeaders{Broker: n.ID, Renew: n.Unclean}
	for more := true; more; {
		elected, err := Execute(ctx, c, elect)
		if err != nil {
			return 0, err
		}
		elect.After, more = elected.Last, elected.More
	}
	return registered.Epoch, nil
}

// ranges are the feature levels that this broker supports.
func ranges() []meta.FeatureRange {
	list := make([]meta.FeatureRange, 0, len(Features))
	for _, f := range Features {
		from := int16(0)
		if f.Name == "metadata.version" {
			from = 7 // 3.3-IV3, the first level of KRaft in production
		}
		list = append(list, meta.FeatureRange{Name: f.Name, Min: from, Max: f.Level})
	}
	return list
}
