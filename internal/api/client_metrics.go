package api

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// The configs of a client metrics subscription (KIP-714; Kafka's ClientMetricsConfigs). They are kept and shown; nothing is
// asked of clients, since no receiver of their metrics exists here, as on a Kafka broker without a plug-in for it.
const (
	metricsInterval = "interval.ms"
	metricsMatch    = "match"
	metricsNames    = "metrics"

	metricsIntervalMin = 100
	metricsIntervalMax = 3_600_000
)

// clientMetricsEntries are the configs of a subscription with these overrides, by name.
func clientMetricsEntries(overrides map[string]string) []ConfigEntry {
	entries := []ConfigEntry{
		{Name: metricsInterval, Value: new("300000"), Type: kmsg.ConfigTypeInt, Doc: "How often clients push their metrics, in ms."},
		{Name: metricsMatch, Value: new(""), Type: kmsg.ConfigTypeList, Doc: "Which clients are meant, by key=pattern; empty: all."},
		{Name: metricsNames, Value: new(""), Type: kmsg.ConfigTypeList, Doc: "What the names of the metrics begin with; empty: none."},
	}
	for i := range entries {
		e := &entries[i]
		e.Source = kmsg.ConfigSourceDefaultConfig
		if text, set := overrides[e.Name]; set {
			e.Value, e.Source = &text, kmsg.ConfigSourceClientMetricsConfig
			e.Synonyms = []ConfigSynonym{{e.Name, e.Value, e.Source}}
		}
	}
	return entries
}

// checkClientMetrics judges the changes of a subscription.
func checkClientMetrics(changes []meta.ConfigChange) error {
	known := clientMetricsEntries(nil)
	for _, c := range changes {
		switch {
		case c.Op == meta.OpDelete:
			continue
		case entryNamed(known, c.Name) == nil:
			return refuse(kerr.InvalidRequest, "unknown client metrics config %q", c.Name)
		case c.Op == meta.OpAppend || c.Op == meta.OpSubtract:
			return refuse(kerr.InvalidConfig, "cannot append to or subtract from %s: set it", c.Name)
		}
		if err := checkMetricsValue(c.Name, *c.Value); err != nil {
			return err
		}
	}
	return nil
}

func checkMetricsValue(name, text string) error {
	switch name {
	case metricsInterval:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil {
			return refuse(kerr.InvalidConfig, "%s is %q, expected a number of ms", name, text)
		}
		if n < metricsIntervalMin || n > metricsIntervalMax {
			return refuse(kerr.InvalidRequest, "%s is %d, expected %d to %d", name, n, metricsIntervalMin, metricsIntervalMax)
		}
	case metricsMatch:
		for item := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(item) != "" && !isMatch(item) {
				return refuse(kerr.InvalidConfig, "%s has %q, expected key=pattern", name, item)
			}
		}
	}
	return nil
}

// isMatch reports whether item is one of the keys that clients are told apart by, and a pattern.
func isMatch(item string) bool {
	key, pattern, _ := strings.Cut(item, "=")
	switch strings.TrimSpace(key) {
	case "client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port":
		_, err := regexp.Compile(strings.TrimSpace(pattern))
		return err == nil && strings.TrimSpace(pattern) != ""
	}
	return false
}
