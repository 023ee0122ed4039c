package config

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	c := load(t, Input{})
	most := time.Duration(math.MaxInt64).Truncate(time.Millisecond)
	want := partition.Options{
		Log: log.Options{
			SegmentBytes: 1 << 30, SegmentAge: 168 * time.Hour, IndexInterval: 4096, IndexBytesMax: 10 << 20,
			RetentionBytes: -1, RetentionAge: 168 * time.Hour,
		},
		MaxMessageBytes: 1048588, TimestampBefore: most, TimestampAfter: time.Hour, Compression: batch.CodecProducer,
		Delete: true, Compaction: log.Compaction{MinDirtyRatio: 0.5, MaxLag: most, DeleteRetention: 24 * time.Hour}, Durability: partition.DurabilityDisk, FlushMessages: 1<<63 - 1, FlushAge: most, MinISR: 1,
		ProducerExpiry: 24 * time.Hour,
	}
	if diff := cmp.Diff(want, c.Resolve(nil)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	got := c.Resolve(map[string]string{
		"cleanup.policy": "compact", "compression.type": "zstd", "compression.zstd.level": "7",
		"durability": "memory", "message.timestamp.type": "LogAppendTime", "retention.ms": "-1", "internal.segment.bytes": "500",
	})
	if got.Compression != batch.CodecZstd || got.CompressionLevel != 7 || !got.Compact || got.Delete || got.Log.SegmentBytes != 500 ||
		got.Durability != partition.DurabilityMemory || !got.LogAppendTime || got.Log.RetentionAge >= 0 {
		t.Errorf("overridden: %+v", got)
	}
	got = c.Resolve(map[string]string{
		"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.1", "min.compaction.lag.ms": "5",
		"max.compaction.lag.ms": "3600000", "delete.retention.ms": "7",
	})
	lags := log.Compaction{MinDirtyRatio: 0.1, MinLag: 5 * time.Millisecond, MaxLag: time.Hour, DeleteRetention: 7 * time.Millisecond}
	if got.Compaction != lags || got.Log.SegmentAge != time.Hour || !got.Compact || !got.Delete {
		t.Errorf("compacted: %+v", got)
	}
	if got := c.Resolve(map[string]string{"cleanup.policy": ""}); got.Compact || got.Delete {
		t.Errorf("an empty policy: %+v", got)
	}
}

func TestValidateTogether(t *testing.T) {
	t.Parallel()
	c := load(t, Input{})
	err := c.Validate(map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, []string{"min.compaction.lag.ms"})
	if err == nil || !strings.Contains(err.Error(), "must be at most max.compaction.lag.ms, which is 5") {
		t.Errorf("got %v", err)
	}
}

func TestValidateDynamic(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, text, err string }{
		{"log.retention.ms", "5", ""},
		{"log.retention.ms", "x", "must be a whole number"},
		{"listeners", "PLAINTEXT://:1", "cannot change while the broker runs"},
		{"log.retention.mss", "5", "did you mean log.retention.ms?"},
	} {
		err := ValidateDynamic(map[string]string{tt.key: tt.text}, []string{tt.key})
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s=%s: got %v, want %q", tt.key, tt.text, err, tt.err)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	c := load(t, Input{Flags: []Flag{{"log.retention.hours", "24", "--set"}, {"ssl.key.password", "secret", "--set"}}})
	c = c.WithDynamic(map[string]string{"log.retention.ms": "5"}, nil)
	find := func(all []Entry, name string) Entry {
		for _, e := range all {
			if e.Name == name {
				return e
			}
		}
		t.Fatalf("no %s", name)
		return Entry{}
	}
	text := func(s string) *string { return &s }
	want := Entry{Name: "retention.ms", Value: text("7"), Type: Long, Source: DynamicTopic, Synonyms: []EntrySynonym{
		{"retention.ms", text("7"), DynamicTopic},
		{"log.retention.ms", text("5"), DynamicDefaultBroker},
		{"log.retention.hours", text("24"), StaticBroker},
		{"log.retention.hours", text("168"), Default},
	}, Doc: topicSettings["retention.ms"].Doc}
	if diff := cmp.Diff(want, find(c.DescribeTopic(map[string]string{"retention.ms": "7"}), "retention.ms")); diff != "" {
		t.Errorf("retention.ms (-want +got):\n%s", diff)
	}
	if e := find(c.DescribeBroker(), "ssl.key.password"); e.Value != nil || !e.Sensitive || e.Synonyms[0].Value != nil {
		t.Errorf("a password shows: %+v", e)
	}
	if e := find(c.DescribeBroker(), "log.roll.ms"); e.Value == nil || *e.Value != "604800000" || e.ReadOnly {
		t.Errorf("log.roll.ms: %+v", e)
	}
	if e := find(c.DescribeBroker(), "listeners"); !e.ReadOnly {
		t.Errorf("listeners: %+v", e)
	}
}

