package api_test

import (
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/configapi"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// changeOf is a resource of an IncrementalAlterConfigs request. Changes are key, operation: "=v" sets, "-" deletes, "+v" appends, "~v"
// subtracts, "?" is an operation that nobody knows; the value "null" is null.
func changeOf(typ kmsg.ConfigResourceType, name string, changes ...string) kmsg.IncrementalAlterConfigsRequestResource {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = typ, name
	for i := 0; i+1 < len(changes); i += 2 {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name = changes[i]
		c.Op = kmsg.IncrementalAlterConfigOp(strings.IndexByte("=-+~?", changes[i+1][0]))
		if c.Op != kmsg.IncrementalAlterConfigOpDelete {
			c.Value = nullable(changes[i+1][1:])
		}
		r.Configs = append(r.Configs, c)
	}
	return r
}

func alter(n *adminNode, version int16, validateOnly bool, resources ...kmsg.IncrementalAlterConfigsRequestResource) []kmsg.IncrementalAlterConfigsResponseResource {
	n.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources, req.ValidateOnly = resources, validateOnly
	return ask[*kmsg.IncrementalAlterConfigsResponse](n, version, req).Resources
}

// alterOne is the code that one resource's changes got.
func alterOne(n *adminNode, r kmsg.IncrementalAlterConfigsRequestResource) int16 {
	n.t.Helper()
	return alter(n, 1, false, r)[0].ErrorCode
}

func TestIncrementalAlterConfigsVersions(t *testing.T) {
	t.Parallel()
	for _, v := range versionsOf(t, kmsg.IncrementalAlterConfigs) {
		n := newAdminNode(t, nil, nil)
		n.create("a", 1, "flush.ms", "7")
		for _, step := range []struct {
			changes []string
			want    map[string]string
		}{
			{[]string{"retention.ms", "=5000", "cleanup.policy", "+compact"}, map[string]string{"flush.ms": "7", "retention.ms": "5000", "cleanup.policy": "delete,compact"}},
			{[]string{"cleanup.policy", "+compact"}, map[string]string{"flush.ms": "7", "retention.ms": "5000", "cleanup.policy": "delete,compact"}},
			{[]string{"cleanup.policy", "~delete"}, map[string]string{"flush.ms": "7", "retention.ms": "5000", "cleanup.policy": "compact"}},
			{[]string{"cleanup.policy", "-", "retention.ms", "-", "no.such", "-"}, map[string]string{"flush.ms": "7"}},
			{nil, map[string]string{"flush.ms": "7"}},
		} {
			r := alter(n, v, false, changeOf(kmsg.ConfigResourceTypeTopic, "a", step.changes...))[0]
			wantCode(t, "a", r.ErrorCode, "")
			if r.ResourceName != "a" || r.ResourceType != kmsg.ConfigResourceTypeTopic || r.ErrorMessage != nil {
				t.Errorf("v%d: %+v", v, r)
			}
			if got := n.broker.Image().Config(meta.TopicResource("a")); !maps.Equal(got, step.want) {
				t.Errorf("v%d: after %v the configs are %v, expected %v", v, step.changes, got, step.want)
			}
		}
	}
}

// refusedChange is a change that is refused, with a part of what is said.
type refusedChange struct {
	resource kmsg.IncrementalAlterConfigsRequestResource
	code     string
	says     string
}

func refusedChanges() []refusedChange {
	const (
		topic   = kmsg.ConfigResourceTypeTopic
		brokers = kmsg.ConfigResourceTypeBroker
		loggers = kmsg.ConfigResourceTypeBrokerLogger
		metrics = kmsg.ConfigResourceTypeClientMetrics
		groups  = kmsg.ConfigResourceTypeGroupConfig
	)
	return []refusedChange{
		{changeOf(topic, "none", "flush.ms", "=1"), "UNKNOWN_TOPIC_OR_PARTITION", "none"},
		{changeOf(topic, "a/b", "flush.ms", "=1"), "INVALID_TOPIC_EXCEPTION", "a/b"},
		{changeOf(topic, "", "flush.ms", "=1"), "INVALID_REQUEST", "empty"},
		{changeOf(topic, "a", "no.such", "=1"), "INVALID_CONFIG", "no.such"},
		{changeOf(topic, "a", "flush.ms", "=x"), "INVALID_CONFIG", "flush.ms=x"},
		{changeOf(topic, "a", "flush.ms", "+1"), "INVALID_CONFIG", "flush.ms"},
		{changeOf(topic, "a", "no.such", "+1"), "INVALID_CONFIG", "no.such"},
		{changeOf(topic, "a", "flush.ms", "?1"), "INVALID_REQUEST", "4"},
		{changeOf(topic, "a", "flush.ms", "=null", "retention.ms", "=null"), "INVALID_REQUEST", "flush.ms, retention.ms"},
		{changeOf(topic, "a", "flush.ms", "=1", "flush.ms", "=2"), "INVALID_REQUEST", "twice"},
		{changeOf(brokers, "9", "log.cleaner.threads", "=1"), "INVALID_REQUEST", "expected 1"},
		{changeOf(brokers, "x", "log.cleaner.threads", "=1"), "INVALID_REQUEST", "expected 1"},
		{changeOf(brokers, "1", "node.id", "=2"), "INVALID_REQUEST", "node.id"},
		{changeOf(brokers, "", "num.partitions", "=2"), "INVALID_REQUEST", "num.partitions"},
		{changeOf(brokers, "1", "no.such", "=2"), "INVALID_CONFIG", "no.such"},
		{changeOf(brokers, "1", "log.cleaner.threads", "=x"), "INVALID_REQUEST", "log.cleaner.threads=x"},
		{changeOf(brokers, "1", "log.retention.ms", "=0"), "INVALID_REQUEST", "log.retention.ms=0"},
		{changeOf(brokers, "1", "log.retention.ms", "+1"), "INVALID_CONFIG", "log.retention.ms"},
		{changeOf(brokers, "1", "log.retention.ms", "?1"), "INVALID_REQUEST", "log.retention.ms"},
		{changeOf(metrics, "", "interval.ms", "=1000"), "INVALID_REQUEST", "empty"},
		{changeOf(metrics, "m", "no.such", "=1"), "INVALID_REQUEST", "no.such"},
		{changeOf(metrics, "m", "interval.ms", "=1"), "INVALID_REQUEST", "100"},
		{changeOf(metrics, "m", "interval.ms", "=x"), "INVALID_CONFIG", "interval.ms"},
		{changeOf(metrics, "m", "match", "=client_id=["), "INVALID_CONFIG", "client_id=["},
		{changeOf(metrics, "m", "match", "=colour=red"), "INVALID_CONFIG", "colour=red"},
		{changeOf(metrics, "m", "metrics", "+a"), "INVALID_CONFIG", "metrics"},
		{changeOf(groups, "", "consumer.session.timeout.ms", "=1"), "INVALID_REQUEST", "empty"},
		{changeOf(groups, "g", "no.such", "=1"), "INVALID_CONFIG", "no.such"},
		{changeOf(groups, "g", "consumer.session.timeout.ms", "=x"), "INVALID_CONFIG", "consumer.session.timeout.ms"},
		{changeOf(groups, "g", "share.renew.acknowledge.enable", "=x"), "INVALID_CONFIG", "true or false"},
		{changeOf(groups, "g", "consumer.session.timeout.ms", "+1"), "INVALID_CONFIG", "consumer.session.timeout.ms"},
		{changeOf(loggers, "1", "kafka", "=DEBUG"), "INVALID_CONFIG", "kafka"},
		{changeOf(loggers, "1", "root", "=LOUD"), "INVALID_CONFIG", "LOUD"},
		{changeOf(loggers, "1", "root", "-"), "INVALID_REQUEST", "root"},
		{changeOf(loggers, "1", "root", "+DEBUG"), "INVALID_REQUEST", "append"},
		{changeOf(loggers, "1", "root", "?DEBUG"), "INVALID_REQUEST", "4"},
		{changeOf(loggers, "1", "root", "=null"), "INVALID_REQUEST", "root"},
		{changeOf(loggers, "9", "root", "=DEBUG"), "INVALID_REQUEST", "expected 1"},
		{changeOf(loggers, "", "root", "=DEBUG"), "INVALID_REQUEST", "expected 1"},
		{changeOf(3, "x", "a", "=1"), "INVALID_REQUEST", "3"},
	}
}

func TestIncrementalAlterConfigsRefused(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	n.create("beside", 1)
	for _, c := range refusedChanges() {
		for _, validateOnly := range []bool{false, true} {
			got := alter(n, 1, validateOnly, c.resource, changeOf(kmsg.ConfigResourceTypeTopic, "beside", "flush.ms", "=1"))
			what := c.resource.ResourceName + " " + c.says
			wantCode(t, what, got[0].ErrorCode, c.code)
			if !strings.Contains(textOf(got[0].ErrorMessage), c.says) {
				t.Errorf("%s: message is %q", what, textOf(got[0].ErrorMessage))
			}
			wantCode(t, "beside "+what, got[1].ErrorCode, "")
		}
	}
	for r, configs := range n.broker.Image().Configs() {
		if r != meta.TopicResource("beside") {
			t.Errorf("%v got %v", r, configs)
		}
	}
	if got := n.level.Level(); got != slog.LevelInfo {
		t.Errorf("the level is %v", got)
	}
}

// bring gives a resource configs that no handler has judged, as a directory of Kafka does.
func (n *adminNode) bring(r meta.Resource, configs map[string]string) {
	n.t.Helper()
	changes := meta.ResourceChanges{Resource: r}
	for key, text := range configs {
		changes.Changes = append(changes.Changes, meta.ConfigChange{Name: key, Value: &text})
	}
	n.foreign = true
	results, err := n.broker.AlterConfigs(n.t.Context(), []meta.ResourceChanges{changes}, false)
	n.foreign = false
	if err != nil || results[0].Err != nil {
		n.t.Fatalf("%v: %v %v", r, err, results)
	}
}

// TestForeignConfigs: what a directory of Kafka brought onto a resource never blocks a change of another key, is described, may be sent again as
// it is, and can be deleted.
func TestForeignConfigs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ     kmsg.ConfigResourceType
		name    string
		kept    map[string]string
		other   string // a change of another key
		refused string // a key that may not have another value
	}{
		{kmsg.ConfigResourceTypeTopic, "a", map[string]string{"from.the.future": "1", "segment.bytes": "14", "message.format.version": "2.8"}, "flush.ms", "from.the.future"},
		{kmsg.ConfigResourceTypeBroker, "1", map[string]string{"from.the.future": "1", "log.segment.bytes": "14", "log.message.downconversion.enable": "false"}, "log.cleaner.threads", "from.the.future"},
		{kmsg.ConfigResourceTypeBroker, "", map[string]string{"ssl.keystore.location": "/k", "num.partitions": "0"}, "log.cleaner.threads", "ssl.keystore.location"},
		{kmsg.ConfigResourceTypeGroupConfig, "g", map[string]string{"from.the.future": "1", "consumer.session.timeout.ms": "1", "streams.num.warmup.replicas": "3"}, "errors.deadletterqueue.topic.name", "consumer.session.timeout.ms"},
		{kmsg.ConfigResourceTypeClientMetrics, "m", map[string]string{"from.the.future": "1", "match": "colour=red"}, "interval.ms", "match"},
	} {
		n := newAdminNode(t, nil, nil)
		n.create("a", 1)
		r := meta.Resource{Type: int8(c.typ), Name: c.name}
		what := c.typ.String() + " " + c.name
		n.bring(r, c.kept)
		wantCode(t, what+": another key", alterOne(n, changeOf(c.typ, c.name, c.other, "=100000")), "")
		described := describe(n, 4, resource(c.typ, c.name))[0]
		again := []string{c.other, "=200000"}
		for key, text := range c.kept {
			e := configNamed(described, key)
			if e == nil || !e.IsSensitive && textOf(e.Value) != text && e.Source == kmsg.ConfigSourceDynamicTopicConfig {
				t.Errorf("%s: %s is described as %+v", what, key, e)
			}
			again = append(again, key, "="+text)
		}
		wantCode(t, what+": all that is there", alterOne(n, changeOf(c.typ, c.name, again...)), "")
		if got := n.broker.Image().Config(r)[c.other]; got != "200000" {
			t.Errorf("%s: %s is %q", what, c.other, got)
		}
		if code := alterOne(n, changeOf(c.typ, c.name, c.refused, "=another")); code == 0 {
			t.Errorf("%s: %s may have any value", what, c.refused)
		}
		for key := range c.kept {
			wantCode(t, what+": delete "+key, alterOne(n, changeOf(c.typ, c.name, key, "-")), "")
		}
		if got := n.broker.Image().Config(r); len(got) != 1 {
			t.Errorf("%s: left are %v", what, got)
		}
	}
}

