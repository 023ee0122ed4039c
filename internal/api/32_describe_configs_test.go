package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// resource is a resource of a DescribeConfigs request; no keys ask for all.
func resource(typ kmsg.ConfigResourceType, name string, keys ...string) kmsg.DescribeConfigsRequestResource {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = typ, name, keys
	return r
}

func describe(n *adminNode, version int16, resources ...kmsg.DescribeConfigsRequestResource) []kmsg.DescribeConfigsResponseResource {
	n.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources, req.IncludeSynonyms, req.IncludeDocumentation = resources, true, true
	return ask[*kmsg.DescribeConfigsResponse](n, version, req).Resources
}

// settingOf finds one setting of a response.
func settingOf(t *testing.T, r kmsg.DescribeConfigsResponseResource, name string) kmsg.DescribeConfigsResponseResourceConfig {
	t.Helper()
	at := slices.IndexFunc(r.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("%s is not among the settings of %s", name, r.ResourceName)
	}
	return r.Configs[at]
}

// textOf is a value, or "null".
func textOf(value *string) string {
	if value == nil {
		return "null"
	}
	return *value
}

// TestDescribeConfigsTopicVersions: traps.md rule 8, tools show nothing unless topics report synonyms, sources, types and documentation,
// and Kafka Connect does not start unless cleanup.policy is exactly what it set.
func TestDescribeConfigsTopicVersions(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, map[string]string{"log.retention.hours": "100"}, nil)
	n.create("a", 1, "cleanup.policy", " compact , delete ")
	for _, v := range versionsOf(t, kmsg.DescribeConfigs) {
		r := describe(n, v, resource(kmsg.ConfigResourceTypeTopic, "a"))[0]
		wantCode(t, "a", r.ErrorCode, "")
		policy, retention := settingOf(t, r, "cleanup.policy"), settingOf(t, r, "retention.ms")
		if got := textOf(policy.Value); got != "compact,delete" {
			t.Errorf("v%d: cleanup.policy is %q", v, got)
		}
		if got := textOf(retention.Value); got != "360000000" {
			t.Errorf("v%d: retention.ms is %q", v, got)
		}
		if policy.ReadOnly || policy.IsSensitive {
			t.Errorf("v%d: cleanup.policy is %+v", v, policy)
		}
		if v == 0 && (policy.IsDefault || !retention.IsDefault) {
			t.Errorf("v0: is_default of cleanup.policy is %v, of retention.ms %v", policy.IsDefault, retention.IsDefault)
		}
		if v >= 1 {
			if policy.Source != kmsg.ConfigSourceDynamicTopicConfig || retention.Source != kmsg.ConfigSourceStaticBrokerConfig {
				t.Errorf("v%d: sources are %v and %v", v, policy.Source, retention.Source)
			}
			if len(policy.ConfigSynonyms) != 2 || policy.ConfigSynonyms[1].Name != "log.cleanup.policy" || retention.ConfigSynonyms[0].Name != "log.retention.hours" {
				t.Errorf("v%d: synonyms are %+v and %+v", v, policy.ConfigSynonyms, retention.ConfigSynonyms)
			}
		}
		if v >= 3 && (policy.ConfigType != kmsg.ConfigTypeList || retention.ConfigType != kmsg.ConfigTypeLong || textOf(policy.Documentation) == "null") {
			t.Errorf("v%d: %+v", v, policy)
		}
		if !slices.IsSortedFunc(r.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("v%d: settings are not in order of name", v)
		}
	}
}

