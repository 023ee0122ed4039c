package config

import (
	"fmt"
	"slices"
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

// DescribeBroker lists the broker's settings by name (KIP-226, KIP-569). Those without effect are there only if they
// have a value.
func (c *Config) DescribeBroker() []Entry {
	var all []Entry
	for _, s := range Settings() {
		values := c.chain(s)
		if len(values) == 0 && s.Ignored != "" {
			continue
		}
		e := entry(s, values)
		e.ReadOnly = !s.Dynamic
		all = append(all, e)
	}
	return all
}

// DescribeTopic lists the settings of a topic with these overrides by name.
func (c *Config) DescribeTopic(overrides map[string]string) []Entry {
	t := c.Topic(overrides)
	var all []Entry
	for _, s := range TopicSettings() {
		values := t.chain(s)
		if len(values) == 0 {
			continue // internal.segment.bytes, where nobody set it
		}
		all = append(all, entry(s, values))
	}
	return all
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

// ValidateDynamic checks the dynamic settings of a broker, or of all of them.
func ValidateDynamic(settings map[string]string) error {
	for _, key := range sortedKeys(settings) {
		s := brokerSettings[key]
		switch {
		case s == nil:
			if near := Nearest(key, false); near != "" {
				return fmt.Errorf("%s: unknown broker setting; did you mean %s?", key, near)
			}
			return fmt.Errorf("%s: unknown broker setting", key)
		case !s.Dynamic:
			return fmt.Errorf("%s: cannot change while the broker runs; set it in the file or with --set and restart", key)
		}
		if err := s.Validate(settings[key]); err != nil {
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