func configNamed(r kmsg.DescribeConfigsResponseResource, name string) *kmsg.DescribeConfigsResponseResourceConfig {
	for i := range r.Configs {
		if r.Configs[i].Name == name {
			return &r.Configs[i]
		}
	}
	return nil
}

// TestConfigsWithoutEffect: Kafka's settings that say nothing here can be set and are kept and described; what only a restart changes in Kafka
// is read-only, and what would protect the broker is refused.
func TestConfigsWithoutEffect(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1, "message.format.version", "2.8", "max.decompressed.message.bytes", "1000", "remote.copy.lag.ms", "5")
	for _, c := range []struct {
		typ              kmsg.ConfigResourceType
		name, key, value string
		code             string
	}{
		{kmsg.ConfigResourceTypeTopic, "a", "errors.deadletterqueue.group.enable", "true", ""},
		{kmsg.ConfigResourceTypeTopic, "a", "message.downconversion.enable", "false", ""},
		{kmsg.ConfigResourceTypeTopic, "a", "message.timestamp.difference.max.ms", "7", ""},
		{kmsg.ConfigResourceTypeTopic, "a", "max.decompressed.message.bytes", "0", "INVALID_CONFIG"},
		{kmsg.ConfigResourceTypeTopic, "a", "message.format.version", "new", "INVALID_CONFIG"},
		{kmsg.ConfigResourceTypeBroker, "1", "num.io.threads", "4", ""},
		{kmsg.ConfigResourceTypeBroker, "1", "log.message.downconversion.enable", "false", ""},
		{kmsg.ConfigResourceTypeBroker, "1", "max.connections.per.ip.overrides", "127.0.0.1:7", ""},
		{kmsg.ConfigResourceTypeBroker, "", "remote.log.reader.threads", "3", ""},
		{kmsg.ConfigResourceTypeBroker, "", "leader.replication.throttled.rate", "1000", ""},
		{kmsg.ConfigResourceTypeBroker, "", "metric.reporters", "a.B", ""},
		{kmsg.ConfigResourceTypeBroker, "", "num.io.threads", "0", "INVALID_REQUEST"},
		{kmsg.ConfigResourceTypeBroker, "1", "zookeeper.connect", "z:1", "INVALID_REQUEST"},
		{kmsg.ConfigResourceTypeBroker, "1", "controller.quorum.voters", "1@h:1", "INVALID_REQUEST"},
		{kmsg.ConfigResourceTypeBroker, "1", "ssl.client.auth", "required", "INVALID_REQUEST"},
		{kmsg.ConfigResourceTypeBroker, "", "sasl.enabled.mechanisms", "PLAIN", "INVALID_REQUEST"},
		{kmsg.ConfigResourceTypeBroker, "1", "listener.name.tls.ssl.keystore.location", "/k", "INVALID_CONFIG"},
		{kmsg.ConfigResourceTypeGroupConfig, "g", "streams.num.warmup.replicas", "3", ""},
		{kmsg.ConfigResourceTypeGroupConfig, "g", "share.auto.offset.reset", "by_duration:PT1H", ""},
		{kmsg.ConfigResourceTypeGroupConfig, "g", "share.isolation.level", "none", "INVALID_CONFIG"},
	} {
		what := c.name + " " + c.key
		wantCode(t, what, alterOne(n, changeOf(c.typ, c.name, c.key, "="+c.value)), c.code)
		if c.code != "" {
			continue
		}
		e := configNamed(describe(n, 4, resource(c.typ, c.name))[0], c.key)
		if e == nil || textOf(e.Value) != c.value || e.Source == kmsg.ConfigSourceDefaultConfig {
			t.Errorf("%s is described as %+v", what, e)
		}
	}
	if e := configNamed(describe(n, 4, resource(kmsg.ConfigResourceTypeTopic, "a"))[0], "message.format.version"); e == nil || textOf(e.Value) != "2.8" {
		t.Errorf("message.format.version is described as %+v", e)
	}
}

