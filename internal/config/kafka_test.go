package config

import (
	"bufio"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// kafkaFact is what a version of Kafka says of a setting.
type kafkaFact struct{ of, name, kind, def, limits, flags, versions string }

func (f kafkaFact) current() bool { return strings.Contains(f.versions, "4.4") }

// kafkaFacts reads testdata/kafka.tsv: every broker and topic setting of Kafka 3.9 and 4.4, as their ConfigDefs have them.
func kafkaFacts(t *testing.T) []kafkaFact {
	t.Helper()
	file, err := os.Open("testdata/kafka.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []kafkaFact
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 7 {
			t.Fatalf("line %q has %d fields, expected 7", lines.Text(), len(f))
		}
		all = append(all, kafkaFact{f[0], f[1], f[2], strings.Trim(f[3], `"`), f[4], f[5], f[6]})
	}
	if len(all) < 400 {
		t.Fatalf("%d settings of Kafka, expected hundreds", len(all))
	}
	return all
}

// ownDefaults are settings whose default differs from Kafka 4.4's on purpose, and why.
var ownDefaults = map[string]string{
	"listeners":                      "without security, only this machine is listened to",
	"listener.security.protocol.map": "the same map in another order",
	"log.dir":                        "a directory beside the program, not one that a restart of the machine empties",
	"broker.id":                      "unset stands for Kafka's -1",
}

// ownTypes are settings whose type differs from Kafka 4.4's on purpose, and why.
var ownTypes = map[string]string{
	"log.dir": "one directory",
}

// TestKafkaSettings: every setting of Kafka 3.9 and 4.4 is in the table, with its type and its default.
func TestKafkaSettings(t *testing.T) {
	t.Parallel()
	c := load(t, Input{})
	for _, f := range kafkaFacts(t) {
		s := kafkaRow(f)
		if s == nil {
			t.Errorf("%s setting %s of Kafka %s is missing", f.of, f.name, f.versions)
			continue
		}
		if all, err := c.Explain(f.name); err != nil || !slices.ContainsFunc(all, func(e Explanation) bool { return e.Of == f.of && e.NoEffect == s.Ignored }) {
			t.Errorf("%s: explained as %v, %v", f.name, all, err)
		}
		newest := f.current() || s.Hidden
		if newest && f.kind != s.Type.String() && ownTypes[f.name] == "" {
			t.Errorf("%s: type %s, expected %s", f.name, s.Type, f.kind)
		}
		if null := f.def == "null"; newest && (null != s.Null || !null && f.def != s.Default) && ownDefaults[f.name] == "" && !versionDefault(f) {
			t.Errorf("%s: default %q (null %v), expected %s", f.name, s.Default, s.Null, f.def)
		}
		if hidden := strings.Contains(f.flags, "internal") || strings.Contains(f.flags, "unlisted"); f.current() && s.Hidden != hidden {
			t.Errorf("%s: hidden is %v, expected %v as in Kafka 4.4", f.name, s.Hidden, hidden)
		}
		if f.current() && f.of == "broker" {
			checkDynamic(t, s, f)
		}
	}
}

// versionDefault reports whether a default is Kafka's own version, which this broker has no equal of.
func versionDefault(f kafkaFact) bool { return f.name == "inter.broker.protocol.version" }

func kafkaRow(f kafkaFact) *Setting {
	if f.of == "topic" {
		return topicSettings[f.name]
	}
	return brokerSettings[f.name]
}

// checkDynamic: what Kafka calls read-only is read-only here. What Kafka can change at run time, and has no effect here, can be set too,
// unless it would protect the broker.
func checkDynamic(t *testing.T, s *Setting, f kafkaFact) {
	t.Helper()
	dynamic := strings.Contains(f.flags, "dynamic")
	if s.Dynamic && !dynamic {
		t.Errorf("%s can change here, and is read-only in Kafka", f.name)
	}
	if s.Security && s.Dynamic {
		t.Errorf("%s is about security, has no effect, and can be set at run time", f.name)
	}
	if dynamic && s.Ignored != "" && !s.Security && !s.Dynamic {
		t.Errorf("%s has no effect, and is read-only; Kafka can change it", f.name)
	}
}

// ownLimits are settings whose limits differ from Kafka's on purpose, and why.
var ownLimits = map[string]string{
	"broker.id":                                       "Kafka judges it together with node.id",
	"node.id":                                         "3.9 takes -1 for a made-up id; unset means that here",
	"default.replication.factor":                      "no topic could be created",
	"group.initial.rebalance.delay.ms":                "a delay is not negative",
	"group.min.session.timeout.ms":                    "a session without time never holds",
	"group.max.session.timeout.ms":                    "a session without time never holds",
	"offset.metadata.max.bytes":                       "no commit could be made",
	"log.flush.interval.ms":                           "an interval is not negative",
	"log.cleaner.dedupe.buffer.size":                  "Kafka asks for 1 MiB for each thread",
	"log.roll.ms":                                     "Kafka refuses less than 1 after its validators",
	"log.roll.jitter.ms":                              "Kafka refuses less than 0 after its validators",
	"log.retention.ms":                                "Kafka refuses 0 after its validators",
	"log.retention.minutes":                           "Kafka refuses 0 after its validators",
	"log.retention.hours":                             "Kafka refuses 0 after its validators",
	"offsets.topic.compression.codec":                 "Kafka refuses what is no codec after its validators",
	"share.coordinator.state.topic.compression.codec": "Kafka refuses what is no codec after its validators",
	"offsets.topic.segment.bytes":                     "as small as any segment may be",
	"queued.max.request.bytes":                        "requests are always bounded: -1 chooses",
	"request.timeout.ms":                              "a timeout is not negative",
	"socket.receive.buffer.bytes":                     "-1 leaves it to the system, smaller means nothing",
	"socket.send.buffer.bytes":                        "-1 leaves it to the system, smaller means nothing",
	"internal.segment.bytes":                          "a segment holds more than the head of a batch",
	"segment.bytes":                                   "the limit of 4.4, where 3.9 takes 14",
	"num.replica.fetchers":                            "the limit of 4.4, where 3.9 takes 0",
	"log.segment.bytes":                               "the limit of 4.4, where 3.9 takes 14",
	"metadata.log.segment.bytes":                      "the limit of 3.9, since it has no effect",
	"remote.log.manager.copier.thread.pool.size":      "the limit of 3.9, since it has no effect",
	"remote.log.manager.expiration.thread.pool.size":  "the limit of 3.9, since it has no effect",
	"remote.storage.enable":                           "tiered storage is not there",
	"security.inter.broker.protocol":                  "TLS and SASL are not there",
	"group.coordinator.rebalance.protocols":           "classic has to be in it",
}

// TestKafkaLimits: what Kafka's validators take is taken, and what they refuse is refused.
func TestKafkaLimits(t *testing.T) {
	t.Parallel()
	for _, f := range kafkaFacts(t) {
		s := kafkaRow(f)
		if s == nil || ownLimits[f.name] != "" {
			continue // TestKafkaSettings tells
		}
		good, bad := samples(f)
		for _, text := range good {
			if err := s.Validate(text); err != nil && (f.current() || !strings.HasPrefix(text, "-")) { // 4.4 has limits where 3.9 had none
				t.Errorf("Kafka %s takes %s=%s: %v", f.versions, f.name, text, err)
			}
		}
		for _, text := range bad {
			if f.current() && s.Validate(text) == nil {
				t.Errorf("Kafka %s refuses %s=%s", f.versions, f.name, text)
			}
		}
	}
}

// samples are values around the limits of a setting, those that Kafka takes and those that it refuses.
func samples(f kafkaFact) (good, bad []string) {
	if low, high, isRange := strings.Cut(strings.TrimSuffix(f.limits, " or -1"), ".."); isRange {
		good = append(good, low)
		n, err := strconv.ParseInt(low, 10, 64)
		if err == nil && low+" or -1" != "0 or -1" {
			bad = append(bad, strconv.FormatInt(n-1, 10))
		}
		if high != "" {
			good = append(good, high)
			if n, err := strconv.ParseInt(high, 10, 64); err == nil && n < math.MaxInt32 {
				bad = append(bad, strconv.FormatInt(n+1, 10))
			}
		}
		return good, bad
	}
	switch {
	case f.limits == "any" && f.kind == "int", f.limits == "any" && f.kind == "long":
		return []string{"0", "1", "-1", "-5"}, []string{"x", "1.5", "9223372036854775808"}
	case f.limits == "any" && f.kind == "boolean":
		return []string{"true", "FALSE"}, []string{"yes", "1"}
	case f.limits == "version":
		return []string{"2.8", "0.10.2", "3.0-IV1", "3.9-IV0"}, []string{"new", "3"}
	case strings.Contains(f.limits, "|"):
		return strings.Split(f.limits, "|"), []string{"no-such-value"}
	}
	return nil, nil
}
