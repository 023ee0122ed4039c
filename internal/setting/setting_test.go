package setting_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/setting"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ       kmsg.ConfigType
		text, out string
	}{
		{kmsg.ConfigTypeList, " compact , delete ", "compact,delete"},
		{kmsg.ConfigTypeList, "", ""},
		{kmsg.ConfigTypeList, "compact", "compact"},
		{kmsg.ConfigTypeBoolean, " TRUE", "true"},
		{kmsg.ConfigTypeLong, " 5 ", "5"},
		{kmsg.ConfigTypeDouble, "0.5 ", "0.5"},
		{kmsg.ConfigTypeString, " As Is ", " As Is "},
	} {
		text := c.text
		entries := setting.Plain([]setting.Entry{{Name: "hidden", Type: c.typ}, {Name: "a", Type: c.typ, Value: &text}})
		if got := *setting.Find(entries, "a").Value; got != c.out {
			t.Errorf("%v %q: %q, expected %q", c.typ, c.text, got, c.out)
		}
		if text != c.text || entries[0].Value != nil {
			t.Errorf("%v %q: the caller's text is %q now", c.typ, c.text, text)
		}
	}
}

// The lists are what Kafka 4.4 shows, in order and with nothing twice.
func TestLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries []setting.Entry
		size    int
	}{
		"groups":         {setting.Group(nil, nil), 21},
		"client metrics": {setting.ClientMetrics(nil), 3},
	} {
		if len(c.entries) != c.size {
			t.Errorf("%s: %d settings, expected %d", name, len(c.entries), c.size)
		}
		if !slices.IsSortedFunc(c.entries, func(a, b setting.Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s are not in order", name)
		}
		for i, e := range c.entries {
			if e.Value == nil || e.Type == kmsg.ConfigTypeUnknown || !strings.HasSuffix(e.Doc, ".") || e.Source != kmsg.ConfigSourceDefaultConfig {
				t.Errorf("%s: %+v", name, e)
			}
			if i > 0 && e.Name == c.entries[i-1].Name {
				t.Errorf("%s: %s twice", name, e.Name)
			}
		}
	}
	if setting.Find(setting.Group(nil, nil), "no.such") != nil {
		t.Error("no.such was found")
	}
}

// A group's setting is its own, else the broker's, else the default.
func TestGroup(t *testing.T) {
	t.Parallel()
	text := "50000"
	brokers := []setting.Entry{{
		Name: "group.consumer.session.timeout.ms", Value: &text, Source: kmsg.ConfigSourceStaticBrokerConfig,
		Synonyms: []setting.Synonym{{Name: "group.consumer.session.timeout.ms", Value: &text, Source: kmsg.ConfigSourceStaticBrokerConfig}},
	}}
	for _, c := range []struct {
		brokers   []setting.Entry
		overrides map[string]string
		value     string
		source    kmsg.ConfigSource
		synonyms  int
	}{
		{nil, nil, "45000", kmsg.ConfigSourceDefaultConfig, 1},
		{brokers, nil, "50000", kmsg.ConfigSourceStaticBrokerConfig, 1},
		{brokers, map[string]string{"consumer.session.timeout.ms": "55000"}, "55000", kmsg.ConfigSourceGroupConfig, 2},
	} {
		e := setting.Find(setting.Group(c.brokers, c.overrides), "consumer.session.timeout.ms")
		if *e.Value != c.value || e.Source != c.source || len(e.Synonyms) != c.synonyms || *e.Synonyms[0].Value != c.value {
			t.Errorf("%+v, expected %+v", e, c)
		}
	}
	if len(brokers[0].Synonyms) != 1 {
		t.Error("the broker's entry was changed")
	}
}

