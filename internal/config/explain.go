package config

import (
	"fmt"
	"strings"
)

// Explanation is what a setting is, its value, and where that is from.
type Explanation struct {
	Name     string  `json:"name"`
	Of       string  `json:"of"` // broker, topic, group or client metrics
	Type     string  `json:"type"`
	Doc      string  `json:"doc"`
	Values   []Given `json:"values"`          // the first is the one that counts; the others would, without those before
	Means    string  `json:"means,omitempty"` // what the value comes to on this machine
	Allowed  string  `json:"allowed,omitempty"`
	NoEffect string  `json:"no_effect,omitempty"` // why it has none
	Changes  string  `json:"changes,omitempty"`   // when a change of a broker's setting counts
	Variable string  `json:"variable,omitempty"`  // of the environment
}

// Given is a value and the place that gives it.
type Given struct {
	Value string `json:"value"`
	From  string `json:"from"`
}

// Explain explains a setting: of brokers, of topics, or one of each.
func (c *Config) Explain(key string) ([]Explanation, error) {
	s, topic := brokerSettings[key], topicSettings[key]
	if s == nil && topic == nil {
		hint := "; docs/reference/config.md lists all, and so does `ottla config get broker ID --all`"
		if near := nearestAny(key); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return nil, fmt.Errorf("%s: unknown setting%s", key, hint)
	}
	var all []Explanation
	if s != nil {
		e := explain("broker", s, c.withOverruled(c.chain(s)))
		e.Changes, e.Variable = "at a restart", EnvName("OTTLA_", s.Name)
		if s.Dynamic {
			e.Changes = "while the broker runs"
		}
		all = append(all, e)
	}
	if topic != nil {
		all = append(all, explain("topic", topic, c.withOverruled(c.Topic(nil).chain(topic))))
	}
	return all, nil
}

// withOverruled puts behind each value those of the same name that it overrules.
func (c *Config) withOverruled(values []Value) []Value {
	var all []Value
	for _, v := range values {
		all = append(all, v)
		if v.Source != StaticBroker {
			continue
		}
		for _, o := range c.static[v.Name][1:] {
			all = append(all, Value{Name: v.Name, Text: o.text, Source: StaticBroker, Place: o.place})
		}
	}
	return all
}

// nearestAny is Nearest among the settings of brokers and topics.
func nearestAny(key string) string {
	if s, ok := nearest(key, append(Settings(), TopicSettings()...)); ok {
		return s.Name
	}
	return ""
}

func explain(of string, s *Setting, values []Value) Explanation {
	e := Explanation{Name: s.Name, Of: of, Type: s.Type.String(), Doc: s.Doc, Values: []Given{}, Allowed: s.Check.allowed, NoEffect: s.Ignored}
	for i, v := range values {
		g := Given{v.Text, v.Place}
		if v.Name != s.Name {
			g.From = v.Name + ", " + v.Place
		}
		if i == 0 && scaled(v, s) != v.Text {
			g = Given{scaled(v, s), fmt.Sprintf("%s=%s, %s", v.Name, v.Text, v.Place)}
		}
		if s.Type == Password {
			g.Value = "[hidden]"
		}
		e.Values = append(e.Values, g)
	}
	return e
}

// String is the explanation in a few lines for a person.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s setting, %s)\n  %s\n", e.Name, e.Of, e.Type, e.Doc)
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", label, text)
		}
	}
	if len(e.Values) == 0 {
		line("value", "not set")
	}
	for i, v := range e.Values {
		label := "instead of"
		if i == 0 {
			label = "value"
		}
		line(label, fmt.Sprintf("%s   (%s)", quoteEmpty(v.Value), v.From))
	}
	line("means", e.Means)
	line("allowed", e.Allowed)
	if e.NoEffect != "" {
		line("effect", "none: "+e.NoEffect)
	}
	line("changes", e.Changes)
	line("variable", e.Variable)
	return b.String()
}

func quoteEmpty(text string) string {
	if text == "" {
		return `""`
	}
	return text
}