// A resource that is named twice is refused both times, and not changed.
func TestIncrementalAlterConfigsTwice(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	got := alter(n, 1, false, changeOf(kmsg.ConfigResourceTypeTopic, "a", "flush.ms", "=1"), changeOf(kmsg.ConfigResourceTypeTopic, "a", "flush.messages", "=1"),
		changeOf(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "=DEBUG"), changeOf(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "=WARN"))
	for _, r := range got {
		wantCode(t, r.ResourceName, r.ErrorCode, "INVALID_REQUEST")
	}
	if len(got) != 4 || len(n.broker.Image().Config(meta.TopicResource("a"))) != 0 || n.level.Level() != slog.LevelInfo {
		t.Errorf("%d results; something was changed", len(got))
	}
}

func TestIncrementalAlterConfigsValidateOnly(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 1)
	got := alter(n, 1, true, changeOf(kmsg.ConfigResourceTypeTopic, "a", "flush.ms", "=1"), changeOf(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "=DEBUG"))
	wantCode(t, "topic", got[0].ErrorCode, "")
	wantCode(t, "logger", got[1].ErrorCode, "")
	if len(n.broker.Image().Config(meta.TopicResource("a"))) != 0 || n.level.Level() != slog.LevelInfo {
		t.Error("validate_only changed something")
	}
}

