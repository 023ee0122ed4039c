package setting

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Entry is one setting as DescribeConfigs shows it (KIP-226, KIP-569).
type Entry struct {
	Name      string
	Value     *string // nil: not set, or hidden because it is sensitive
	Type      kmsg.ConfigType
	Source    kmsg.ConfigSource
	ReadOnly  bool
	Sensitive bool
	Synonyms  []Synonym // what gives the value, then what it stands above
	Doc       string
}

// Synonym is one of the values that an entry was chosen from.
type Synonym struct {
	Name   string
	Value  *string
	Source kmsg.ConfigSource
}

// withUnknown adds the overrides whose names are not known: they came with a directory of Kafka, and are kept. Entries stay in order.
func withUnknown(entries []Entry, overrides map[string]string, source kmsg.ConfigSource, known func(name string) bool) []Entry {
	for name, text := range overrides {
		if !known(name) {
			entries = append(entries, Entry{
				Name: name, Value: &text, Source: source, Synonyms: []Synonym{{name, &text, source}}, Doc: "A setting that this version does not know.",
			})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

// Find finds a setting in a list; nil if it is not there.
func Find(entries []Entry, name string) *Entry {
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i]
		}
	}
	return nil
}

// Plain writes lists, booleans and numbers in the one way that tools compare with, in place: Kafka Connect, for one, does not start if the
// policy of its topics is not exactly "compact".
func Plain(entries []Entry) []Entry {
	for i := range entries {
		e := &entries[i]
		if e.Value == nil {
			continue
		}
		if text := plain(e.Type, *e.Value); text != *e.Value {
			e.Value = &text
		}
	}
	return entries
}

func plain(typ kmsg.ConfigType, text string) string {
	switch typ {
	case kmsg.ConfigTypeList:
		items := strings.Split(text, ",")
		for i := range items {
			items[i] = strings.TrimSpace(items[i])
		}
		return strings.Join(items, ",")
	case kmsg.ConfigTypeBoolean:
		return strings.ToLower(strings.TrimSpace(text))
	case kmsg.ConfigTypeInt, kmsg.ConfigTypeShort, kmsg.ConfigTypeLong, kmsg.ConfigTypeDouble:
		return strings.TrimSpace(text)
	case kmsg.ConfigTypeString, kmsg.ConfigTypeClass, kmsg.ConfigTypePassword, kmsg.ConfigTypeUnknown: // as it is
	}
	return text
}
