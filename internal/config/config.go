package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Source says what kind of place a value is from, by Kafka's ConfigSource wire values.
type Source int8

// The sources.
const (
	DynamicTopic         Source = 1
	DynamicBroker        Source = 2
	DynamicDefaultBroker Source = 3
	StaticBroker         Source = 4
	Default              Source = 5
)

// origin is a text and where it was given.
type origin struct {
	text, place string
	rank        int
}

// Config is all settings of one broker, resolved. It does not change.
type Config struct {
	static  map[string][]origin // the first counts
	notices []Notice
	// cluster and node are the dynamic settings of all brokers and of this one, as far as they count. The kept ones are all that there are.
	cluster, node         map[string]string
	keptCluster, keptNode map[string]string
}

// Value is a setting's value and where it is from.
type Value struct {
	Name   string // the setting that gave it: the one asked for or a synonym
	Text   string
	Null   bool
	Source Source
	Place  string // a flag, a variable, file:line, "dynamic" or "default"
}

// Notices are the lines worth telling at start: unknown keys, keys without effect.
func (c *Config) Notices() []Notice { return c.notices }

// WithDynamic returns c with the dynamic settings of all brokers (cluster) and of this one (node). A directory of Kafka may hold keys that
// are in no table here, that only a restart changes, or with values that are not allowed: such settings are described and do not count.
func (c *Config) WithDynamic(cluster, node map[string]string) *Config {
	return &Config{static: c.static, notices: c.notices, cluster: counting(cluster), node: counting(node), keptCluster: cluster, keptNode: node}
}

// counting returns the dynamic settings that count.
func counting(all map[string]string) map[string]string {
	some := make(map[string]string, len(all))
	for key, text := range all {
		if s := brokerSettings[key]; s != nil && s.Dynamic && s.Validate(text) == nil {
			some[key] = text
		}
	}
	return some
}

// given returns the values of name and its synonyms that are not defaults, the one that counts first.
func (c *Config) given(names []Synonym) []Value {
	var all []Value
	for _, n := range names {
		if text, ok := c.node[n.Name]; ok {
			all = append(all, Value{Name: n.Name, Text: text, Source: DynamicBroker, Place: "dynamic, this broker"})
		}
	}
	for _, n := range names {
		if text, ok := c.cluster[n.Name]; ok {
			all = append(all, Value{Name: n.Name, Text: text, Source: DynamicDefaultBroker, Place: "dynamic, all brokers"})
		}
	}
	for _, n := range names {
		if o, ok := c.static[n.Name]; ok {
			all = append(all, Value{Name: n.Name, Text: o[0].text, Source: StaticBroker, Place: o[0].place})
		}
	}
	return all
}

// chain is every value of a broker setting and its synonyms, defaults last.
func (c *Config) chain(s *Setting) []Value {
	names := append([]Synonym{{s.Name, 1}}, s.Synonyms...)
	all := c.given(names)
	for _, n := range names {
		if row := brokerSettings[n.Name]; !row.Null {
			all = append(all, Value{Name: n.Name, Text: row.Default, Source: Default, Place: "default"})
		}
	}
	return all
}

// Value returns a broker setting's value. The name must be in the table.
func (c *Config) Value(name string) Value {
	s := setting(name)
	all := c.chain(s)
	if len(all) == 0 {
		return Value{Name: name, Null: true, Source: Default, Place: "default"}
	}
	v := all[0]
	v.Text = scaled(v, s)
	return v
}

// Lookup returns a broker setting's value; ok is false if there is no such setting.
func (c *Config) Lookup(name string) (v Value, ok bool) {
	if brokerSettings[name] == nil {
		return Value{}, false
	}
	return c.Value(name), true
}

// setting finds a row that must be there.
func setting(name string) *Setting {
	s := brokerSettings[name]
	if s == nil {
		panic(fmt.Sprintf("bug: no setting %q", name))
	}
	return s
}

// scaled turns a synonym's text into the setting's unit: hours to ms, and anything negative to -1.
func scaled(v Value, s *Setting) string {
	for _, syn := range s.Synonyms {
		if syn.Name != v.Name || syn.Factor == 1 {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(v.Text), 10, 64)
		if err != nil {
			panic(fmt.Sprintf("bug: %s=%s was not validated", v.Name, v.Text))
		}
		if n < 0 {
			return "-1"
		}
		return strconv.FormatInt(n*syn.Factor, 10)
	}
	return v.Text
}

// IsSet reports whether name or a synonym was given anywhere.
func (c *Config) IsSet(name string) bool { return c.Value(name).Source != Default }

// String returns a setting's text, empty if it is null.
func (c *Config) String(name string) string { return c.Value(name).Text }

// List returns the items of a LIST setting.
func (c *Config) List(name string) []string { return splitList(c.Value(name).Text) }

// Bool returns a BOOLEAN setting.
func (c *Config) Bool(name string) bool {
	return strings.EqualFold(strings.TrimSpace(c.Value(name).Text), "true")
}

// Long returns an INT, SHORT or LONG setting, 0 if it is null.
func (c *Config) Long(name string) int64 { return whole(c.Value(name).Text) }

// Int is Long for what fits in an int.
func (c *Config) Int(name string) int { return int(c.Long(name)) }

// Double returns a DOUBLE setting, 0 if it is null.
func (c *Config) Double(name string) float64 { return double(c.Value(name).Text) }

// Millis returns a setting in ms as a duration, the largest one if it is larger.
func (c *Config) Millis(name string) time.Duration { return millis(c.Long(name)) }

func whole(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64) // validated before; null is 0
	return n
}

func double(text string) float64 {
	f, _ := strconv.ParseFloat(strings.TrimSpace(text), 64) // validated before; null is 0
	return f
}

func millis(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(n, -1), most)) * time.Millisecond
}
