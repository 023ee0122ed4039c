package consumer

import (
	"maps"
	"regexp"
	"slices"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// Index is the metadata, and which groups look at which topics, so that a change of the metadata finds them.
type Index struct {
	assignors []string // group.consumer.assignors
	recordMax int      // the most bytes of a record; 0: any

	image     *meta.Image
	byTopic   map[string]map[*Group]int // in how many ways a group subscribes to a topic: by name, and by each pattern
	byPattern map[string]map[*Group]int // pattern -> group -> 1
	compiled  map[string]*regexp.Regexp // of patterns that groups have
	hashes    map[string]topicHash
	racks     map[int32]string // of the brokers that the hashes are made with
}

// NewIndex is an index without metadata.
func NewIndex(assignors []string, recordMax int) *Index {
	return &Index{
		assignors: assignors, recordMax: recordMax, byTopic: make(map[string]map[*Group]int), byPattern: make(map[string]map[*Group]int),
		compiled: make(map[string]*regexp.Regexp), hashes: make(map[string]topicHash),
	}
}

// tally adds by to what g has in the set of key, and removes what is zero.
func tally(sets map[string]map[*Group]int, key string, g *Group, by int) {
	set := sets[key]
	if set == nil {
		set = make(map[*Group]int)
		sets[key] = set
	}
	if set[g] += by; set[g] == 0 {
		delete(set, g)
	}
	if len(set) == 0 {
		delete(sets, key)
	}
}

// topics notes that g looks at topics once more, or once less.
func (x *Index) topics(g *Group, topics []string, by int) {
	for _, t := range topics {
		tally(x.byTopic, t, g, by)
	}
}

// pattern notes that g has a pattern, or has it no more.
func (x *Index) pattern(g *Group, pattern string, by int) {
	tally(x.byPattern, pattern, g, by)
	if x.byPattern[pattern] == nil {
		delete(x.compiled, pattern)
	}
}

// SetImage marks the groups that look at what has changed; what follows from it is done at the next heartbeat of a member, as in Kafka
// (GroupMetadataManager.onNewMetadataImage), but without its wait for the next refresh of patterns.
func (x *Index) SetImage(image *meta.Image) {
	old := x.image
	x.image = image
	racks := racksOf(image)
	if old == nil || !maps.Equal(racks, x.racks) {
		x.racks, x.hashes = racks, make(map[string]topicHash)
		x.markAll(x.byTopic)
		x.markAll(x.byPattern)
		return
	}
	if len(x.byTopic)+len(x.byPattern) == 0 {
		x.hashes = make(map[string]topicHash)
		return
	}
	for name, alone := range changedTopics(old.Topics, image.Topics) {
		delete(x.hashes, name)
		x.topicChanged(name, alone)
	}
}

func (x *Index) markAll(sets map[string]map[*Group]int) {
	for set := range maps.Values(sets) {
		for g := range maps.Keys(set) {
			g.stale, g.staleRegexes = true, true
		}
	}
}

// topicChanged marks the groups that look at a topic; alone: and those whose patterns match it, since it came or went.
func (x *Index) topicChanged(name string, alone bool) {
	for g := range maps.Keys(x.byTopic[name]) {
		g.stale = true
	}
	if !alone {
		return
	}
	for pattern := range maps.Keys(x.byPattern) {
		if re, err := x.compile(pattern); err != nil || !re.MatchString(name) {
			continue
		}
		for g := range maps.Keys(x.byPattern[pattern]) {
			g.stale, g.staleRegexes = true, true
		}
	}
}

// changedTopics yields the names of topics that differ between two images; true: the topic is in one of them only. Both lists are by name, and
// what did not change is shared.
func changedTopics(before, after []*meta.Topic) func(yield func(string, bool) bool) {
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

// racksOf is the rack of each broker that has one.
func racksOf(image *meta.Image) map[int32]string {
	racks := make(map[int32]string)
	for _, b := range image.Brokers {
		if b.Rack != nil {
			racks[b.ID] = *b.Rack
		}
	}
	return racks
}

// partitionRacks is the racks of a partition's replicas, each once, ascending.
func (x *Index) partitionRacks(p *meta.Partition) []string {
	var racks []string
	for _, r := range p.Replicas {
		if rack, ok := x.racks[r]; ok {
			racks = append(racks, rack)
		}
	}
	slices.Sort(racks)
	return slices.Compact(racks)
}

// topic finds a topic of the image by name; nil: there is none.
func (x *Index) topic(name string) *meta.Topic {
	if x.image == nil {
		return nil
	}
	return x.image.Topic(name)
}
