package config

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func load(t *testing.T, in Input) *Config {
	t.Helper()
	c, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOrder(t *testing.T) {
	t.Parallel()
	in := Input{
		File: "s.properties", Text: "num.partitions=1\n\nlog.retention.hours = 24\nmax.connections=5\nlisteners=PLAINTEXT://h:1",
		Environ: []string{
			"OTTLA_NUM_PARTITIONS=3", "KAFKA_NUM_PARTITIONS=2", "KAFKA_MAX_CONNECTIONS=6", "OTTLA_MAX_CONNECTIONS=7",
			"KAFKA_MESSAGE_MAX_BYTES=9", "HOME=/x",
		},
		Flags: []Flag{{"num.partitions", "4", "--set"}},
	}
	c := load(t, in)
	for _, want := range []Value{
		{Name: "num.partitions", Text: "4", Source: StaticBroker, Place: "--set"},
		{Name: "max.connections", Text: "7", Source: StaticBroker, Place: "OTTLA_MAX_CONNECTIONS"},
		{Name: "message.max.bytes", Text: "9", Source: StaticBroker, Place: "KAFKA_MESSAGE_MAX_BYTES"},
		{Name: "listeners", Text: "PLAINTEXT://h:1", Source: StaticBroker, Place: "s.properties:5"},
		{Name: "fetch.max.bytes", Text: "57671680", Source: Default, Place: "default"},
	} {
		if got := c.Value(want.Name); got != want {
			t.Errorf("%s: got %+v, want %+v", want.Name, got, want)
		}
	}
	if got := c.Value("log.retention.ms"); got.Text != "86400000" || got.Name != "log.retention.hours" || got.Place != "s.properties:3" {
		t.Errorf("log.retention.ms: %+v", got)
	}
}

func TestDynamicStandsAbove(t *testing.T) {
	t.Parallel()
	c := load(t, Input{Flags: []Flag{{"log.retention.ms", "1", "--set"}}})
	c = c.WithDynamic(map[string]string{"log.retention.ms": "2", "log.segment.bytes": "2097152"}, map[string]string{"log.retention.ms": "3"})
	if got := c.Long("log.retention.ms"); got != 3 {
		t.Errorf("log.retention.ms = %d", got)
	}
	if got := c.Resolve(nil).Log.SegmentBytes; got != 2<<20 {
		t.Errorf("segment.bytes = %d", got)
	}
	if got := c.Resolve(map[string]string{"segment.bytes": "1048576"}).Log.SegmentBytes; got != 1<<20 {
		t.Errorf("overridden segment.bytes = %d", got)
	}
}

func TestFileSyntax(t *testing.T) {
	t.Parallel()
	text := "# comment \\\nnum.partitions=2\r\n! also\n  log.dirs : /a b\nlisteners=PLAINTEXT://a:1,\\\n   SECOND://b:2\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT\nbroker.rack ${env:HOME}\ndelete.topic.enable\t\\u0066alse\nbroker.id=\n"
	c := load(t, Input{File: "f", Text: text})
	for key, want := range map[string]string{
		"num.partitions": "2", "log.dirs": "/a b", "listeners": "PLAINTEXT://a:1,SECOND://b:2",
		"broker.rack": "${env:HOME}", "delete.topic.enable": "false", "broker.id": "",
	} {
		if got := c.String(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if got := c.Value("broker.rack").Place; got != "f:8" {
		t.Errorf("broker.rack is from %s", got)
	}
	if _, err := Load(Input{File: "f", Text: "a=b\nc=\\u00zz\n"}); err == nil || !strings.Contains(err.Error(), "f:2:") {
		t.Errorf("a bad escape: %v", err)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, err string }{
		{"impossible", "num.partitions=0", "num.partitions=0: must be at least 1 (f:1)"},
		{"not a number", "\nnum.partitions=many", "num.partitions=many: must be a whole number of at most 32 bits (f:2)"},
		{"security typo", "ssl.keystore.locatoin=/k", "ssl.keystore.locatoin: unknown security setting (f:1); did you mean ssl.keystore.location?"},
		{"security, like nothing", "security.protocol=SSL", "security.protocol: unknown security setting (f:1); remove it if it is not meant for the broker"},
		{"another", "authoriser.class.name=x", "did you mean authorizer.class.name?"},
		{"and another", "super.user=User:a", "did you mean super.users?"},
		{"in a listener", "listener.name.internal.ssl.keystore.lcation=x", "unknown security setting"},
		{"inter broker", "security.interbroker.protocol=SSL", "did you mean security.inter.broker.protocol?"},
		{"authorizer", "authorizer.class.name=kafka.Acl", "must be unset: this version has no access control lists"},
		{"two directories", "log.dirs=/a,/b", "log.dirs=/a,/b: must be one directory"},
		{"lags", "log.cleaner.min.compaction.lag.ms=9\nlog.cleaner.max.compaction.lag.ms=8", "must be at most log.cleaner.max.compaction.lag.ms (f:1)"},
		{"zero retention", "log.retention.hours=0", "must be -1 (no limit) or at least 1"},
	} {
		_, err := Load(Input{File: "f", Text: tt.text})
		if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", tt.name, err, tt.err)
		}
	}
	// All that is wrong is told at once, one line each.
	_, err := Load(Input{
		File: "f", Text: "num.partitions=0\nbad=\\u00zz\nlisteners=SSL://:1,PLAINTEXT://h,X://:2\nadvertised.listeners=Y://h:1\nlog.dirs=/a,/b\n",
		Environ: []string{"KAFKA_SSL_KEYSTOR_LOCATION=x"}, Flags: []Flag{{"num.network.threads", "0", "--set"}},
	})
	want := strings.Join([]string{
		`f:2: "bad=\\u00zz" is not key=value`,
		"num.partitions=0: must be at least 1 (f:1)",
		"ssl.keystor.location: unknown security setting (KAFKA_SSL_KEYSTOR_LOCATION); did you mean ssl.keystore.location?",
		"num.network.threads=0: must be at least 1 (--set)",
		"log.dirs=/a,/b: must be one directory, since Ottla keeps all its data in one (f:5)",
		"listeners=SSL://:1,PLAINTEXT://h,X://:2: listener SSL asks for SSL, which this version does not have; use PLAINTEXT (f:3)",
		`listeners=SSL://:1,PLAINTEXT://h,X://:2: "PLAINTEXT://h" must be NAME://HOST:PORT (f:3)`,
		"listeners=SSL://:1,PLAINTEXT://h,X://:2: X has no entry in listener.security.protocol.map (f:3)",
		"advertised.listeners=Y://h:1: Y has no entry in listener.security.protocol.map (f:4)",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = Load(Input{Flags: []Flag{{"something.else", "1", "--set"}}})
	if err == nil || err.Error() != "something.else: unknown setting (--set)" {
		t.Errorf("an unknown key of a flag: %v", err)
	}
	_, err = Load(Input{Environ: []string{"KAFKA_SSL_KEYSTOR_LOCATION=x"}})
	if err == nil || !strings.Contains(err.Error(), "(KAFKA_SSL_KEYSTOR_LOCATION)") {
		t.Errorf("a security typo in a variable: %v", err)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	c := load(t, Input{File: "f", Text: strings.Join([]string{
		"num.partition=3", "num.network.threads=3", "zookeeper.foo=1", "ssl.keystore.location=/k",
		"listener.name.internal.scram-sha-256.sasl.jaas.config=x", "something.completely.different=1",
		"num.partitions=1", "num.partitions=2", "confluent.x=1",
	}, "\n"), Environ: []string{"KAFKA_OPTS=-X", "KAFKA_SERVICE_HOST=10.0.0.1", "KAFKA_PORT=tcp://x", "KAFKA_PORT_9092_TCP_ADDR=x"}})
	var got []string
	for _, n := range c.Notices() {
		got = append(got, map[bool]string{true: "warn ", false: "note "}[n.Warn]+n.Text)
	}
	want := []string{
		"warn num.partition: unknown setting, ignored (f:1); did you mean num.partitions?",
		"note num.network.threads (f:2) has no effect: Ottla has no thread pools to size",
		"note zookeeper.foo (f:3) has no effect: Ottla uses no ZooKeeper",
		"warn ssl.keystore.location (f:4) has no effect: this version has no TLS or SASL",
		"warn listener.name.internal.scram-sha-256.sasl.jaas.config (f:5) has no effect: this version has no TLS or SASL",
		"warn something.completely.different: unknown setting, ignored (f:6)",
		"warn num.partitions is set twice, at f:7 and f:8; the last one counts",
		"note confluent.x (f:9) has no effect: it belongs to Confluent's distribution",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestUnlimited: a negative retention is no limit, as in Kafka, and one that is not -1 is told of.
func TestUnlimited(t *testing.T) {
	t.Parallel()
	for text, warns := range map[string]bool{
		"log.retention.hours=-5": true, "log.retention.hours=-1": false, "log.retention.minutes=-2": true, "log.retention.ms=-2": true,
		"log.retention.bytes=-7": true, "log.retention.bytes=-1": false, "log.retention.hours=1": false,
	} {
		c := load(t, Input{File: "f", Text: text})
		name, _, _ := strings.Cut(text, "=")
		warned := slices.Contains(c.Notices(), Notice{true, text + " (f:1) means no limit, as any negative number does in Kafka; write -1 if that is meant"})
		if warned != warns {
			t.Errorf("%s: notices %v", text, c.Notices())
		}
		limit := c.Resolve(nil).Log.RetentionBytes
		if name != "log.retention.bytes" {
			limit = int64(c.Resolve(nil).Log.RetentionAge)
		}
		if warns && limit >= 0 {
			t.Errorf("%s: the limit is %d", text, limit)
		}
	}
}

// TestStockFile loads what Kafka 4's own config/server.properties sets.
func TestStockFile(t *testing.T) {
	t.Parallel()
	c := load(t, Input{File: "server.properties", Text: `
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
`})
	for _, n := range c.Notices() {
		if n.Warn {
			t.Errorf("warns: %s", n.Text)
		}
	}
	listen, advertise, _, err := c.Listeners()
	if err != nil || len(listen) != 1 || listen[0].Address() != ":9092" || len(advertise) != 1 || advertise[0].Address() != "localhost:9092" {
		t.Errorf("listeners %v, advertised %v, %v", listen, advertise, err)
	}
}

// TestEnvRule: what the container image's rule makes of a key, it also undoes, for every key without two separators in a row.
func TestEnvRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-z0-9]+([._-][a-z0-9]+){0,6}`).Draw(t, "key")
		name := EnvName("KAFKA_", key)
		if !strings.HasPrefix(name, "KAFKA_") || name != strings.ToUpper(name) || strings.ContainsAny(name, ".-") {
			t.Fatalf("%s is no name of a variable", name)
		}
		if got := envKey(strings.TrimPrefix(name, "KAFKA_")); got != key {
			t.Fatalf("%s -> %s -> %s", key, name, got)
		}
	})
	for key, want := range map[string]string{"log.dirs": "KAFKA_LOG_DIRS", "abc_def": "KAFKA_ABC__DEF", "a-b.c": "KAFKA_A___B_C"} {
		if got := EnvName("KAFKA_", key); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
	for _, s := range append(Settings(), TopicSettings()...) {
		if s.Name != "zookeeper.clientCnxnSocket" && envKey(EnvName("", s.Name)) != s.Name {
			t.Errorf("%s cannot be set by a variable", s.Name)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("a=b\\\n c\n#x\\\ny: z")
	f.Add("num.partitions=1\rlisteners=\\u0041")
	f.Fuzz(func(_ *testing.T, text string) {
		c, err := Load(Input{File: "f", Text: text})
		if err == nil {
			_, _, _, _ = c.Listeners()
			c.Resolve(nil)
			c.DescribeBroker()
		}
	})
}
