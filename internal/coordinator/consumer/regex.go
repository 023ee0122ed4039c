package consumer

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// compile is pattern as a regular expression that matches whole names, as Kafka's does (TopicRegexResolver). Both are RE2: what one takes the other
// takes, in time linear in the name.
func (x *Index) compile(pattern string) (*regexp.Regexp, error) {
	if re := x.compiled[pattern]; re != nil {
		return re, nil
	}
	if _, err := regexp.Compile(pattern); err != nil { // by itself: "a)(b" is valid only within the parentheses below
		return nil, fmt.Errorf("regular expression %q: %w: %w", pattern, err, kerr.InvalidRegularExpression)
	}
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w: %w", pattern, err, kerr.InvalidRegularExpression)
	}
	if x.byPattern[pattern] != nil {
		x.compiled[pattern] = re
	}
	return re, nil
}

// match is the names of the topics that pattern matches, ascending. One that does not compile (a record of a foreign coordinator) matches none.
func (x *Index) match(pattern string) []string {
	re, err := x.compile(pattern)
	if err != nil || x.image == nil {
		return nil
	}
	var names []string
	for _, t := range x.image.Topics {
		if re.MatchString(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// resolve resolves the patterns that the change leaves and that are new or out of date, and forgets those that nobody has any more.
func (ch *Change) resolve() {
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
		names := ch.x.match(pattern)
		ch.resolved[pattern] = names
		if r == nil || !r.resolved || !slices.Equal(r.topics, names) {
			ch.emit(record.Regex{Group: ch.g.ID, Pattern: pattern, Value: &record.RegexValue{
				Topics: names, Version: ch.version(), Timestamp: ch.now.UnixMilli(),
			}})
		}
	}
}

// version is that of the metadata.
func (ch *Change) version() int64 {
	if ch.x.image == nil {
		return 0
	}
	return int64(ch.x.image.Version)
}