func TestIncrementalAlterConfigsLoggers(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	for name, level := range map[string]slog.Level{
		"TRACE": slog.LevelDebug - 4, "debug": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": slog.LevelError + 4,
	} {
		wantCode(t, name, alterOne(n, changeOf(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "="+name)), "")
		if n.level.Level() != level {
			t.Errorf("%s is %v, expected %v", name, n.level.Level(), level)
		}
		if got := describe(n, 4, resource(kmsg.ConfigResourceTypeBrokerLogger, "1"))[0].Configs[0]; textOf(got.Value) != strings.ToUpper(name) {
			t.Errorf("%s is shown as %s", name, textOf(got.Value))
		}
	}
	none := newAdminNode(t, nil, func(_ *api.Options, c *configapi.Options) { c.LogLevel = nil })
	wantCode(t, "no logger", alterOne(none, changeOf(kmsg.ConfigResourceTypeBrokerLogger, "1", "root", "=INFO")), "INVALID_CONFIG")
	if got := describe(none, 4, resource(kmsg.ConfigResourceTypeBrokerLogger, "1"))[0]; got.ErrorCode != 0 || len(got.Configs) > 0 {
		t.Errorf("no logger: %+v", got)
	}
}

// Without a table of settings broker configs are the metadata machine's to judge.
func TestIncrementalAlterConfigsWithoutTable(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, func(o *api.Options, c *configapi.Options) { o.Configs, c.Configs = nil, nil })
	wantCode(t, "fine", alterOne(n, changeOf(kmsg.ConfigResourceTypeBroker, "1", "log.cleaner.threads", "=2")), "")
	wantCode(t, "read-only", alterOne(n, changeOf(kmsg.ConfigResourceTypeBroker, "1", "node.id", "=2")), "INVALID_REQUEST")
	for _, name := range []string{"", "1"} {
		if got := describe(n, 4, resource(kmsg.ConfigResourceTypeBroker, name))[0]; got.ErrorCode != 0 || len(got.Configs) > 0 {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
