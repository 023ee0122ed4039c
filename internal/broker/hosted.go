package broker

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ottla-io/ottla/internal/cluster/cow"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// table finds the partitions that this broker hosts. It is immutable: lookups take no lock and allocate nothing.
type table struct {
	byName cow.Map[string, *hosted]
	byID   cow.Map[topic.ID, *hosted]
}

// hosted is one topic's partitions, by index; nil where another broker has it. It is immutable; the slots are not.
type hosted struct {
	name  string
	id    topic.ID
	slots []*slot
}

// slot is the place of one partition: empty until somebody touches it.
type slot struct {
	id partition.ID
	// known is what the files at the top said of it when the broker came up.
	known known
	// open is the partition, from the first touch on.
	open atomic.Pointer[partition.Partition]
	// flushAge says that Maintain must be called often, for flush.ms.
	flushAge atomic.Bool
	// seenEnd is the log's end when the checkpoint writer, whose alone it is, last looked.
	seenEnd batch.Offset
	// failed says why it cannot be opened.
	failed atomic.Pointer[failure]

	mu struct {
		sync.Mutex
		// retired: its topic is deleted, and its directory is gone from its name.
		retired bool
		// there: it had a directory when the broker came up.
		there bool
		// waits: it could not be opened when it was last tried, for want of room or descriptors.
		waits bool
		// clean: its directory needs no recovery.
		clean bool
	}
}

// known is what the files at the top say of a partition that nobody has opened yet. It does not change.
type known struct {
	facts
	recoveryPoint batch.Offset
	highWatermark batch.Offset
	cleaned       batch.Offset // of a topic that is or was compacted
}

// failure is an error that may be stored atomically.
type failure struct{ err error }

func (s *slot) key() partitionKey { return partitionKey{s.id.Topic, s.id.Index} }

func (s *slot) dir() string { return topic.Dir(s.id.Topic, s.id.Index) }

// all calls fn with each slot.
func (t *table) all(fn func(*slot)) {
	for _, h := range t.byName.All() {
		for _, s := range h.slots {
			if s != nil {
				fn(s)
			}
		}
	}
}

// slots lists the slots, by topic and index.
func (t *table) slots() []*slot {
	var list []*slot
	t.all(func(s *slot) { list = append(list, s) })
	slices.SortFunc(list, func(a, b *slot) int { return a.key().compare(b.key()) })
	return list
}
