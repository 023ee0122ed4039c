package setting

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/pattern"
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

// ClientMetrics lists the settings of a client metrics subscription with these overrides.
func ClientMetrics(overrides map[string]string) []Entry {
	entries := []Entry{
		{Name: metricsInterval, Value: new("300000"), Type: kmsg.ConfigTypeInt, Doc: "How often clients push their metrics, in ms."},
		{Name: metricsMatch, Value: new(""), Type: kmsg.ConfigTypeList, Doc: "Which clients are meant, by key=pattern; empty: all."},
		{Name: metricsNames, Value: new(""), Type: kmsg.ConfigTypeList, Doc: "What the names of the metrics begin with; empty: none."},
	}
	for i := range entries {
		e := &entries[i]
		e.Source = kmsg.ConfigSourceDefaultConfig
		if text, set := overrides[e.Name]; set {
			e.Value, e.Source = &text, kmsg.ConfigSourceClientMetricsConfig
			e.Synonyms = []Synonym{{e.Name, e.Value, e.Source}}
		}
	}
	return withUnknown(entries, overrides, kmsg.ConfigSourceClientMetricsConfig, isMetrics)
}

func isMetrics(name string) bool {
	return name == metricsInterval || name == metricsMatch || name == metricsNames
}

// CheckClientMetrics says why a subscription may not have this value: INVALID_CONFIG, or INVALID_REQUEST where Kafka says so.
func CheckClientMetrics(name, value string) error {
	switch name {
	case metricsInterval:
		return checkInterval(value)
	case metricsMatch:
		for item := range strings.SplitSeq(value, ",") {
			if strings.TrimSpace(item) != "" && !isMatch(item) {
				return fmt.Errorf("%s has %.300q, expected key=pattern with a pattern of at most %d bytes: %w", name, item, pattern.TextMax, kerr.InvalidConfig)
			}
		}
		return nil
	case metricsNames:
		return nil
	}
	return fmt.Errorf("unknown client metrics config %q: %w", name, kerr.InvalidRequest)
}

func checkInterval(text string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return fmt.Errorf("%s is %q, expected a number of ms: %w", metricsInterval, text, kerr.InvalidConfig)
	}
	if n < metricsIntervalMin || n > metricsIntervalMax {
		return fmt.Errorf("%s is %d, expected %d to %d: %w", metricsInterval, n, metricsIntervalMin, metricsIntervalMax, kerr.InvalidRequest)
	}
	return nil
}

// isMatch reports whether item is one of the keys that clients are told apart by, and a pattern.
func isMatch(item string) bool {
	key, text, _ := strings.Cut(item, "=")
	switch strings.TrimSpace(key) {
	case "client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port":
		text = strings.TrimSpace(text)
		return text != "" && pattern.Check(text) == nil
	}
	return false
}
