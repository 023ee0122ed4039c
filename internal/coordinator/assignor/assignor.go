package assignor

import "github.com/ottla-io/ottla/internal/protocol/topic"

// Names of the assignors in group.consumer.assignors.
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// Member is a member of the group.
type Member struct {
	ID string
	// InstanceID is a static member's (KIP-345); Rack is where it is. Nil: none.
	InstanceID, Rack *string
	// Topics are what it subscribes to, sorted. Those that Input.Topics does not have are passed over.
	Topics []topic.ID
	// Owned is the member's target assignment until now.
	Owned Partitions
}

// Partitions are partitions by topic, sorted. No topic has an empty list.
type Partitions map[topic.ID][]int32

// Topic is a topic that some member subscribes to.
type Topic struct {
	ID         topic.ID
	Partitions int32
	// Racks are those of each partition's replicas, by partition; nil or too short: not known.
	Racks [][]string
}

// Input is what is to be assigned to whom.
type Input struct {
	Members []Member // by id, ascending
	Topics  []Topic  // by id, ascending
}