func TestDescribeConfigsNamesAndFlags(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	all := len(describe(n, 4, resource(kmsg.ConfigResourceTypeTopic, "a"))[0].Configs)
	empty := resource(kmsg.ConfigResourceTypeTopic, "a")
	empty.ConfigNames = []string{}
	if got := len(describe(n, 4, empty)[0].Configs); got != all || all < 20 {
		t.Errorf("an empty list of names gives %d settings, null gives %d", got, all)
	}
	if got := describe(n, 4, resource(kmsg.ConfigResourceTypeTopic, "a", "flush.ms", "no.such"))[0].Configs; len(got) != 1 || got[0].Name != "flush.ms" {
		t.Errorf("asked for flush.ms and no.such: %+v", got)
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = append(req.Resources, resource(kmsg.ConfigResourceTypeTopic, "a", "cleanup.policy"))
	plain := ask[*kmsg.DescribeConfigsResponse](n, 4, req).Resources[0].Configs[0]
	if len(plain.ConfigSynonyms) > 0 || plain.Documentation != nil {
		t.Errorf("nobody asked for synonyms or documentation: %+v", plain)
	}
}

// TestDescribeConfigsBroker: traps.md rule 8, dashboards show nothing unless a broker describes itself.
func TestDescribeConfigsBroker(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, map[string]string{"ssl.keystore.password": "hunter2", "num.partitions": "4"}, nil)
	for _, v := range versionsOf(t, kmsg.DescribeConfigs) {
		r := describe(n, v, resource(kmsg.ConfigResourceTypeBroker, "1"))[0]
		wantCode(t, "broker", r.ErrorCode, "")
		partitions, threads, password := settingOf(t, r, "num.partitions"), settingOf(t, r, "log.cleaner.threads"), settingOf(t, r, "ssl.keystore.password")
		if textOf(partitions.Value) != "4" || !partitions.ReadOnly || partitions.IsDefault && v == 0 {
			t.Errorf("v%d: num.partitions is %+v", v, partitions)
		}
		if id := settingOf(t, r, "node.id"); textOf(id.Value) != "1" || !id.ReadOnly {
			t.Errorf("v%d: node.id is %+v", v, id)
		}
		if textOf(threads.Value) != "1" || threads.ReadOnly || !threads.IsDefault && v == 0 {
			t.Errorf("v%d: log.cleaner.threads is %+v", v, threads)
		}
		if password.Value != nil || !password.IsSensitive {
			t.Errorf("v%d: a password is shown: %+v", v, password)
		}
		for _, s := range password.ConfigSynonyms {
			if s.Value != nil {
				t.Errorf("v%d: a password is shown by its synonym %s", v, s.Name)
			}
		}
	}
}

func TestDescribeConfigsBrokerDynamic(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	cluster := resource(kmsg.ConfigResourceTypeBroker, "")
	if got := describe(n, 4, cluster)[0]; got.ErrorCode != 0 || len(got.Configs) != 0 {
		t.Errorf("before: %+v", got)
	}
	wantCode(t, "set for all", alterOne(n, changeOf(kmsg.ConfigResourceTypeBroker, "", "log.retention.ms", "=86400000", "log.cleaner.threads", "=2")), "")
	wantCode(t, "set for one", alterOne(n, changeOf(kmsg.ConfigResourceTypeBroker, "1", "log.cleaner.threads", "=3")), "")
	got := describe(n, 4, cluster)[0]
	if len(got.Configs) != 2 || textOf(got.Configs[0].Value) != "2" || got.Configs[0].Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig || len(got.Configs[0].ConfigSynonyms) != 1 {
		t.Errorf("all brokers: %+v", got.Configs)
	}
	threads := settingOf(t, describe(n, 4, resource(kmsg.ConfigResourceTypeBroker, "1"))[0], "log.cleaner.threads")
	if textOf(threads.Value) != "3" || threads.Source != kmsg.ConfigSourceDynamicBrokerConfig || len(threads.ConfigSynonyms) != 3 {
		t.Errorf("this broker: %+v", threads)
	}
	n.create("a", 1)
	retention := settingOf(t, describe(n, 4, resource(kmsg.ConfigResourceTypeTopic, "a"))[0], "retention.ms")
	if textOf(retention.Value) != "86400000" || retention.Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig {
		t.Errorf("a topic takes what was set for all brokers: %+v", retention)
	}
}

