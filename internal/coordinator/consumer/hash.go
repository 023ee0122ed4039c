package consumer

import (
	"encoding/binary"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// topicHash is the hash of a topic as it was.
type topicHash struct {
	topic *meta.Topic
	hash  uint64
}

// metadataHash is a hash of what an assignment depends on: the topics of names that there are, with their ids, numbers of partitions and racks. It
// stands in ConsumerGroupValue in the place of Kafka's own hash (org.apache.kafka.coordinator.group.Utils.computeGroupHash), which differs:
// a group that moves from one to the other rebalances once. 0: there are no topics.
func (x *Index) metadataHash(names []string) int64 {
	h := newHash()
	some := false
	for _, name := range names {
		if t := x.topic(name); t != nil {
			h.number(x.topicHash(t))
			some = true
		}
	}
	if !some {
		return 0
	}
	return int64(h) //nolint:gosec // all its bits
}

// topicHash hashes one topic; it is kept, since many groups may look at a topic.
func (x *Index) topicHash(t *meta.Topic) uint64 {
	if known, ok := x.hashes[t.Name]; ok && known.topic == t {
		return known.hash
	}
	h := newHash()
	h.text(string(t.ID[:]))
	h.text(t.Name)
	h.number(uint64(len(t.Partitions)))
	for i := range t.Partitions {
		racks := x.partitionRacks(&t.Partitions[i])
		h.number(uint64(len(racks)))
		for _, r := range racks {
			h.text(r)
		}
	}
	x.hashes[t.Name] = topicHash{t, uint64(h)}
	return uint64(h)
}

// hash is FNV-1a, of 64 bits. What it hashes has its length before it, so that no two lists are the same bytes.
type hash uint64

func newHash() hash { return 14695981039346656037 }

func (h *hash) text(s string) {
	h.number(uint64(len(s)))
	for i := range len(s) {
		*h = (*h ^ hash(s[i])) * 1099511628211
	}
}

func (h *hash) number(n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	for _, c := range b {
		*h = (*h ^ hash(c)) * 1099511628211
	}
}
