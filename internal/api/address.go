package api

import (
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// address is where a client that came in on conn reaches the broker: the endpoint of the listener it used, or of the
// first that there is. No endpoint, or one without a host, stands for this node with nothing advertised: then it is the address that the
// client reached.
func address(b *meta.Broker, conn *Conn) (host string, port int32) {
	var e meta.Endpoint
	for i, other := range b.Endpoints {
		if i == 0 || other.Listener == conn.Listener {
			e = other
		}
	}
	host, port = e.Host, int32(e.Port)
	if host == "" {
		host = conn.Local.Addr().Unmap().WithZone("").String()
	}
	if port == 0 || e.Host == "" {
		port = int32(conn.Local.Port())
	}
	return host, port
}

// leader is the hint that goes with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951): who leads the partition, and where
// it is reached; not ok if nobody knows.
func (a *API) leader(conn *Conn, name string, id topic.ID, index int32) (wire.Leader, wire.Node, bool) {
	image := a.node.Image()
	t := image.Topic(name)
	if name == "" {
		t = image.TopicByID(id)
	}
	if t == nil || index < 0 || int(index) >= len(t.Partitions) {
		return wire.Leader{}, wire.Node{}, false
	}
	p := &t.Partitions[index]
	for i := range image.Brokers {
		b := &image.Brokers[i]
		if b.ID != p.Leader {
			continue
		}
		node := wire.Node{ID: b.ID}
		node.Host, node.Port = address(b, conn)
		if b.Rack != nil {
			node.Rack = *b.Rack
		}
		return wire.Leader{ID: p.Leader, Epoch: p.LeaderEpoch}, node, true
	}
	return wire.Leader{}, wire.Node{}, false
}

// addNode adds node unless it is there.
func addNode(nodes []wire.Node, node wire.Node) []wire.Node {
	for i := range nodes {
		if nodes[i].ID == node.ID {
			return nodes
		}
	}
	return append(nodes, node)
}
