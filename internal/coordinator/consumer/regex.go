package consumer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/pattern"
)

// Matcher returns the names of an image's topics that a pattern matches, ascending; they must not be written. It is a function of its
// arguments alone, though it may remember what it computed. The error names the limit that the pattern is above, or what is wrong in it.
type Matcher func(text string, image *meta.Image) ([]string, error)

// MatchTopics is the Matcher that remembers nothing.
func MatchTopics(text string, image *meta.Image) ([]string, error) {
	p, err := pattern.Compile(text)
	if err != nil {
		return nil, err
	}
	return MatchAll(p, image), nil
}

// MatchAll is the names of the topics of image (which may be nil) that p matches, ascending.
func MatchAll(p *pattern.Pattern, image *meta.Image) (names []string) {
	if image == nil {
		return nil
	}
	for _, t := range image.Topics {
		if p.Match(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// match is the names of the topics that a pattern matches, as Kafka's TopicRegexResolver finds them: whole names, in RE2's syntax.
func (x *Index) match(text string) ([]string, error) {
	names, err := x.matcher(text, x.image)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, kerr.InvalidRegularExpression)
	}
	return names, nil
}

// shared is topics, which a record says that a pattern matches: the matcher's own list if that is the same, so that a thousand groups with
// one pattern keep one list.
func (x *Index) shared(text string, topics []string) []string {
	if names, err := x.matcher(text, x.image); err == nil && slices.Equal(names, topics) {
		return names
	}
	return topics
}

// matches reports whether a pattern of the group matched one of topics, which are ascending, when it was last resolved.
func (g *Group) matches(topics []string) bool {
	for r := range maps.Values(g.regexes) {
		for _, t := range topics {
			if _, ok := slices.BinarySearch(r.topics, t); ok {
				return true
			}
		}
	}
	return false
}

// resolve resolves the patterns that the change leaves and that are new or out of date, and forgets the patterns that no member has any more. It reports
// whether one matches other topics than before.
func (ch *Change) resolve() (changed bool) {
	for _, pattern := range ch.patterns() {
		r := ch.g.regexes[pattern]
		if ch.subscribers(pattern) == 0 {
			if r != nil && r.resolved {
				ch.emit(record.Regex{Group: ch.g.ID, Pattern: pattern})
			}
			continue
		}
		if r != nil && r.resolved && !ch.g.staleRegexes {
			ch.resolved[pattern] = r.topics
			continue
		}
		names, _ := ch.x.match(pattern) // one that is refused (a record of another coordinator has it) matches none
		if ch.tooMany(pattern, names) != nil {
			names = nil
			if r != nil {
				names = r.topics // topics came until they were too many: the group keeps what it has
			}
		}
		ch.resolved[pattern] = names
		if r == nil || !r.resolved || !slices.Equal(r.topics, names) {
			changed = true
			ch.emit(record.Regex{Group: ch.g.ID, Pattern: pattern, Value: &record.RegexValue{
				Topics: names, Version: ch.version(), Timestamp: ch.now.UnixMilli(),
			}})
		}
	}
	return changed
}

// tooMany says why a record cannot hold what a pattern matches.
func (ch *Change) tooMany(pattern string, names []string) error {
	const counted = 4 // bytes of a length, or more
	size := len(ch.g.ID) + len(pattern) + 64
	for _, name := range names {
		size += counted + len(name)
	}
	if ch.x.recordMax <= 0 || size <= ch.x.recordMax {
		return nil
	}
	return fmt.Errorf("the regular expression matches %d topics, whose names are a record of %d bytes, and %d are allowed: give one that matches fewer: %w",
		len(names), size, ch.x.recordMax, kerr.InvalidRegularExpression)
}

// version is that of the metadata.
func (ch *Change) version() int64 {
	if ch.x.image == nil {
		return 0
	}
	return int64(ch.x.image.Version)
}