func TestDescribeConfigsGroupAndMetricsAndLoggers(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, map[string]string{"group.consumer.session.timeout.ms": "50000"}, nil)
	wantCode(t, "group", alterOne(n, changeOf(kmsg.ConfigResourceTypeGroupConfig, "g", "consumer.heartbeat.interval.ms", "=6000")), "")
	wantCode(t, "metrics", alterOne(n, changeOf(kmsg.ConfigResourceTypeClientMetrics, "m", "metrics", "=org.apache.kafka.producer.")), "")
	got := describe(n, 4, resource(kmsg.ConfigResourceTypeGroupConfig, "g"), resource(kmsg.ConfigResourceTypeClientMetrics, "m"), resource(kmsg.ConfigResourceTypeBrokerLogger, "1"))
	for _, c := range []struct {
		in           int
		name, value  string
		source       kmsg.ConfigSource
		typ          kmsg.ConfigType
		firstSynonym string
	}{
		{0, "consumer.heartbeat.interval.ms", "6000", kmsg.ConfigSourceGroupConfig, kmsg.ConfigTypeInt, "consumer.heartbeat.interval.ms"},
		{0, "consumer.session.timeout.ms", "50000", kmsg.ConfigSourceStaticBrokerConfig, kmsg.ConfigTypeInt, "group.consumer.session.timeout.ms"},
		{0, "share.isolation.level", "read_uncommitted", kmsg.ConfigSourceDefaultConfig, kmsg.ConfigTypeString, "share.isolation.level"},
		{1, "interval.ms", "300000", kmsg.ConfigSourceDefaultConfig, kmsg.ConfigTypeInt, ""},
		{1, "metrics", "org.apache.kafka.producer.", kmsg.ConfigSourceClientMetricsConfig, kmsg.ConfigTypeList, "metrics"},
		{2, "root", "INFO", kmsg.ConfigSourceDynamicBrokerLoggerConfig, kmsg.ConfigTypeUnknown, ""},
	} {
		s := settingOf(t, got[c.in], c.name)
		first := ""
		if len(s.ConfigSynonyms) > 0 {
			first = s.ConfigSynonyms[0].Name
		}
		if textOf(s.Value) != c.value || s.Source != c.source || s.ConfigType != c.typ || first != c.firstSynonym {
			t.Errorf("%s is %+v, expected %+v", c.name, s, c)
		}
	}
}

func TestDescribeConfigsRefused(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	for _, c := range []struct {
		typ  kmsg.ConfigResourceType
		name string
		code string
		says string
	}{
		{kmsg.ConfigResourceTypeTopic, "none", "UNKNOWN_TOPIC_OR_PARTITION", "none"},
		{kmsg.ConfigResourceTypeTopic, "a/b", "INVALID_TOPIC_EXCEPTION", "a/b"},
		{kmsg.ConfigResourceTypeTopic, "", "INVALID_TOPIC_EXCEPTION", "empty"},
		{kmsg.ConfigResourceTypeBroker, "9", "INVALID_REQUEST", "expected 1"},
		{kmsg.ConfigResourceTypeBroker, "x", "INVALID_REQUEST", "expected 1"},
		{kmsg.ConfigResourceTypeBrokerLogger, "9", "INVALID_REQUEST", "expected 1"},
		{kmsg.ConfigResourceTypeBrokerLogger, "", "INVALID_REQUEST", "expected 1"},
		{kmsg.ConfigResourceTypeClientMetrics, "", "INVALID_REQUEST", "empty"},
		{kmsg.ConfigResourceTypeGroupConfig, "", "INVALID_REQUEST", "empty"},
		{3, "x", "INVALID_REQUEST", "3"},
		{0, "", "INVALID_REQUEST", "0"},
	} {
		got := describe(n, 4, resource(c.typ, c.name), resource(kmsg.ConfigResourceTypeBroker, "1"))
		wantCode(t, c.name, got[0].ErrorCode, c.code)
		if got[0].ResourceType != c.typ || got[0].ResourceName != c.name || len(got[0].Configs) > 0 || !strings.Contains(textOf(got[0].ErrorMessage), c.says) {
			t.Errorf("%v %q: %+v", c.typ, c.name, got[0])
		}
		wantCode(t, "beside it", got[1].ErrorCode, "")
	}
}

// A small request must not have a response of any size.
func TestDescribeConfigsMany(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	got := describe(n, 4, resource(kmsg.ConfigResourceTypeBroker, "1"), resource(kmsg.ConfigResourceTypeBroker, "1"))
	wantCode(t, "once", got[0].ErrorCode, "")
	wantCode(t, "twice", got[1].ErrorCode, "INVALID_REQUEST")
	if len(got[0].Configs) == 0 || len(got[1].Configs) > 0 {
		t.Errorf("%d and %d settings", len(got[0].Configs), len(got[1].Configs))
	}
	var groups []kmsg.DescribeConfigsRequestResource
	for i := range 1001 {
		groups = append(groups, resource(kmsg.ConfigResourceTypeGroupConfig, fmt.Sprint("g", i), "share.isolation.level"))
	}
	got = describe(n, 4, groups...)
	wantCode(t, "the 1000th group", got[999].ErrorCode, "")
	wantCode(t, "the 1001st group", got[1000].ErrorCode, "POLICY_VIOLATION")
}
