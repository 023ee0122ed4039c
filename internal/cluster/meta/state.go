package meta

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/cluster/cow"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// MetadataTopicID is the metadata log's topic id (Kafka's Uuid.METADATA_TOPIC_ID).
var MetadataTopicID = topic.ID{15: 1}

// State is the metadata machine: Decide asks it, Apply moves it, Image shows it.
type State struct {
	state
	// begun is what the state was when the open transaction began; nil outside of one.
	begun *state
}

// state is all that records change. A copy of it is a snapshot as long as the maps in it are frozen or cloned.
type state struct {
	clusterID  string
	controller int32
	version    batch.Offset // the last applied record; -1 before the first

	brokers        map[int32]Broker
	features       map[string]int16
	nextProducerID int64

	byName  cow.Map[string, *Topic]
	byID    cow.Map[topic.ID, *Topic]
	configs cow.Map[Resource, map[string]string]
	// collision finds a topic by its name as a metric has it (see topic.Unify); only names that could collide are there.
	collision map[string]string

	// image is what was published last. fresh are the topics made since, which nobody else has seen and which may be written.
	image *Image
	stale bool // records were applied since
	fresh map[topic.ID]*Topic
	// topicsChanged, brokersChanged and featuresChanged say which of the image's lists must be made again.
	topicsChanged, brokersChanged, featuresChanged bool
}

// New returns the state before the first record.
func New(clusterID string, controller int32) *State {
	return &State{state: state{
		clusterID: clusterID, controller: controller, version: -1,
		brokers: map[int32]Broker{}, features: map[string]int16{}, collision: map[string]string{},
		fresh: map[topic.ID]*Topic{},
		image: &Image{Version: -1, ClusterID: clusterID, Controller: controller},
	}}
}

// Image is the metadata after the last applied record, or before the transaction that is open.
func (s *State) Image() *Image {
	if s.begun != nil {
		return s.begun.image
	}
	return s.publish()
}

// Topic is the topic with id as the last applied record left it, also inside of a transaction; nil if there is none.
func (s *State) Topic(id topic.ID) *Topic { return s.topicByID(id) }

// Version is the offset of the last applied record, -1 before the first.
func (s *State) Version() batch.Offset { return s.version }

func (s *state) topicNamed(name string) *Topic {
	t, _ := s.byName.Get(name)
	return t
}

func (s *state) topicByID(id topic.ID) *Topic {
	t, _ := s.byID.Get(id)
	return t
}

// publish makes an image of the state. Whatever did not change is shared with the last one.
func (s *state) publish() *Image {
	if !s.stale {
		return s.image
	}
	next := &Image{
		Version: s.version, ClusterID: s.clusterID, Controller: s.controller,
		Brokers: s.image.Brokers, Topics: s.image.Topics, Features: s.image.Features,
		byName: s.byName.Freeze(), byID: s.byID.Freeze(), configs: s.configs.Freeze(),
	}
	if s.topicsChanged {
		next.Topics = s.sortedTopics()
	}
	if s.brokersChanged {
		next.Brokers = slices.SortedFunc(maps.Values(s.brokers), func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	}
	if s.featuresChanged {
		next.Features = make([]Feature, 0, len(s.features))
		for _, name := range slices.Sorted(maps.Keys(s.features)) {
			next.Features = append(next.Features, Feature{Name: name, Level: s.features[name]})
		}
	}
	s.stale, s.topicsChanged, s.brokersChanged, s.featuresChanged = false, false, false, false
	s.image, s.fresh = next, map[topic.ID]*Topic{}
	return next
}

// sortedTopics merges the last image's topics with those that were made since: linear in the topics, and no sort of them all.
func (s *state) sortedTopics() []*Topic {
	made := slices.SortedFunc(maps.Values(s.fresh), func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	topics := make([]*Topic, 0, s.byName.Len())
	for _, t := range s.image.Topics {
		for len(made) > 0 && made[0].Name < t.Name {
			topics, made = append(topics, made[0]), made[1:]
		}
		if s.topicNamed(t.Name) == t {
			topics = append(topics, t)
		}
	}
	return append(topics, made...)
}

// begin keeps the state as it is, for an abort.
func (s *State) begin() {
	s.publish()
	kept := s.state
	kept.byName, kept.byID, kept.configs = s.byName.Freeze(), s.byID.Freeze(), s.configs.Freeze()
	kept.brokers, kept.features, kept.collision = maps.Clone(s.brokers), maps.Clone(s.features), maps.Clone(s.collision)
	kept.fresh = map[topic.ID]*Topic{}
	s.begun = &kept
}

// abort goes back to where the transaction began. The offsets it took stay taken.
func (s *State) abort() {
	version := s.version
	s.state, s.begun = *s.begun, nil
	s.version, s.stale = version, true
}

// Abandon forgets a transaction that the log ends in the middle of: its writer is gone.
func (s *State) Abandon() {
	if s.begun != nil {
		s.abort()
	}
}
