package meta

import (
	"iter"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// ChangedTopics yields the names of topics that differ between two images' lists, ascending; true: the topic is in one of them only. It
// compares pointers, since images share what did not change.
func ChangedTopics(before, after []*Topic) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for len(before) > 0 || len(after) > 0 {
			var name string
			var alone bool
			switch {
			case len(after) == 0 || len(before) > 0 && before[0].Name < after[0].Name:
				name, alone, before = before[0].Name, true, before[1:]
			case len(before) == 0 || after[0].Name < before[0].Name:
				name, alone, after = after[0].Name, true, after[1:]
			default:
				same := before[0] == after[0]
				name, before, after = after[0].Name, before[1:], after[1:]
				if same {
					continue
				}
			}
			if !yield(name, alone) {
				return
			}
		}
	}
}

// PartitionsOf returns how many partitions the topic has that is named, or, without a name, has the id; 0 if there is none.
func (i *Image) PartitionsOf(name *string, id topic.ID) int {
	t := i.TopicByID(id)
	if name != nil {
		t = i.Topic(*name)
	}
	if t == nil {
		return 0
	}
	return len(t.Partitions)
}
