package meta

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// ErrRecord marks a metadata record that cannot be: it is malformed, or names what is not there.
var ErrRecord = errors.New("impossible metadata record")

// Skip says that the last applied offset is offset: one that holds no metadata record (a control record), or the end of the
// snapshot that was applied.
func (s *State) Skip(offset batch.Offset) { s.version, s.stale = offset, true }

// Apply changes the state by the record at offset. After an error the state must not be used again.
func (s *State) Apply(offset batch.Offset, r Record) error {
	if offset <= s.version {
		return fmt.Errorf("%w: offset %d after offset %d", ErrRecord, offset, s.version)
	}
	s.version, s.stale = offset, true
	if err := s.apply(r); err != nil {
		return fmt.Errorf("%w: offset %d, %T: %w", ErrRecord, offset, r, err)
	}
	return nil
}

func (s *State) apply(r Record) error {
	switch r := r.(type) {
	case TopicRecord:
		return s.applyTopic(r)
	case PartitionRecord:
		return s.applyPartition(r)
	case PartitionChangeRecord:
		return s.applyPartitionChange(r)
	case RemoveTopicRecord:
		return s.applyRemoveTopic(r)
	case ConfigRecord:
		s.applyConfig(r)
	case RegisterBrokerRecord:
		s.brokers[r.Broker.ID], s.brokersChanged = r.Broker, true
	case UnregisterBrokerRecord:
		delete(s.brokers, r.ID)
		s.brokersChanged = true
	case RegistrationChangeRecord:
		return s.applyRegistrationChange(r)
	case FeatureLevelRecord:
		s.applyFeatureLevel(r)
	case ProducerIDsRecord:
		s.nextProducerID = r.Next
	default:
		return s.applyTransaction(r)
	}
	return nil
}

// applyTransaction applies the marks of transactions (KIP-868); all other records change nothing.
func (s *State) applyTransaction(r Record) error {
	switch r.(type) {
	case BeginTransactionRecord:
		if s.begun != nil {
			return errors.New("a transaction is open already")
		}
		s.begin()
	case EndTransactionRecord:
		if s.begun == nil {
			return errors.New("no transaction is open")
		}
		s.begun = nil
	case AbortTransactionRecord:
		if s.begun == nil {
			return errors.New("no transaction is open")
		}
		s.abort()
	}
	return nil
}

func (s *state) applyTopic(r TopicRecord) error {
	if err := topic.Check(r.Name); err != nil {
		return err
	}
	if s.topicNamed(r.Name) != nil {
		return fmt.Errorf("topic %q is there already", r.Name)
	}
	if s.topicByID(r.ID) != nil {
		return fmt.Errorf("topic id %s is there already", r.ID)
	}
	s.put(&Topic{Name: r.Name, ID: r.ID, Internal: topic.IsInternal(r.Name)})
	if topic.MayCollide(r.Name) {
		s.collision[topic.Unify(r.Name)] = r.Name
	}
	return nil
}

// put makes t the topic of its name and id. Only topics that no image has are put.
func (s *state) put(t *Topic) {
	s.byName.Set(t.Name, t)
	s.byID.Set(t.ID, t)
	s.fresh[t.ID], s.topicsChanged = t, true
}

// writable returns the topic as one that no image has, a copy if need be.
func (s *state) writable(id topic.ID) (*Topic, error) {
	if t := s.fresh[id]; t != nil {
		return t, nil
	}
	t := s.topicByID(id)
	if t == nil {
		return nil, fmt.Errorf("there is no topic with id %s", id)
	}
	own := *t
	own.Partitions = slices.Clone(t.Partitions)
	s.put(&own)
	return &own, nil
}

func (s *state) applyPartition(r PartitionRecord) error {
	t, err := s.writable(r.TopicID)
	if err != nil {
		return err
	}
	// Snapshots and logs list partitions in order; one that was there already is replaced, as in Kafka.
	switch n := int32(len(t.Partitions)); {
	case r.Index < 0 || r.Index > n:
		return fmt.Errorf("partition %d of topic %q, which has %d partitions", r.Index, t.Name, n)
	case r.Index < n:
		t.Partitions[r.Index] = r.Partition
	default:
		t.Partitions = append(t.Partitions, r.Partition)
	}
	return nil
}

// applyPartitionChange follows Kafka's PartitionRegistration.merge.
func (s *state) applyPartitionChange(r PartitionChangeRecord) error {
	t, err := s.writable(r.TopicID)
	if err != nil {
		return err
	}
	if r.Index < 0 || int(r.Index) >= len(t.Partitions) {
		return fmt.Errorf("partition %d of topic %q, which has %d partitions", r.Index, t.Name, len(t.Partitions))
	}
	p := &t.Partitions[r.Index]
	keep(&p.Replicas, r.Replicas)
	keep(&p.ISR, r.ISR)
	keep(&p.Removing, r.Removing)
	keep(&p.Adding, r.Adding)
	keep(&p.Directories, r.Directories)
	keep(&p.ELR, r.ELR)
	keep(&p.LastKnownELR, r.LastKnownELR)
	if r.Leader != KeepLeader {
		p.Leader = r.Leader
		p.LeaderEpoch++
	}
	if r.Recovery != KeepRecovery {
		p.Recovering = r.Recovery == 1
	}
	p.PartitionEpoch++
	return nil
}

// keep replaces *old unless changed is nil. An empty list is kept as nil, so that equal states look equal.
func keep[T any](old *[]T, changed []T) {
	switch {
	case len(changed) > 0:
		*old = changed
	case changed != nil:
		*old = nil
	}
}

func (s *state) applyRemoveTopic(r RemoveTopicRecord) error {
	t := s.topicByID(r.ID)
	if t == nil {
		return fmt.Errorf("there is no topic with id %s", r.ID)
	}
	s.byName.Delete(t.Name)
	s.byID.Delete(t.ID)
	s.configs.Delete(TopicResource(t.Name))
	delete(s.fresh, t.ID)
	s.topicsChanged = true
	if u := topic.Unify(t.Name); s.collision[u] == t.Name {
		delete(s.collision, u)
	}
	return nil
}

func (s *state) applyConfig(r ConfigRecord) {
	now, _ := s.configs.Get(r.Resource)
	next := maps.Clone(now)
	if next == nil {
		next = map[string]string{}
	}
	if r.Value == nil {
		delete(next, r.Name)
	} else {
		next[r.Name] = *r.Value
	}
	if len(next) == 0 {
		s.configs.Delete(r.Resource)
		return
	}
	s.configs.Set(r.Resource, next)
}

func (s *state) applyRegistrationChange(r RegistrationChangeRecord) error {
	b, known := s.brokers[r.ID]
	if !known {
		return fmt.Errorf("broker %d is not registered", r.ID)
	}
	if b.Epoch != r.Epoch {
		return fmt.Errorf("broker %d has epoch %d, not %d", r.ID, b.Epoch, r.Epoch)
	}
	switch r.Fenced {
	case -1:
		b.Fenced = false
	case 1:
		b.Fenced = true
	}
	b.ShuttingDown = b.ShuttingDown || r.ShuttingDown
	keep(&b.Directories, r.Directories)
	s.brokers[r.ID], s.brokersChanged = b, true
	return nil
}

func (s *state) applyFeatureLevel(r FeatureLevelRecord) {
	s.featuresChanged = true
	if r.Feature.Level == 0 {
		delete(s.features, r.Feature.Name)
		return
	}
	s.features[r.Feature.Name] = r.Feature.Level
}
