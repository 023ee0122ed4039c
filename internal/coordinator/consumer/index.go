package consumer

import (
	"maps"
	"slices"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// Index is the metadata, and which groups look at which topics, so that a change of the metadata finds them.
type Index struct {
	assignors []string // group.consumer.assignors
	recordMax int      // the most bytes of a record; 0: any
	matcher   Matcher

	image     *meta.Image
	byTopic   map[string]map[*Group]int // topic -> group that subscribes to it by its name -> 1
	byPattern map[string]map[*Group]int // pattern -> group -> 1
	hashes    map[string]topicHash
	racks     map[int32]string // of the brokers that the hashes are made with
}

// NewIndex returns an index without metadata. A nil matcher is MatchTopics.
func NewIndex(assignors []string, recordMax int, matcher Matcher) *Index {
	if matcher == nil {
		matcher = MatchTopics
	}
	return &Index{
		assignors: assignors, recordMax: recordMax, matcher: matcher, byTopic: make(map[string]map[*Group]int),
		byPattern: make(map[string]map[*Group]int), hashes: make(map[string]topicHash),
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
	rematch := false
	var changed []string
	for name, alone := range meta.ChangedTopics(old.Topics, image.Topics) {
		delete(x.hashes, name)
		for g := range maps.Keys(x.byTopic[name]) {
			g.stale = true
		}
		rematch = rematch || alone
		if !alone {
			changed = append(changed, name)
		}
	}
	x.markPatterns(rematch, changed)
}

func (x *Index) markAll(sets map[string]map[*Group]int) {
	for set := range maps.Values(sets) {
		for g := range maps.Keys(set) {
			g.stale, g.staleRegexes = true, true
		}
	}
}

// markPatterns marks the groups that have patterns: all if a topic came or went (rematch), and those that look at topics that changed. No
// pattern is matched here: a thousand of them would hold up all groups of the shard. Each group's are at the next heartbeat of a member.
// What patterns matched is kept once for each group, not once for each topic in a map.
func (x *Index) markPatterns(rematch bool, changed []string) {
	for set := range maps.Values(x.byPattern) {
		for g := range maps.Keys(set) {
			g.staleRegexes = g.staleRegexes || rematch
			g.stale = g.stale || g.matches(changed)
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
