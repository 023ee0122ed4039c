package config

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is a setting as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     *string // nil: null, or hidden because Sensitive
	Type      Type
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Synonyms  []EntrySynonym // what gives the value, then what it stands above
	Doc       string
}

// EntrySynonym is one of the values an entry was chosen from.
type EntrySynonym struct {
	Name   string
	Value  *string
	Source Source
}

// DescribeBroker lists the broker's settings by name (KIP-226, KIP-569). Hidden ones are there only if they were given. Keys that are in no
// table are there without their value, as in Kafka: it may be a secret.
func (c *Config) DescribeBroker() []Entry {
	all := make([]Entry, 0, len(brokerSettings))
	for _, s := range Settings() {
		e := c.brokerEntry(s)
		if s.Hidden && len(e.given()) == 0 {
			continue
		}
		all = append(all, e)
	}
	for _, key := range unknownKeys(brokerSettings, c.keptCluster, c.keptNode) {
		all = append(all, c.withKept(Entry{Name: key, Sensitive: true, Doc: unknownDoc}))
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// DescribeBrokerKey describes one of the broker's settings, hidden or not; ok is false if it is in no table.
func (c *Config) DescribeBrokerKey(name string) (e Entry, ok bool) {
	s := brokerSettings[name]
	if s == nil {
		return Entry{}, false
	}
	return c.brokerEntry(s), true
}

func (c *Config) brokerEntry(s *Setting) Entry {
	e := entry(s, c.chain(s))
	e.ReadOnly = !s.Dynamic
	return c.withKept(e)
}

const unknownDoc = "A setting that this version does not know."

// withKept adds what is kept of an entry's key and does not count. It gives the value only if nothing else does.
func (c *Config) withKept(e Entry) Entry {
	for _, kept := range []struct {
		all, counts map[string]string
		source      Source
	}{{c.keptNode, c.node, DynamicBroker}, {c.keptCluster, c.cluster, DynamicDefaultBroker}} {
		text, is := kept.all[e.Name]
		if _, counts := kept.counts[e.Name]; !is || counts {
			continue
		}
		syn := EntrySynonym{e.Name, shown(text, e.Sensitive), kept.source}
		if len(e.Synonyms) == 0 {
			e.Value, e.Source = syn.Value, syn.Source
		}
		e.Synonyms = append(e.Synonyms, syn)
	}
	return e
}

// given are the values that are not defaults.
func (e *Entry) given() []EntrySynonym {
	var all []EntrySynonym
	for _, syn := range e.Synonyms {
		if syn.Source != Default {
			all = append(all, syn)
		}
	}
	return all
}

// unknownKeys lists the keys of the maps that are not in the table.
func unknownKeys(table map[string]*Setting, maps ...map[string]string) []string {
	var keys []string
	for _, m := range maps {
		for key := range m {
			if table[key] == nil && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// DescribeTopic lists the settings of a topic with these overrides by name. Hidden ones, and keys that are in no table, are there only if
// the topic has them.
func (c *Config) DescribeTopic(overrides map[string]string) []Entry {
	t := c.Topic(overrides)
	all := make([]Entry, 0, len(topicSettings))
	for _, s := range TopicSettings() {
		text, set := overrides[s.Name]
		if s.Hidden && !set {
			continue
		}
		e := entry(s, t.chain(s))
		if set && e.Source != DynamicTopic {
			e = withOverride(e, text)
		}
		all = append(all, e)
	}
	for _, key := range unknownKeys(topicSettings, overrides) {
		all = append(all, withOverride(Entry{Name: key, Doc: unknownDoc}, overrides[key]))
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// withOverride shows an override that does not count.
func withOverride(e Entry, text string) Entry {
	e.Value, e.Source = &text, DynamicTopic
	e.Synonyms = append([]EntrySynonym{{e.Name, &text, DynamicTopic}}, e.Synonyms...)
	return e
}

func entry(s *Setting, values []Value) Entry {
	e := Entry{Name: s.Name, Type: s.Type, Source: Default, Sensitive: s.Type == Password, Doc: s.Doc}
	for i, v := range values {
		if i == 0 {
			e.Source = v.Source
			e.Value = shown(scaled(v, s), e.Sensitive)
		}
		e.Synonyms = append(e.Synonyms, EntrySynonym{v.Name, shown(v.Text, e.Sensitive), v.Source})
	}
	return e
}

func shown(text string, sensitive bool) *string {
	if sensitive {
		return nil
	}
	return &text
}

// ValidateDynamic checks those dynamic settings of a broker, or of all of them, that a change of the keys changed has set.
func ValidateDynamic(settings map[string]string, changed []string) error {
	for _, key := range changed {
		text, set := settings[key]
		s := brokerSettings[key]
		switch {
		case !set:
			continue
		case s == nil:
			if near := Nearest(key, false); near != "" {
				return fmt.Errorf("%s: unknown broker setting; did you mean %s?", key, near)
			}
			return fmt.Errorf("%s: unknown broker setting", key)
		case !s.Dynamic:
			return fmt.Errorf("%s: cannot change while the broker runs; set it in the file or with --set and restart", key)
		}
		if err := s.Validate(text); err != nil {
			return err
		}
	}
	return nil
}

// ListDefault says whether a topic's (or a broker's) setting is a list, and its default.
func ListDefault(key string, topic bool) (def string, isList bool) {
	s := brokerSettings[key]
	if topic {
		s = topicSettings[key]
	}
	if s == nil || s.Type != List {
		return "", false
	}
	return s.Default, true
}

// Names lists all settings' names, for completion.
func Names(topic bool) []string {
	all := Settings()
	if topic {
		all = TopicSettings()
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return slices.Clip(names)
}
