package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The ranks of places: lower stands above higher.
const (
	rankFlag = iota
	rankOttla
	rankKafka
	rankFile
)

// Input is all that a Config is made of.
type Input struct {
	Flags   []Flag
	Environ []string // as of os.Environ
	// File is the name of a server.properties, for messages, and Text what is in it.
	File, Text string
}

// Flag is a setting given on the command line (or by an embedding program).
type Flag struct{ Key, Text, Place string }

// Notice is a line worth telling at start.
type Notice struct {
	Warn bool // else it is only for information
	Text string
}

// Load resolves all settings. The error joins everything that is wrong, one line each.
func Load(in Input) (*Config, error) {
	all, problems := parseFile(in.File, in.Text)
	all = append(all, parseEnv(in.Environ)...)
	for _, f := range in.Flags {
		all = append(all, assignment{f.Key, strings.TrimSpace(f.Text), f.Place, rankFlag})
	}
	// Stable: within a place, what comes last stands.
	slices.SortStableFunc(all, func(a, b assignment) int { return b.rank - a.rank })
	c := &Config{static: make(map[string][]origin)}
	for _, a := range all {
		problems = append(problems, c.assign(a))
	}
	problems = append(problems, c.checkTogether()...)
	c.nameListeners()
	if _, _, _, err := c.Listeners(); err != nil {
		problems = append(problems, err)
	}
	c.warnUnlimited()
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return c, nil
}

// assign takes one text over, or says why it cannot.
func (c *Config) assign(a assignment) error {
	s, known := brokerSettings[a.key]
	if !known {
		return c.unknown(a)
	}
	if a.text == "" && (s.Null || a.rank != rankFlag && s.Type != String && s.Type != List) {
		return nil // as good as none: container files often pass variables on that are empty
	}
	if err := s.Validate(a.text); err != nil {
		return fmt.Errorf("%w (%s)", err, a.place)
	}
	old := c.static[a.key]
	if len(old) > 0 && old[0].rank == a.rank && a.rank == rankFile {
		c.warn("%s is set twice, at %s and %s; the last one counts", a.key, old[0].place, a.place)
	}
	switch {
	case s.Ignored == "":
	case s.Security && s.Ignored == noSecurity: // an operator may believe that it protects the broker
		c.warn("%s (%s) has no effect: %s", a.key, a.place, s.Ignored)
	default:
		c.note("%s (%s) has no effect: %s", a.key, a.place, s.Ignored)
	}
	c.static[a.key] = append([]origin{{a.text, a.place, a.rank}}, old...)
	return nil
}

// unknown warns of a key that is in no table. It refuses one that may have been meant to protect the broker, or that was given for this
// start alone: files and environments are shared with other programs and versions, a flag is not.
func (c *Config) unknown(a assignment) error {
	key := a.key
	if inner, ok := listenerKey(key); ok && brokerSettings[inner] != nil {
		c.warn("%s (%s) has no effect: %s", key, a.place, noSecurity)
		return nil
	}
	near, found := nearest(key, Settings())
	hint := ""
	if found {
		hint = fmt.Sprintf("; did you mean %s?", near.Name)
	}
	if looksSecure(key) || found && near.Security && distance(key, near.Name) <= 3 {
		if !found {
			hint = "; remove it if it is not meant for the broker"
		}
		return fmt.Errorf("%s: unknown security setting (%s)%s", key, a.place, hint)
	}
	for _, p := range ignoredPrefixes {
		if strings.HasPrefix(key, p.prefix) {
			c.note("%s (%s) has no effect: %s", key, a.place, p.why)
			return nil
		}
	}
	if a.rank == rankFlag {
		return fmt.Errorf("%s: unknown setting (%s)%s", key, a.place, hint)
	}
	c.warn("%s: unknown setting, ignored (%s)%s", key, a.place, hint)
	return nil
}

func looksSecure(key string) bool {
	return slices.ContainsFunc(securityPrefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// listenerKey cuts listener.name.NAME. and a SASL mechanism from a key.
func listenerKey(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "listener.name.")
	if !ok {
		return "", false
	}
	_, rest, ok = strings.Cut(rest, ".")
	if !ok {
		return "", false
	}
	if brokerSettings[rest] == nil {
		if _, inner, ok := strings.Cut(rest, "."); ok {
			return inner, true
		}
	}
	return rest, true
}

func (c *Config) warn(format string, args ...any) {
	c.notices = append(c.notices, Notice{Warn: true, Text: fmt.Sprintf(format, args...)})
}

func (c *Config) note(format string, args ...any) {
	c.notices = append(c.notices, Notice{Text: fmt.Sprintf(format, args...)})
}

// unlimited are the settings whose negative values all mean "no limit", in Kafka too, where only -1 is documented.
var unlimited = []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes"}

// warnUnlimited tells of negative values that read like a mistake and keep data for ever.
func (c *Config) warnUnlimited() {
	for _, name := range unlimited {
		if given := c.static[name]; len(given) > 0 && whole(given[0].text) < -1 {
			c.warn("%s=%s (%s) means no limit, as any negative number does in Kafka; write -1 if that is meant", name, given[0].text, given[0].place)
		}
	}
}

// checkTogether checks what no single value shows.
func (c *Config) checkTogether() []error {
	var problems []error
	if dirs := c.List("log.dirs"); len(dirs) > 1 {
		problems = append(problems, fmt.Errorf("log.dirs=%s: must be one directory, since Ottla keeps all its data in one (%s)",
			strings.Join(dirs, ","), c.Value("log.dirs").Place))
	}
	if c.Long("log.cleaner.min.compaction.lag.ms") > c.Long("log.cleaner.max.compaction.lag.ms") {
		v := c.Value("log.cleaner.min.compaction.lag.ms")
		problems = append(problems, fmt.Errorf("%s=%s: must be at most log.cleaner.max.compaction.lag.ms (%s)", v.Name, v.Text, v.Place))
	}
	return append(problems, c.checkGroups()...)
}
