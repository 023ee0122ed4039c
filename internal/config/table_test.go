package config

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference/config.md anew")

func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, part := range [][]Setting{
		ownSettings, nodeSettings, networkSettings, logSettings, replicationSettings,
		producerSettings, groupSettings, securitySettings(), idleSettings(), laterSettings(),
	} {
		for _, s := range part {
			if seen[s.Name] {
				t.Errorf("%s has two rows", s.Name)
			}
			seen[s.Name] = true
		}
	}
	for _, s := range append(Settings(), TopicSettings()...) {
		if !s.Null {
			if err := s.Validate(s.Default); err != nil {
				t.Errorf("a default is not allowed: %v", err)
			}
		}
		if s.Null && s.Default != "" {
			t.Errorf("%s has a default and has none", s.Name)
		}
		if !strings.HasSuffix(s.Doc, ".") {
			t.Errorf("%s: doc %q is no sentence", s.Name, s.Doc)
		}
		for _, syn := range s.Synonyms {
			if brokerSettings[syn.Name] == nil {
				t.Errorf("%s falls back to %s, which is not there", s.Name, syn.Name)
			}
		}
	}
}

// TestTopicDefaultsAgree checks that a topic's default is what its broker settings give.
func TestTopicDefaultsAgree(t *testing.T) {
	t.Parallel()
	c, err := Load(Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range TopicSettings() {
		v := c.Topic(nil).Value(s.Name)
		if v.Null != s.Null || v.Text != s.Default || v.Source != Default {
			t.Errorf("%s: the table says %q, the broker's settings %q (%s)", s.Name, s.Default, v.Text, v.Name)
		}
	}
}

func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	const path = "../../docs/reference/config.md"
	want := Markdown()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the table says: go test ./internal/config -update (%v)", path, err)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, text, err string }{
		{"cleanup.policy", "compact,delete", ""},
		{"cleanup.policy", "", ""},
		{"cleanup.policy", "compact, delete", ""},
		{"cleanup.policy", "compact,compact", "must be a list of compact, delete, or empty"},
		{"cleanup.policy", "compact,", "without empty items"},
		{"cleanup.policy", "Compact", "must be a list"},
		{"compression.type", "none", "must be one of uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.gzip.level", "-1", ""},
		{"compression.gzip.level", "0", "must be -1 or between 1 and 9"},
		{"compression.zstd.level", "-131073", "between -131072 and 22"},
		{"retention.ms", "-1", ""},
		{"retention.ms", "-2", "retention.ms=-2: must be at least -1"},
		{"retention.ms", "1e3", "whole number"},
		{"retention.ms", "9223372036854775808", "at most 64 bits"},
		{"segment.bytes", "2147483648", "at most 32 bits"},
		{"segment.bytes", "1048575", "at least 1048576"},
		{"min.cleanable.dirty.ratio", "1.1", "between 0 and 1"},
		{"min.cleanable.dirty.ratio", "NaN", "between 0 and 1"},
		{"preallocate", "TRUE", ""},
		{"preallocate", "yes", "true or false"},
		{"durability", "memory", ""},
		{"durability", "ram", "one of disk, memory"},
		{"remote.storage.enable", "true", "must be one of false"},
		{"leader.replication.throttled.replicas", "0:1,1:2", ""},
		{"leader.replication.throttled.replicas", "0", "partition:broker"},
		{"log.retention.ms", "600000", "is a broker's setting; a topic's is retention.ms"},
		{"retention.msx", "1", "did you mean retention.ms?"},
		{"whatever.else.there.is", "1", "unknown topic setting"},
	} {
		c, _ := Load(Input{})
		err := c.Validate(map[string]string{tt.key: tt.text}, []string{tt.key})
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s=%s: got %v, want %q", tt.key, tt.text, err, tt.err)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"listener", "listeners", 1}, {"lsiteners", "listeners", 1}, {"kitten", "sitting", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
