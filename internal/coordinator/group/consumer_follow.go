package group

import (
	"maps"
	"regexp"
	"slices"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// follows is which next-generation groups look at which topics, so that a change of the metadata finds them. It follows from the groups.
type follows struct {
	byTopic   map[string]map[string]int // topic -> group -> in how many ways it subscribes: by name, and by each pattern
	byPattern map[string]map[string]int // pattern -> group -> 1
	compiled  map[string]*regexp.Regexp // of patterns that groups have
	hashes    map[string]topicHash
	racks     map[int32]string // of the brokers that the hashes are made with
}

// count adds by to what group has in the set of key, and removes what is zero.
func count(sets *map[string]map[string]int, key, group string, by int) {
	if *sets == nil {
		*sets = make(map[string]map[string]int)
	}
	set := (*sets)[key]
	if set == nil {
		set = make(map[string]int)
		(*sets)[key] = set
	}
	if set[group] += by; set[group] == 0 {
		delete(set, group)
	}
	if len(set) == 0 {
		delete(*sets, key)
	}
}

// topics notes that group looks at topics once more, or once less.
func (f *follows) topics(group string, topics []string, by int) {
	for _, t := range topics {
		count(&f.byTopic, t, group, by)
	}
}

// pattern notes that group has a pattern, or has it no more.
func (f *follows) pattern(group, pattern string, by int) {
	count(&f.byPattern, pattern, group, by)
	if f.byPattern[pattern] == nil {
		delete(f.compiled, pattern)
	}
}

// subscribe counts what mem subscribes to; unsubscribe takes it back (mem may be nil).
func (m *Machine) subscribe(g *group, mem *consumerMember) {
	g.consumer.count(&m.follow, g.id, mem, +1)
}

func (m *Machine) unsubscribe(g *group, mem *consumerMember) {
	if mem != nil {
		g.consumer.count(&m.follow, g.id, mem, -1)
	}
}

// count adds by to the counts of what mem subscribes to and asks for.
func (c *consumer) count(f *follows, group string, mem *consumerMember, by int) {
	for _, t := range mem.info.Topics {
		if before := c.topics[t]; before == 0 || before+by == 0 {
			f.topics(group, []string{t}, by)
		}
		add(c.topics, t, by)
	}
	if p := mem.info.Regex; p != nil {
		c.countRegex(f, group, *p, by)
	}
	if a := mem.info.Assignor; a != nil {
		add(c.assignors, *a, by)
	}
	if i := mem.info.InstanceID; i != nil {
		if by > 0 {
			c.static[*i] = mem.id
		} else if c.static[*i] == mem.id {
			delete(c.static, *i)
		}
	}
}

func (c *consumer) countRegex(f *follows, group, pattern string, by int) {
	r := c.regexes[pattern]
	if r == nil {
		r = &consumerRegex{}
		c.regexes[pattern] = r
	}
	if r.members == 0 || r.members+by == 0 {
		f.pattern(group, pattern, by)
	}
	if r.members += by; r.members == 0 && !r.resolved {
		delete(c.regexes, pattern)
	}
}

// add adds by to counts[key], and removes a count of zero.
func add(counts map[string]int, key string, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// consumerImage marks the groups that look at what has changed; what follows from it is done at the next heartbeat of a member, as in Kafka
// (GroupMetadataManager.onNewMetadataImage), but without its wait for the next refresh of patterns.
func (m *Machine) consumerImage(old *meta.Image) {
	racks := racksOf(m.image)
	if old == nil || !maps.Equal(racks, m.follow.racks) {
		m.follow.racks, m.follow.hashes = racks, nil
		for _, g := range m.sorted() {
			if g.consumer != nil {
				g.consumer.stale, g.consumer.staleRegexes = true, true
			}
		}
		return
	}
	for name, resolve := range changedTopics(old.Topics, m.image.Topics) {
		delete(m.follow.hashes, name)
		m.topicChanged(name, resolve)
	}
}

// topicChanged marks the groups that look at a topic; resolve: and those whose patterns match it, since it came or went.
func (m *Machine) topicChanged(name string, resolve bool) {
	for id := range maps.Keys(m.follow.byTopic[name]) {
		m.groups[id].consumer.stale = true
	}
	if !resolve {
		return
	}
	for pattern := range maps.Keys(m.follow.byPattern) {
		if re, err := m.follow.compile(pattern); err != nil || !re.MatchString(name) {
			continue
		}
		for id := range maps.Keys(m.follow.byPattern[pattern]) {
			m.groups[id].consumer.stale, m.groups[id].consumer.staleRegexes = true, true
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
func (f *follows) partitionRacks(p *meta.Partition) []string {
	var racks []string
	for _, r := range p.Replicas {
		if rack, ok := f.racks[r]; ok {
			racks = append(racks, rack)
		}
	}
	slices.Sort(racks)
	return slices.Compact(racks)
}

// topic finds a topic of the image by name; nil: there is none.
func (m *Machine) topic(name string) *meta.Topic {
	if m.image == nil {
		return nil
	}
	return m.image.Topic(name)
}