func TestListeners(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, set, listen, advertise, notice, err string }{
		{name: "none", listen: "127.0.0.1:9092"},
		{name: "all interfaces", set: "listeners=PLAINTEXT://:9092", listen: ":9092", notice: "open to the network"},
		{name: "loopback", set: "listeners=PLAINTEXT://localhost:0", listen: "localhost:0"},
		{name: "IPv6", set: "listeners=PLAINTEXT://[::1]:9092", listen: "[::1]:9092"},
		{name: "lower case", set: "listeners=plaintext://127.0.0.1:1", listen: "127.0.0.1:1"},
		{
			name: "two", set: "listeners=INSIDE://127.0.0.1:1,PLAINTEXT://127.0.0.1:2;listener.security.protocol.map=INSIDE:PLAINTEXT,PLAINTEXT:PLAINTEXT",
			listen: "127.0.0.1:1 127.0.0.1:2",
		},
		{
			name: "advertised", set: "listeners=PLAINTEXT://127.0.0.1:1;advertised.listeners=PLAINTEXT://h:2", listen: "127.0.0.1:1", advertise: "h:2",
			notice: "set listeners=PLAINTEXT://:1",
		},
		{name: "advertised by the image's variable", set: "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:2", listen: ":2", advertise: "h:2", notice: "open to the network"},
		{name: "an address alone", set: "listeners=127.0.0.1:1", listen: "127.0.0.1:1"},
		{
			name: "an address beside a map without PLAINTEXT", set: "listeners=127.0.0.1:1;listener.security.protocol.map=SSL:SSL,CLIENTS:PLAINTEXT",
			listen: "127.0.0.1:1",
		},
		{
			name: "an address beside the controller's name", listen: "127.0.0.1:1", advertise: "127.0.0.1:2",
			set: "listeners=127.0.0.1:1;KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=C:PLAINTEXT,CLIENTS:PLAINTEXT,I:PLAINTEXT;KAFKA_CONTROLLER_LISTENER_NAMES=C;advertised.listeners=CLIENTS://127.0.0.1:2",
		},
		{name: "an address beside TLS alone", set: "listeners=127.0.0.1:1;listener.security.protocol.map=SSL:SSL", err: "PLAINTEXT has no entry in listener.security.protocol.map"},
		{name: "no address", set: "listeners=there", err: "must be NAME://HOST:PORT"},
		{name: "TLS", set: "listeners=SSL://:9093", err: "listener SSL asks for SSL, which this version does not have"},
		{name: "SASL by map", set: "listeners=X://:9093;listener.security.protocol.map=X:SASL_SSL", err: "asks for SASL_SSL"},
		{name: "no map", set: "listeners=X://:9093", err: "X has no entry in listener.security.protocol.map"},
		{name: "bad map", set: "listener.security.protocol.map=X:TLS", err: `"X:TLS" must be NAME:PROTOCOL`},
		{name: "no port", set: "listeners=PLAINTEXT://h", err: "must be NAME://HOST:PORT"},
		{name: "bad port", set: "listeners=PLAINTEXT://h:65536", err: "between 0 and 65535"},
		{name: "twice", set: "listeners=PLAINTEXT://h:1,PLAINTEXT://h:2", err: "PLAINTEXT is there twice"},
		{name: "advertised nowhere", set: "advertised.listeners=PLAINTEXT://0.0.0.0:9092", err: "is no address a client can connect to"},
		{name: "advertised unknown", set: "advertised.listeners=OTHER://h:9092;listener.security.protocol.map=OTHER:PLAINTEXT,PLAINTEXT:PLAINTEXT", err: "OTHER is not one of listeners"},
		{name: "only the controller's", set: "listeners=C://:1;controller.listener.names=C;listener.security.protocol.map=C:PLAINTEXT", err: "only the controller's"},
	} {
		var in Input
		for item := range strings.SplitSeq(tt.set, ";") {
			key, text, _ := strings.Cut(item, "=")
			if strings.HasPrefix(key, "KAFKA_") {
				in.Environ = append(in.Environ, item)
			} else if key != "" {
				in.Flags = append(in.Flags, Flag{key, text, "--set"})
			}
		}
		c, err := Load(in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		listen, advertise, notices, err := c.Listeners()
		if err != nil || addresses(listen) != tt.listen || addresses(advertise) != tt.advertise {
			t.Errorf("%s: got %q, %q, %v", tt.name, addresses(listen), addresses(advertise), err)
		}
		var all strings.Builder
		for _, n := range notices {
			all.WriteString(n.Text)
		}
		text := all.String()
		if (tt.notice == "") != (text == "") || !strings.Contains(text, tt.notice) {
			t.Errorf("%s: notices %q, want %q", tt.name, text, tt.notice)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		":1": true, "0.0.0.0:1": true, "[::]:1": true, "10.0.0.1:1": true, "a.example:1": true,
		"127.0.0.1:1": false, "127.9.9.9:1": false, "[::1]:1": false, "localhost:1": false, "off": false,
	} {
		if got := Open(addr); got != want {
			t.Errorf("%s: got %v", addr, got)
		}
	}
}

func addresses(all []Listener) string {
	var out []string
	for _, l := range all {
		out = append(out, l.Address())
	}
	return strings.Join(out, " ")
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c := load(t, Input{File: "s.properties", Text: "log.retention.hours=24"})
	got, err := c.Explain("log.retention.ms")
	want := `log.retention.ms (broker setting, long)
  How long a log keeps a segment, in ms; -1: no limit.
  value      86400000   (log.retention.hours=24, s.properties:1)
  instead of 168   (log.retention.hours, default)
  allowed    -1 (no limit) or at least 1
  changes    while the broker runs
  variable   OTTLA_LOG_RETENTION_MS
`
	if err != nil || len(got) != 1 || got[0].String() != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if _, err := c.Explain("retention.mz"); err == nil || !strings.Contains(err.Error(), "did you mean retention.ms?") {
		t.Errorf("got %v", err)
	}
}
