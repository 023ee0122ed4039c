package meta

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// TopicRef names a topic by its name or, where that is empty, by its id.
type TopicRef struct {
	Name string
	ID   topic.ID
}

// DeleteTopics deletes topics; each succeeds or fails by itself.
type DeleteTopics struct{ Topics []TopicRef }

func (c DeleteTopics) decide(s *State) ([]Record, []TopicResult, error) {
	var records []Record
	results := make([]TopicResult, 0, len(c.Topics))
	twice := repeated(c.Topics, s.idOf)
	for _, ref := range c.Topics {
		t, err := s.resolve(ref)
		if err == nil && twice[t.ID] {
			err = errDuplicate
		}
		if err != nil {
			results = append(results, TopicResult{Name: ref.Name, ID: ref.ID, Err: err})
			continue
		}
		results = append(results, TopicResult{Name: t.Name, ID: t.ID})
		records = append(records, RemoveTopicRecord{ID: t.ID})
	}
	return records, results, nil
}

// resolve finds what ref names; the error is a *RefusalError.
func (s *State) resolve(ref TopicRef) (*Topic, error) {
	if ref.Name != "" {
		if t := s.topicNamed(ref.Name); t != nil {
			return t, nil
		}
		return nil, &RefusalError{Code: kerr.UnknownTopicOrPartition}
	}
	if t := s.topicByID(ref.ID); t != nil {
		return t, nil
	}
	return nil, &RefusalError{Code: kerr.UnknownTopicID}
}

// idOf is the id of the topic that ref names; the zero id if there is none.
func (s *State) idOf(ref TopicRef) topic.ID {
	t, err := s.resolve(ref)
	if err != nil {
		return topic.ID{}
	}
	return t.ID
}
