package meta

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// NewTopic is one topic to create. Of Partitions with ReplicationFactor, and Assignments, one is given.
type NewTopic struct {
	Name string
	// ID is a random id that the caller drew.
	ID                topic.ID
	Partitions        int32 // -1: the default
	ReplicationFactor int16 // -1: the default
	Assignments       []Assignment
	Configs           []NewConfig
}

// NewConfig is one config of a topic to create.
type NewConfig struct {
	Name  string
	Value *string
}

// CreateTopics creates topics; each succeeds or fails by itself (Kafka's ReplicationControlManager.createTopics).
type CreateTopics struct {
	Topics       []NewTopic
	ValidateOnly bool

	PartitionsMax            int   // of the cluster; 0: any number. Internal topics are made all the same
	DefaultPartitions        int32 // num.partitions
	DefaultReplicationFactor int16 // default.replication.factor
	Schema                   ConfigSchema
}

func (c CreateTopics) decide(s *State) ([]Record, []TopicResult, error) {
	var records []Record
	results := make([]TopicResult, 0, len(c.Topics))
	taken := map[string]string{} // unified name -> name, of this request
	twice := repeated(c.Topics, func(t NewTopic) string { return t.Name })
	room := s.partitionRoom(c.PartitionsMax)
	for _, t := range c.Topics {
		if twice[t.Name] {
			results = append(results, TopicResult{Name: t.Name, Err: errDuplicate})
			continue
		}
		result, recs := c.decideOne(s, t, taken)
		if result.Err == nil && !topic.IsInternal(t.Name) { // groups must work, however many topics there are
			if err := room.take(int(result.Partitions)); err != nil {
				result, recs = TopicResult{Name: t.Name, Err: err}, nil
			}
		}
		results = append(results, result)
		records = append(records, recs...)
		if err := tooMany(records); err != nil {
			return nil, nil, err
		}
	}
	if c.ValidateOnly {
		records = nil
	}
	return records, results, nil
}

func (c CreateTopics) decideOne(s *State, t NewTopic, taken map[string]string) (TopicResult, []Record) {
	result := TopicResult{Name: t.Name}
	if result.Err = c.checkName(s, t.Name, taken); result.Err != nil {
		return result, nil
	}
	configs, err := c.configsOf(t)
	if err != nil {
		result.Err = err
		return result, nil
	}
	partitions, err := c.place(s, t)
	if err != nil {
		result.Err = err
		return result, nil
	}
	taken[topic.Unify(t.Name)] = t.Name
	result.ID, result.Configs = t.ID, configs
	result.Partitions, result.ReplicationFactor = int32(len(partitions)), int16(len(partitions[0].Replicas))

	records := make([]Record, 0, 1+len(configs)+len(partitions))
	records = append(records, TopicRecord{Name: t.Name, ID: t.ID})
	for _, key := range slices.Sorted(maps.Keys(configs)) {
		records = append(records, ConfigRecord{Resource: TopicResource(t.Name), Name: key, Value: new(configs[key])})
	}
	for i, p := range partitions {
		records = append(records, PartitionRecord{Index: int32(i), TopicID: t.ID, Partition: p})
	}
	return result, records
}

// checkName refuses a name that is not one, that is taken, or that a metric name could not tell from another's.
func (c CreateTopics) checkName(s *State, name string, taken map[string]string) error {
	if err := topic.Check(name); err != nil {
		reason := strings.TrimSuffix(err.Error(), ": "+kerr.InvalidTopicException.Error())
		return &RefusalError{Code: kerr.InvalidTopicException, Reason: reason}
	}
	if name == topic.ClusterMetadata {
		return refuse(kerr.InvalidTopicException, "Topic name is invalid: %q is the metadata log's own", name)
	}
	if s.topicNamed(name) != nil {
		return refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	key := topic.Unify(name)
	other, clash := s.collision[key]
	if !clash {
		other, clash = taken[key]
	}
	if clash {
		return refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return nil
}

func (c CreateTopics) configsOf(t NewTopic) (map[string]string, error) {
	configs := make(map[string]string, len(t.Configs))
	var null []string
	for _, kv := range t.Configs {
		if kv.Value == nil {
			null = append(null, kv.Name)
			continue
		}
		configs[kv.Name] = *kv.Value
	}
	if len(null) > 0 {
		return nil, refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(null, ","))
	}
	return configs, validate(c.Schema, TopicResource(t.Name), configs, slices.Sorted(maps.Keys(configs)))
}

// place gives each partition its replicas.
func (c CreateTopics) place(s *State, t NewTopic) ([]Partition, error) {
	if len(t.Assignments) > 0 {
		return placeByHand(s, t)
	}
	count, factor := t.Partitions, t.ReplicationFactor
	if factor < -1 || factor == 0 {
		return nil, refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	if count < -1 || count == 0 {
		return nil, refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if count == -1 {
		count = c.DefaultPartitions
	}
	if factor == -1 {
		factor = c.DefaultReplicationFactor
	}
	if count > MaxRecords-1 {
		return nil, refuse(kerr.PolicyViolation, "one request may create at most %d partitions, not %d: create fewer and add partitions later",
			MaxRecords-1, count)
	}
	return s.spread(t.ID, 0, count, factor)
}

func placeByHand(s *State, t NewTopic) ([]Partition, error) {
	if t.ReplicationFactor != -1 {
		return nil, refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if t.Partitions != -1 {
		return nil, refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	byIndex := make(map[int32][]int32, len(t.Assignments))
	for _, a := range t.Assignments {
		if _, twice := byIndex[a.Partition]; twice {
			return nil, refuse(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		byIndex[a.Partition] = a.Replicas
	}
	partitions := make([]Partition, 0, len(t.Assignments))
	for i := range int32(len(t.Assignments)) {
		replicas, ok := byIndex[i]
		if !ok {
			return nil, refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		p, err := s.assign(i, replicas, len(byIndex[0]))
		if err != nil {
			return nil, err
		}
		partitions = append(partitions, p)
	}
	return partitions, nil
}

// validate checks configs, of which the keys changed are new, against schema; the error is a *RefusalError.
func validate(schema ConfigSchema, r Resource, configs map[string]string, changed []string) error {
	if schema == nil {
		return nil
	}
	if err := schema.Validate(r, configs, changed); err != nil {
		return refuse(kerr.InvalidConfig, "%s", err)
	}
	return nil
}
