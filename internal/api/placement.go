package api

import (
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// placed returns a partition of t as clients are to see it, and the replicas that are offline: those on brokers that are not there or
// fenced, and this node's where its log cannot be served. A leader that cannot serve is none.
func (a *API) placed(image *meta.Image, t *meta.Topic, index int) (p meta.Partition, gone []int32) {
	p = t.Partitions[index]
	own := a.node.NodeID()
	for _, id := range p.Replicas {
		b, ok := image.Broker(id)
		here := id == own && a.node.Offline(t.Name, int32(index))
		if !ok || b.Fenced || here {
			gone = append(gone, id)
		}
		if here && p.Leader == own {
			p.Leader = meta.NoLeader
		}
	}
	return p, gone
}
