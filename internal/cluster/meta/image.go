package meta

import (
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

	Brokers []Broker // by id
	Topics  []*Topic // by name
	// unexported indexes by name and id belong here
	byName map[string]*Topic
	byID   map[topic.ID]*Topic

	// Configs are the dynamic configs that were set, by resource.
	Configs map[Resource]map[string]string
}

// Resource names what a config belongs to; Type is Kafka's ConfigResource.Type (2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group).
type Resource struct {
	Type int8
	Name string
}

// Broker is a registered broker.
type Broker struct {
	ID        int32
	Epoch     int64
	Rack      *string
	Fenced    bool
	Endpoints []Endpoint
}

// Endpoint is where a broker's listener is reached.
type Endpoint struct {
	Listener string
	Host     string
	Port     uint16
	Security int16
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
	Leader         int32 // -1: none
	LeaderEpoch    batch.Epoch
	PartitionEpoch int32
	Directories    [][16]byte
}

// Topic finds a topic by name; nil if there is none.
func (i *Image) Topic(name string) *Topic { return i.byName[name] }

// TopicByID finds a topic by id; nil if there is none.
func (i *Image) TopicByID(id topic.ID) *Topic { return i.byID[id] }
