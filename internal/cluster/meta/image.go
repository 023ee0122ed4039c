package meta

import (
	"iter"
	"slices"

	"github.com/ottla-io/ottla/internal/cluster/cow"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Image is all the metadata at one version. It is immutable: whoever has one may keep and read it freely.
type Image struct {
	// Version is the offset of the last metadata record in it.
	Version   batch.Offset
	ClusterID string
	// Controller is the id of the active controller, or -1.
	Controller int32

	Brokers  []Broker  // by id
	Topics   []*Topic  // by name
	Features []Feature // the finalized feature levels, by name

	byName  cow.Map[string, *Topic]
	byID    cow.Map[topic.ID, *Topic]
	configs cow.Map[Resource, map[string]string]
}

// Resource names what a config belongs to; Type is Kafka's ConfigResource.Type.
type Resource struct {
	Type int8
	Name string
}

// The resource types, by Kafka's ConfigResource.Type.
const (
	ResourceTopic         int8 = 2
	ResourceBroker        int8 = 4
	ResourceBrokerLogger  int8 = 8
	ResourceClientMetrics int8 = 16
	ResourceGroup         int8 = 32
)

// TopicResource is the resource of a topic's configs.
func TopicResource(name string) Resource { return Resource{Type: ResourceTopic, Name: name} }

// Broker is a registered broker.
type Broker struct {
	ID        int32
	Epoch     int64
	Rack      *string
	Fenced    bool
	Endpoints []Endpoint
	// Incarnation tells one run of the process from the next.
	Incarnation [16]byte
	// Directories are the ids of its log directories (KIP-858).
	Directories [][16]byte
	// ShuttingDown: in a controlled shutdown, so it leads nothing new.
	ShuttingDown bool
}

// Endpoint is where a broker's listener is reached.
type Endpoint struct {
	Listener string
	Host     string
	Port     uint16
	Security int16
}

// Feature is a finalized feature level (KIP-584).
type Feature struct {
	Name  string
	Level int16
}

// Topic is a topic and its partitions, by index.
type Topic struct {
	Name       string
	ID         topic.ID
	Internal   bool
	Partitions []Partition
}

// Partition is one partition's placement.
type Partition struct {
	Replicas       []int32
	ISR            []int32
	Removing       []int32
	Adding         []int32
	Leader         int32 // -1: none
	LeaderEpoch    batch.Epoch
	PartitionEpoch int32
	Recovering     bool // its leader was elected uncleanly and has not recovered yet
	Directories    [][16]byte
	ELR            []int32 // eligible leader replicas (KIP-966)
	LastKnownELR   []int32
}

// NoLeader stands where a partition has no leader.
const NoLeader int32 = -1

// Topic finds a topic by name; nil if there is none.
func (i *Image) Topic(name string) *Topic {
	t, _ := i.byName.Get(name)
	return t
}

// TopicByID finds a topic by id; nil if there is none.
func (i *Image) TopicByID(id topic.ID) *Topic {
	t, _ := i.byID.Get(id)
	return t
}

// Broker finds a broker by id.
func (i *Image) Broker(id int32) (Broker, bool) {
	at, ok := slices.BinarySearchFunc(i.Brokers, id, func(b Broker, id int32) int { return int(b.ID) - int(id) })
	if !ok {
		return Broker{}, false
	}
	return i.Brokers[at], true
}

// Feature is the finalized level of a feature, 0 where it is off.
func (i *Image) Feature(name string) int16 {
	for _, f := range i.Features {
		if f.Name == name {
			return f.Level
		}
	}
	return 0
}

// Config returns the dynamic configs that were set on r; the map is shared and must not be written.
func (i *Image) Config(r Resource) map[string]string {
	c, _ := i.configs.Get(r)
	return c
}

// Configs yields every resource with dynamic configs, in no order.
func (i *Image) Configs() iter.Seq2[Resource, map[string]string] { return i.configs.All() }
