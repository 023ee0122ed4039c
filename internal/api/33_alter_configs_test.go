package api_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

func replacement(typ kmsg.ConfigResourceType, name string, configs ...string) kmsg.AlterConfigsRequestResource {
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = typ, name
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		c.Name, c.Value = configs[i], nullable(configs[i+1])
		r.Configs = append(r.Configs, c)
	}
	return r
}

func replace(n *adminNode, version int16, validateOnly bool, resources ...kmsg.AlterConfigsRequestResource) []kmsg.AlterConfigsResponseResource {
	n.t.Helper()
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources, req.ValidateOnly = resources, validateOnly
	return ask[*kmsg.AlterConfigsResponse](n, version, req).Resources
}

// What is not named goes back to its default.
func TestAlterConfigsVersions(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	for _, v := range versionsOf(t, kmsg.AlterConfigs) {
		for _, want := range []map[string]string{{"flush.ms": "1", "retention.ms": "5"}, {"flush.ms": "2"}, {}} {
			var configs []string
			for key, value := range want {
				configs = append(configs, key, value)
			}
			r := replace(n, v, false, replacement(kmsg.ConfigResourceTypeTopic, "a", configs...))[0]
			wantCode(t, "a", r.ErrorCode, "")
			if r.ResourceName != "a" || r.ResourceType != kmsg.ConfigResourceTypeTopic {
				t.Errorf("v%d: %+v", v, r)
			}
			if got := n.broker.Image().Config(meta.TopicResource("a")); !maps.Equal(got, want) {
				t.Errorf("v%d: configs are %v, expected %v", v, got, want)
			}
		}
	}
}

func TestAlterConfigsRefused(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	const topic, brokers = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	for _, c := range []struct {
		resource kmsg.AlterConfigsRequestResource
		code     string
		says     string
	}{
		{replacement(topic, "none", "flush.ms", "1"), "UNKNOWN_TOPIC_OR_PARTITION", "none"},
		{replacement(topic, "a/b"), "INVALID_TOPIC_EXCEPTION", "a/b"},
		{replacement(topic, ""), "INVALID_REQUEST", "empty"},
		{replacement(topic, "a", "no.such", "1"), "INVALID_CONFIG", "no.such"},
		{replacement(topic, "a", "flush.ms", "x"), "INVALID_CONFIG", "flush.ms=x"},
		{replacement(topic, "a", "flush.ms", "null"), "INVALID_REQUEST", "flush.ms"},
		{replacement(topic, "a", "flush.ms", "1", "flush.ms", "2"), "INVALID_REQUEST", "twice"},
		{replacement(brokers, "9"), "INVALID_REQUEST", "expected 1"},
		{replacement(brokers, "x"), "INVALID_REQUEST", "expected 1"},
		{replacement(brokers, "1", "node.id", "1"), "INVALID_REQUEST", "node.id"},
		{replacement(brokers, "1", "no.such", "1"), "INVALID_CONFIG", "no.such"},
		{replacement(brokers, "1", "log.cleaner.threads", "x"), "INVALID_REQUEST", "log.cleaner.threads=x"},
		{replacement(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "INFO"), "INVALID_REQUEST", "8"},
		{replacement(kmsg.ConfigResourceTypeClientMetrics, ""), "INVALID_REQUEST", "empty"},
		{replacement(kmsg.ConfigResourceTypeGroupConfig, ""), "INVALID_REQUEST", "empty"},
		{replacement(3, "x"), "INVALID_REQUEST", "3"},
	} {
		got := replace(n, 2, false, c.resource, replacement(brokers, ""))
		wantCode(t, c.says, got[0].ErrorCode, c.code)
		if !strings.Contains(textOf(got[0].ErrorMessage), c.says) {
			t.Errorf("%s: message is %q", c.says, textOf(got[0].ErrorMessage))
		}
		wantCode(t, "beside it", got[1].ErrorCode, "")
	}
	for r, configs := range n.broker.Image().Configs() {
		t.Errorf("%v got %v", r, configs)
	}
}

// Kafka 4.4 never answers such a request.
func TestAlterConfigsTwice(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	got := replace(n, 2, false, replacement(kmsg.ConfigResourceTypeTopic, "a", "flush.ms", "1"), replacement(kmsg.ConfigResourceTypeTopic, "a"))
	for _, r := range got {
		wantCode(t, r.ResourceName, r.ErrorCode, "INVALID_REQUEST")
	}
	if len(got) != 2 || len(n.broker.Image().Config(meta.TopicResource("a"))) != 0 {
		t.Errorf("%d results; configs are %v", len(got), n.broker.Image().Config(meta.TopicResource("a")))
	}
}

func TestAlterConfigsValidateOnly(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1, "flush.ms", "7")
	wantCode(t, "a", replace(n, 2, true, replacement(kmsg.ConfigResourceTypeTopic, "a"))[0].ErrorCode, "")
	if got := n.broker.Image().Config(meta.TopicResource("a"))["flush.ms"]; got != "7" {
		t.Errorf("validate_only left flush.ms=%s", got)
	}
}
