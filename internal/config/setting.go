package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is a setting's type, by Kafka's ConfigType wire values (KIP-569).
type Type int8

// The types.
const (
	Unknown  Type = 0 // of a key that is in no table
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

var typeNames = [...]string{"unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"}

func (t Type) String() string { return typeNames[t] }

// Setting is one row of the table.
type Setting struct {
	Name    string
	Type    Type
	Default string // as it would be written in a file
	Null    bool   // there is no default: a synonym or the machine decides
	Check   check
	// Dynamic says that AlterConfigs may change it on a running broker.
	Dynamic bool
	// Security marks what protects the broker.
	Security bool
	// Ignored says why setting it has no effect; empty if it has one.
	Ignored string
	// Hidden marks a setting that is listed only where it was given: Kafka's internal ones, and those that Kafka 4 dropped.
	Hidden bool
	// Synonyms are the broker settings it falls back to, first one first.
	Synonyms []Synonym
	// Doc is one sentence.
	Doc string
}

// Synonym is a broker setting that gives another one its value, times Factor.
type Synonym struct {
	Name   string
	Factor int64
}

// Validate checks a value's type and limits. The error names key, value and limit, not the place.
func (s *Setting) Validate(text string) error {
	allowed := s.Type.allowed(text)
	if allowed == "" && s.Check.ok != nil && !s.Check.ok(strings.TrimSpace(text)) {
		allowed = s.Check.allowed
	}
	if allowed == "" {
		return nil
	}
	if s.Type == Password {
		text = "[hidden]"
	}
	return fmt.Errorf("%s=%s: must be %s", s.Name, text, allowed)
}

// Allowed describes the limits, or is empty.
func (s *Setting) Allowed() string { return s.Check.allowed }

// allowed returns what the type takes if text is none of it, else "".
func (t Type) allowed(text string) string {
	text = strings.TrimSpace(text)
	bits := map[Type]int{Int: 32, Short: 16, Long: 64}
	switch t {
	case Boolean:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return "true or false"
		}
	case Int, Short, Long:
		if _, err := strconv.ParseInt(text, 10, bits[t]); err != nil {
			return fmt.Sprintf("a whole number of at most %d bits", bits[t])
		}
	case Double:
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "a number"
		}
	case List:
		if items := splitList(text); slices.Contains(items, "") {
			return "a comma-separated list without empty items"
		}
	case Unknown, String, Class, Password: // any text
	}
	return ""
}

// splitList splits a LIST value; an empty text is an empty list.
func splitList(text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// index maps rows by name.
func index(rows ...[]Setting) map[string]*Setting {
	m := make(map[string]*Setting)
	for _, part := range rows {
		for i := range part {
			m[part[i].Name] = &part[i]
		}
	}
	return m
}

// sorted lists an index's rows by name.
func sorted(m map[string]*Setting) []*Setting {
	all := make([]*Setting, 0, len(m))
	for _, s := range m {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Setting) int { return strings.Compare(a.Name, b.Name) })
	return all
}
