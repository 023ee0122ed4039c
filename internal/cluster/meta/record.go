package meta

import (
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Record is one metadata record. The formats are Kafka's: metadata/src/main/resources/common/metadata.
type Record interface {
	// key is the record's api key.
	key() int16
	// version is the version that this package writes.
	version() int16
	// append adds the fields.
	append(dst []byte) []byte
}

// The api keys of the records this package knows.
const (
	keyRegisterBroker     int16 = 0
	keyUnregisterBroker   int16 = 1
	keyTopic              int16 = 2
	keyPartition          int16 = 3
	keyConfig             int16 = 4
	keyPartitionChange    int16 = 5
	keyRemoveTopic        int16 = 9
	keyFeatureLevel       int16 = 12
	keyProducerIDs        int16 = 15
	keyRegistrationChange int16 = 17
	keyNoOp               int16 = 20
	keyBeginTransaction   int16 = 23
	keyEndTransaction     int16 = 24
	keyAbortTransaction   int16 = 25
)

// RegisterBrokerRecord says that a broker process has come up.
type RegisterBrokerRecord struct {
	Broker   Broker
	Features []FeatureRange
}

// FeatureRange is what levels of a feature a broker supports.
type FeatureRange struct {
	Name     string
	Min, Max int16
}

// UnregisterBrokerRecord removes a broker for good.
type UnregisterBrokerRecord struct {
	ID    int32
	Epoch int64
}

// TopicRecord creates a topic; its configs and partitions follow.
type TopicRecord struct {
	Name string
	ID   topic.ID
}

// PartitionRecord creates a partition.
type PartitionRecord struct {
	Index     int32
	TopicID   topic.ID
	Partition Partition
}

// ConfigRecord sets one config of a resource; a nil Value deletes it.
type ConfigRecord struct {
	Resource Resource
	Name     string
	Value    *string
}

// PartitionChangeRecord changes what it names of a partition. Nil slices and the Keep values stand for "as it was"; a leader that is named,
// even the same, starts a new leader epoch.
type PartitionChangeRecord struct {
	Index        int32
	TopicID      topic.ID
	ISR          []int32
	Leader       int32
	Replicas     []int32
	Removing     []int32
	Adding       []int32
	Recovery     int8
	Directories  [][16]byte
	ELR          []int32
	LastKnownELR []int32
}

// KeepLeader and KeepRecovery leave a partition's leader and recovery state as they are.
const (
	KeepLeader   int32 = -2
	KeepRecovery int8  = -1
)

// RemoveTopicRecord deletes a topic, its partitions and its configs.
type RemoveTopicRecord struct{ ID topic.ID }

// FeatureLevelRecord finalizes a feature at a level; 0 turns it off.
type FeatureLevelRecord struct{ Feature Feature }

// ProducerIDsRecord says that a broker got the block of producer ids that ends before Next.
type ProducerIDsRecord struct {
	Broker int32
	Epoch  int64
	Next   int64
}

// RegistrationChangeRecord changes a registered broker's state.
type RegistrationChangeRecord struct {
	ID    int32
	Epoch int64
	// Fenced is -1 for unfenced, 1 for fenced, 0 for no change.
	Fenced       int8
	ShuttingDown bool
	Directories  [][16]byte
}

// NoOpRecord takes an offset and changes nothing.
type NoOpRecord struct{}

// BeginTransactionRecord starts a metadata transaction (KIP-868).
type BeginTransactionRecord struct{ Name *string }

// EndTransactionRecord publishes what the transaction wrote.
type EndTransactionRecord struct{}

// AbortTransactionRecord forgets what the transaction wrote.
type AbortTransactionRecord struct{ Reason *string }

// UnknownRecord is a record of a kind that this package does not know. It takes its offset and changes nothing.
type UnknownRecord struct {
	Key     int16
	Version int16
	Fields  []byte
}

func (RegisterBrokerRecord) key() int16     { return keyRegisterBroker }
func (UnregisterBrokerRecord) key() int16   { return keyUnregisterBroker }
func (TopicRecord) key() int16              { return keyTopic }
func (PartitionRecord) key() int16          { return keyPartition }
func (ConfigRecord) key() int16             { return keyConfig }
func (PartitionChangeRecord) key() int16    { return keyPartitionChange }
func (RemoveTopicRecord) key() int16        { return keyRemoveTopic }
func (FeatureLevelRecord) key() int16       { return keyFeatureLevel }
func (ProducerIDsRecord) key() int16        { return keyProducerIDs }
func (RegistrationChangeRecord) key() int16 { return keyRegistrationChange }
func (NoOpRecord) key() int16               { return keyNoOp }
func (BeginTransactionRecord) key() int16   { return keyBeginTransaction }
func (EndTransactionRecord) key() int16     { return keyEndTransaction }
func (AbortTransactionRecord) key() int16   { return keyAbortTransaction }
func (r UnknownRecord) key() int16          { return r.Key }

func (RegisterBrokerRecord) version() int16     { return 3 }
func (UnregisterBrokerRecord) version() int16   { return 0 }
func (TopicRecord) version() int16              { return 0 }
func (PartitionRecord) version() int16          { return 2 }
func (ConfigRecord) version() int16             { return 0 }
func (PartitionChangeRecord) version() int16    { return 2 }
func (RemoveTopicRecord) version() int16        { return 0 }
func (FeatureLevelRecord) version() int16       { return 0 }
func (ProducerIDsRecord) version() int16        { return 0 }
func (RegistrationChangeRecord) version() int16 { return 2 }
func (NoOpRecord) version() int16               { return 0 }
func (BeginTransactionRecord) version() int16   { return 0 }
func (EndTransactionRecord) version() int16     { return 0 }
func (AbortTransactionRecord) version() int16   { return 0 }
func (r UnknownRecord) version() int16          { return r.Version }
