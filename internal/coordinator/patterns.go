package coordinator

import (
	"container/list"
	"slices"
	"sync"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/pattern"
)

// Limits of what is remembered of patterns.
const (
	// patternsMax is the most bytes: of ten thousand usual patterns, without the topics that they match.
	patternsMax = 16 << 20
	// changesMax is the most topics that came or went that a pattern is matched with alone; after more, it is matched with all.
	changesMax = 256
	// patternSize is what an entry takes beside its text, its program and the topics that it matches.
	patternSize = 512
)

// patterns remembers, by text, what patterns compile to and which topics they match: a consumer.Matcher. When topics come or go, a pattern is
// matched with those alone. What was not used for longest goes first.
type patterns struct {
	// compiling is held while a pattern is compiled, so that a thousand clients with large ones cost the memory of one.
	compiling sync.Mutex

	mu struct {
		sync.Mutex
		byText map[string]*list.Element // of *matched
		used   list.List                // the last used first
		size   int                      // bytes
		max    int
		image  *meta.Image // the newest that was seen
		// changes are the names of the last topics that came or went, and first counts those before them.
		changes []string
		first   int
	}
}

// matched is a pattern.
type matched struct {
	text    string
	pattern *pattern.Pattern // nil: it is refused, with err
	err     error
	names   []string // of the topics that it matches, ascending; it is never written
	seen    int      // how many changes names follows; -1: names is not known
}

func newPatterns(size int) *patterns {
	c := &patterns{}
	c.mu.byText, c.mu.max = make(map[string]*list.Element), size
	return c
}

// match is the names of image's topics that the pattern matches, ascending.
func (c *patterns) match(text string, image *meta.Image) ([]string, error) {
	m, current := c.find(text, image)
	if m == nil {
		m, current = c.compiled(text, image)
	}
	if m.err != nil || current {
		return m.names, m.err
	}
	names := consumer.MatchAll(m.pattern, image)
	c.keepNames(text, image, names)
	return names, nil
}

// find is a copy of what is remembered of a pattern, or nil; current: its names are those of image.
func (c *patterns) find(text string, image *meta.Image) (m *matched, current bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followLocked(image)
	e := c.mu.byText[text]
	if e == nil {
		return nil, false
	}
	c.mu.used.MoveToFront(e)
	m = e.Value.(*matched) //nolint:errcheck,forcetypeassert // the list has no others
	if m.pattern != nil && image == c.mu.image {
		current = c.catchUpLocked(m)
	}
	found := *m
	return &found, current
}

// followLocked notes the topics that came or went up to image, if that is newer than what was seen.
func (c *patterns) followLocked(image *meta.Image) {
	old := c.mu.image
	if image == nil || image == old || old != nil && image.Version < old.Version {
		return
	}
	c.mu.image = image
	var before []*meta.Topic
	if old != nil {
		before = old.Topics
	}
	for name, alone := range meta.ChangedTopics(before, image.Topics) {
		if alone {
			c.mu.changes = append(c.mu.changes, name)
		}
	}
	if over := len(c.mu.changes) - changesMax; over > 0 {
		c.mu.changes = append(c.mu.changes[:0:0], c.mu.changes[over:]...)
		c.mu.first += over
	}
}

// catchUpLocked matches the topics that came or went since m was matched, and reports whether m is current then.
func (c *patterns) catchUpLocked(m *matched) bool {
	now := c.mu.first + len(c.mu.changes)
	switch {
	case m.seen == now:
		return true
	case m.seen < c.mu.first:
		return false
	}
	before := len(m.names)
	for _, name := range c.mu.changes[m.seen-c.mu.first:] {
		i, had := slices.BinarySearch(m.names, name)
		has := c.mu.image.Topic(name) != nil && m.pattern.Match(name)
		switch {
		case has && !had:
			m.names = slices.Insert(slices.Clone(m.names), i, name)
		case had && !has:
			m.names = slices.Delete(slices.Clone(m.names), i, i+1)
		}
	}
	m.seen = now
	c.resizeLocked((len(m.names) - before) * nameSize)
	return true
}

// nameSize is what a list takes for a name, which the metadata holds.
const nameSize = 16

// compiled compiles a pattern and remembers it, refused or not.
func (c *patterns) compiled(text string, image *meta.Image) (m *matched, current bool) {
	c.compiling.Lock()
	defer c.compiling.Unlock()
	if m, current := c.find(text, image); m != nil { // another client brought it meanwhile
		return m, current
	}
	m = &matched{text: text, seen: -1}
	m.pattern, m.err = pattern.Compile(text)
	kept := *m
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(text) <= pattern.TextMax { // a longer one is refused at once, and not worth its room
		c.mu.byText[text] = c.mu.used.PushFront(&kept)
		c.resizeLocked(kept.size())
	}
	return m, false
}

// keepNames remembers what a pattern matches.
func (c *patterns) keepNames(text string, image *meta.Image, names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.mu.byText[text]
	if e == nil || image != c.mu.image {
		return
	}
	m := e.Value.(*matched) //nolint:errcheck,forcetypeassert // the list has no others
	grown := (len(names) - len(m.names)) * nameSize
	m.names, m.seen = names, c.mu.first+len(c.mu.changes)
	c.resizeLocked(grown)
}

// resizeLocked counts bytes that came, or went, and forgets what was not used for longest until there is room.
func (c *patterns) resizeLocked(grown int) {
	c.mu.size += grown
	for c.mu.size > c.mu.max && c.mu.used.Len() > 0 {
		m := c.mu.used.Remove(c.mu.used.Back()).(*matched) //nolint:errcheck,forcetypeassert // the list has no others
		delete(c.mu.byText, m.text)
		c.mu.size -= m.size()
	}
}

// size is what m takes, in bytes.
func (m *matched) size() int {
	n := patternSize + 2*len(m.text) + nameSize*len(m.names)
	if m.pattern != nil {
		n += m.pattern.Size()
	}
	return n
}
