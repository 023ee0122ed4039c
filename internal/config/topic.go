package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// Topic is one topic's settings: its overrides over the broker's.
type Topic struct {
	config    *Config
	overrides map[string]string
}

// Topic returns the settings of a topic with these overrides.
func (c *Config) Topic(overrides map[string]string) Topic { return Topic{c, overrides} }

// chain is every value of a topic setting, the one that counts first.
func (t Topic) chain(s *Setting) []Value {
	var all []Value
	if text, ok := t.overrides[s.Name]; ok && s.counts(text) {
		all = append(all, Value{Name: s.Name, Text: text, Source: DynamicTopic, Place: "topic"})
	}
	all = append(all, t.config.given(s.Synonyms)...)
	for _, syn := range s.Synonyms {
		if row := brokerSettings[syn.Name]; !row.Null {
			all = append(all, Value{Name: syn.Name, Text: row.Default, Source: Default, Place: "default"})
		}
	}
	if len(s.Synonyms) == 0 && !s.Null {
		all = append(all, Value{Name: s.Name, Text: s.Default, Source: Default, Place: "default"})
	}
	return all
}

// Value returns a topic setting's value. The name must be in the table.
func (t Topic) Value(name string) Value {
	s := topicSettings[name]
	if s == nil {
		panic(fmt.Sprintf("bug: no topic setting %q", name))
	}
	all := t.chain(s)
	if len(all) == 0 {
		return Value{Name: name, Null: true, Source: Default, Place: "default"}
	}
	v := all[0]
	v.Text = scaled(v, s)
	return v
}

// counts reports whether an override has an effect. A directory of Kafka may hold a text that means nothing here: then the topic has what it
// falls back to. A number counts though it is outside the limits of today: Kafka 3.9 took segment.bytes=100000. So does a list: a
// cleanup.policy of "compact" and a word that is unknown here must not turn into the default, which deletes.
func (s *Setting) counts(text string) bool {
	switch s.Type {
	case Int, Short, Long, Double, List:
		return s.Type.allowed(text) == ""
	default:
		return s.Validate(text) == nil
	}
}

func (t Topic) text(name string) string   { return strings.TrimSpace(t.Value(name).Text) }
func (t Topic) long(name string) int64    { return whole(t.Value(name).Text) }
func (t Topic) bool(name string) bool     { return strings.EqualFold(t.text(name), "true") }
func (t Topic) list(name string) []string { return splitList(t.text(name)) }

// Validate checks the overrides that a topic has after a change of the keys changed: each of these that is still set, and what they mean
// beside the others. Overrides that stay as they were do not matter, so that what an older Kafka left never blocks a change.
func (c *Config) Validate(overrides map[string]string, changed []string) error {
	for _, key := range changed {
		text, set := overrides[key]
		if !set {
			continue
		}
		s := topicSettings[key]
		if s == nil {
			return unknownTopicSetting(key)
		}
		if err := s.Validate(text); err != nil {
			return err
		}
	}
	if !slices.Contains(changed, "min.compaction.lag.ms") && !slices.Contains(changed, "max.compaction.lag.ms") {
		return nil
	}
	t := c.Topic(overrides)
	if low, high := t.long("min.compaction.lag.ms"), t.long("max.compaction.lag.ms"); low > high {
		return fmt.Errorf("min.compaction.lag.ms=%d: must be at most max.compaction.lag.ms, which is %d", low, high)
	}
	return nil
}

func unknownTopicSetting(key string) error {
	for _, s := range TopicSettings() {
		if slices.ContainsFunc(s.Synonyms, func(syn Synonym) bool { return syn.Name == key }) {
			return fmt.Errorf("%s: is a broker's setting; a topic's is %s", key, s.Name)
		}
	}
	if near := Nearest(key, true); near != "" {
		return fmt.Errorf("%s: unknown topic setting; did you mean %s?", key, near)
	}
	return fmt.Errorf("%s: unknown topic setting", key)
}

// Resolve turns validated overrides into a partition's options.
func (c *Config) Resolve(overrides map[string]string) partition.Options {
	t := c.Topic(overrides)
	policy := t.list("cleanup.policy")
	codec := codecNames[t.text("compression.type")]
	return partition.Options{
		Log:              t.logOptions(),
		MaxMessageBytes:  int(t.long("max.message.bytes")),
		LogAppendTime:    t.text("message.timestamp.type") == "LogAppendTime",
		TimestampBefore:  millis(t.long("message.timestamp.before.max.ms")),
		TimestampAfter:   millis(t.long("message.timestamp.after.max.ms")),
		Compression:      codec,
		CompressionLevel: t.level(codec),
		Compact:          slices.Contains(policy, "compact"),
		Delete:           slices.Contains(policy, "delete"),
		Compaction: log.Compaction{
			MinDirtyRatio:   double(t.Value("min.cleanable.dirty.ratio").Text),
			MinLag:          millis(t.long("min.compaction.lag.ms")),
			MaxLag:          millis(t.long("max.compaction.lag.ms")),
			DeleteRetention: millis(t.long("delete.retention.ms")),
		},
		Durability:     durabilities[t.text("durability")],
		FlushMessages:  t.long("flush.messages"),
		FlushAge:       millis(t.long("flush.ms")),
		MinISR:         int(t.long("min.insync.replicas")),
		ProducerExpiry: c.Millis("producer.id.expiration.ms"),
	}
}

func (t Topic) logOptions() log.Options {
	o := log.Options{
		SegmentBytes:   t.long("segment.bytes"),
		SegmentAge:     millis(t.long("segment.ms")),
		SegmentJitter:  millis(t.long("segment.jitter.ms")),
		IndexInterval:  int(t.long("index.interval.bytes")),
		IndexBytesMax:  int(t.long("segment.index.bytes")),
		RetentionBytes: t.long("retention.bytes"),
		RetentionAge:   millis(t.long("retention.ms")),
		Preallocate:    t.bool("preallocate"),
	}
	if slices.Contains(t.list("cleanup.policy"), "compact") { // or what must be compacted by then would still be written to
		o.SegmentAge = min(o.SegmentAge, millis(t.long("max.compaction.lag.ms")))
	}
	if v := t.Value("internal.segment.bytes"); !v.Null {
		o.SegmentBytes = whole(v.Text)
	}
	return o
}

// level is the compression level set for codec, 0 if it has none.
func (t Topic) level(codec batch.Codec) int {
	switch codec {
	case batch.CodecGzip:
		return int(t.long("compression.gzip.level"))
	case batch.CodecLZ4:
		return int(t.long("compression.lz4.level"))
	case batch.CodecZstd:
		return int(t.long("compression.zstd.level"))
	default:
		return 0
	}
}

var codecNames = map[string]batch.Codec{
	"producer": batch.CodecProducer, "uncompressed": batch.CodecNone, "gzip": batch.CodecGzip,
	"snappy": batch.CodecSnappy, "lz4": batch.CodecLZ4, "zstd": batch.CodecZstd,
}

var durabilities = map[string]partition.Durability{"disk": partition.DurabilityDisk, "memory": partition.DurabilityMemory}
