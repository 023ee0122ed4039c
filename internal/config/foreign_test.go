package config

import (
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// TestForeignTopic: keys and values that a directory of Kafka brought onto a topic are described, have no effect where they are not
// allowed, and never block a change of another key.
func TestForeignTopic(t *testing.T) {
	t.Parallel()
	c := load(t, Input{Flags: []Flag{{"log.retention.ms", "5000", "--set"}}})
	kept := map[string]string{
		"message.format.version": "2.8", "message.downconversion.enable": "false", "message.timestamp.difference.max.ms": "1",
		"max.decompressed.message.bytes": "1000", "remote.copy.lag.ms": "-1", "errors.deadletterqueue.group.enable": "true",
		"from.the.future": "x", "retention.ms": "soon", "segment.bytes": "100", "remote.storage.enable": "true",
	}
	all := c.DescribeTopic(kept)
	for key, text := range kept {
		e := find(all, key)
		if e.Value == nil || *e.Value != text || e.Source != DynamicTopic || e.Sensitive || e.Synonyms[0].Name != key || *e.Synonyms[0].Value != text {
			t.Errorf("%s=%s is described as %+v", key, text, e)
		}
	}
	for i := 1; i < len(all); i++ {
		if all[i-1].Name >= all[i].Name {
			t.Errorf("%s stands before %s", all[i-1].Name, all[i].Name)
		}
	}
	if got := c.Resolve(kept).Log.RetentionAge.Milliseconds(); got != 5000 {
		t.Errorf("with a retention that is no number, records are kept for %d ms, expected the broker's 5000", got)
	}
	if got := c.Resolve(map[string]string{"compression.type": "brotli", "cleanup.policy": "compact,burn", "segment.bytes": "100000"}); got.Compression != batch.CodecProducer || got.Delete || !got.Compact || got.Log.SegmentBytes != 100000 {
		t.Errorf("with texts that mean nothing here the options are %+v", got)
	}
	kept["cleanup.policy"] = "compact"
	if err := c.Validate(kept, []string{"cleanup.policy"}); err != nil {
		t.Errorf("a change of another key is refused: %v", err)
	}
	delete(kept, "from.the.future")
	if err := c.Validate(kept, []string{"from.the.future"}); err != nil {
		t.Errorf("an unknown key cannot be taken away: %v", err)
	}
	for _, changed := range []string{"segment.bytes", "retention.ms"} {
		if err := c.Validate(kept, []string{changed}); err == nil || !strings.Contains(err.Error(), changed) {
			t.Errorf("a change to %s=%s: %v", changed, kept[changed], err)
		}
	}
	if len(c.DescribeTopic(nil)) >= len(topicSettings) || find(c.DescribeTopic(nil), "message.format.version").Name != "" {
		t.Error("what Kafka 4 dropped is listed though the topic does not have it")
	}
}

// TestForeignBroker: the same for the dynamic settings of brokers. What is unknown may be a secret, and is shown without its value.
func TestForeignBroker(t *testing.T) {
	t.Parallel()
	c := load(t, Input{})
	cluster := map[string]string{"log.message.downconversion.enable": "false", "log.segment.bytes": "100", "log.retention.hours": "many"}
	node := map[string]string{"listener.name.tls.ssl.keystore.password": "secret", "ssl.keystore.password": "secret", "log.cleaner.threads": "2"}
	c = c.WithDynamic(cluster, node)
	for key, want := range map[string]Source{
		"log.message.downconversion.enable": DynamicDefaultBroker, "listener.name.tls.ssl.keystore.password": DynamicBroker,
		"ssl.keystore.password": DynamicBroker, "log.cleaner.threads": DynamicBroker, "log.segment.bytes": Default, "log.retention.hours": Default,
	} {
		e := find(c.DescribeBroker(), key)
		if e.Name != key || e.Source != want {
			t.Errorf("%s is described as %+v", key, e)
		}
		if strings.HasSuffix(key, "password") && (!e.Sensitive || e.Value != nil || e.Synonyms[0].Value != nil) {
			t.Errorf("%s shows its value", key)
		}
		kept := false
		for _, syn := range e.Synonyms {
			kept = kept || syn.Name == key && syn.Source != Default
		}
		if !kept {
			t.Errorf("%s: what was set is not among %+v", key, e.Synonyms)
		}
	}
	if got := c.Resolve(nil); got.Log.SegmentBytes != 1<<30 || got.Log.RetentionAge.Hours() != 168 {
		t.Errorf("values that are not allowed have an effect: %+v", got.Log)
	}
	if err := ValidateDynamic(cluster, []string{"log.message.downconversion.enable"}); err != nil {
		t.Errorf("a key without effect is refused: %v", err)
	}
	for _, key := range []string{"ssl.keystore.password", "ssl.client.auth", "principal.builder.class", "listener.name.tls.ssl.keystore.password", "zookeeper.connect"} {
		if err := ValidateDynamic(map[string]string{key: "required"}, []string{key}); err == nil {
			t.Errorf("%s can be set though nothing would come of it", key)
		}
	}
}

// TestRowForm: a row of the text tables that is not one is found when the program starts.
func TestRowForm(t *testing.T) {
	t.Parallel()
	s := row("why", `a.b long,dynamic,hidden "" -1..5 What it is.`)
	if s.Name != "a.b" || s.Type != Long || !s.Dynamic || !s.Hidden || s.Null || s.Default != "" || s.Doc != "What it is." || s.Ignored != "why" {
		t.Errorf("%+v", s)
	}
	if s.Validate("-1") != nil || s.Validate("5") != nil || s.Validate("6") == nil || s.Validate("-2") == nil {
		t.Errorf("limits %s", s.Allowed())
	}
	for _, bad := range []string{"a int 1 any", "a integer 1 any doc.", "a int,always 1 any doc.", "a int 1 x.. doc."} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken", bad)
				}
			}()
			row("why", bad)
		}()
	}
}

// find returns the entry of a name, an empty one if there is none.
func find(entries []Entry, name string) Entry {
	for _, e := range entries {
		if e.Name == name {
			return e
		}
	}
	return Entry{}
}