// TestGroupTogether: the session of a group's members outlasts the interval between their heartbeats.
func TestGroupTogether(t *testing.T) {
	t.Parallel()
	const session, heartbeat = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
	brokers := []setting.Entry{{Name: "group.consumer.heartbeat.interval.ms", Value: new("7000")}}
	for _, c := range []struct {
		brokers []setting.Entry
		configs map[string]string
		good    bool
	}{
		{nil, nil, true},
		{nil, map[string]string{session: "5001"}, true},
		{nil, map[string]string{session: "5000"}, false},
		{brokers, map[string]string{session: "7000"}, false},
		{brokers, map[string]string{session: " 7000 ", heartbeat: " 6999 "}, true},
		{nil, map[string]string{heartbeat: "44999"}, true},
		{nil, map[string]string{heartbeat: "45000"}, false},
		{nil, map[string]string{"share.session.timeout.ms": "1"}, false},
		{nil, map[string]string{"streams.heartbeat.interval.ms": "45000"}, false},
	} {
		if err := setting.CheckGroupTogether(c.brokers, c.configs, []string{"share.isolation.level"}); err != nil {
			t.Errorf("%v was there before, and blocks a change of another key: %v", c.configs, err)
		}
		err := setting.CheckGroupTogether(c.brokers, c.configs, slices.Collect(maps.Keys(c.configs)))
		if c.good && err != nil || !c.good && (!errors.Is(err, kerr.InvalidConfig) || !strings.Contains(err.Error(), "session.timeout.ms")) {
			t.Errorf("%v beside %v: %v", c.configs, c.brokers, err)
		}
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	inGroup := setting.CheckGroup([]setting.Entry{
		{Name: "group.consumer.min.session.timeout.ms", Value: new("45000")}, {Name: "group.consumer.max.session.timeout.ms", Value: new("60000")},
	})
	for _, c := range []struct {
		check       func(name, value string) error
		name, value string
		want        error
	}{
		{inGroup, "consumer.session.timeout.ms", " 50000 ", nil},
		{inGroup, "consumer.session.timeout.ms", "45000", nil},
		{inGroup, "consumer.session.timeout.ms", "44999", kerr.InvalidConfig},
		{inGroup, "consumer.session.timeout.ms", "60001", kerr.InvalidConfig},
		{inGroup, "consumer.heartbeat.interval.ms", "1", nil}, // this broker tells no bounds
		{inGroup, "consumer.session.timeout.ms", "-1", kerr.InvalidConfig},
		{inGroup, "consumer.session.timeout.ms", "x", kerr.InvalidConfig},
		{inGroup, "share.renew.acknowledge.enable", "False", nil},
		{inGroup, "share.renew.acknowledge.enable", "no", kerr.InvalidConfig},
		{inGroup, "streams.assignor.name", "anything", nil},
		{inGroup, "no.such", "1", kerr.InvalidConfig},
		{setting.CheckClientMetrics, "interval.ms", "100", nil},
		{setting.CheckClientMetrics, "interval.ms", "3600000", nil},
		{setting.CheckClientMetrics, "interval.ms", "99", kerr.InvalidRequest},
		{setting.CheckClientMetrics, "interval.ms", "3600001", kerr.InvalidRequest},
		{setting.CheckClientMetrics, "interval.ms", "soon", kerr.InvalidConfig},
		{setting.CheckClientMetrics, "metrics", "org.apache.kafka.,other", nil},
		{setting.CheckClientMetrics, "match", "", nil},
		{setting.CheckClientMetrics, "match", "client_id=a.*, client_software_name=librdkafka", nil},
		{setting.CheckClientMetrics, "match", "client_id=", kerr.InvalidConfig},
		{setting.CheckClientMetrics, "match", "client_id=[", kerr.InvalidConfig},
		{setting.CheckClientMetrics, "match", "colour=red", kerr.InvalidConfig},
		{setting.CheckClientMetrics, "match", "client_id=" + strings.Repeat("a", 256), nil},
		{setting.CheckClientMetrics, "match", "client_id=" + strings.Repeat("a{1000}", 3000), kerr.InvalidConfig},
		{setting.CheckClientMetrics, "no.such", "1", kerr.InvalidRequest},
	} {
		err := c.check(c.name, c.value)
		if !errors.Is(err, c.want) {
			t.Errorf("%s=%q: %v, expected %v", c.name, c.value, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s=%q: the error does not name it: %v", c.name, c.value, err)
		}
	}
}
