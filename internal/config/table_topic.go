package config

// topicRows are the settings of a topic, with Kafka's defaults (LogConfig and TopicConfig) and what they fall back to.
var topicRows = []Setting{
	{
		Name: "cleanup.policy", Type: List, Default: "delete", Check: listOf(true, "compact", "delete"), Synonyms: same("log.cleanup.policy"),
		Doc: "What becomes of old segments: deleted, compacted, both, or neither (empty).",
	},
	{
		Name: "compression.type", Type: String, Default: "producer", Check: codecs, Synonyms: same("compression.type"),
		Doc: "How the log is compressed; producer keeps what came.",
	},
	{
		Name: "compression.gzip.level", Type: Int, Default: "-1", Check: unlimitedOr(between(1, 9)), Synonyms: same("compression.gzip.level"),
		Doc: "The level where compression.type is gzip.",
	},
	{
		Name: "compression.lz4.level", Type: Int, Default: "9", Check: between(1, 17), Synonyms: same("compression.lz4.level"),
		Doc: "The level where compression.type is lz4.",
	},
	{
		Name: "compression.zstd.level", Type: Int, Default: "3", Check: between(-131072, 22), Synonyms: same("compression.zstd.level"),
		Doc: "The level where compression.type is zstd.",
	},
	{
		Name: "delete.retention.ms", Type: Long, Default: "86400000", Check: atLeast(0), Synonyms: same("log.cleaner.delete.retention.ms"),
		Doc: "How long compaction keeps tombstones, in ms.",
	},
	{
		Name: "durability", Type: String, Default: "disk", Check: oneOf("disk", "memory"), Synonyms: same("log.durability"),
		Doc: "What acks=all waits for: disk (an fsync on every replica that counts) or memory (their page caches, as in Kafka).",
	},
	{
		Name: "file.delete.delay.ms", Type: Long, Default: "60000", Check: atLeast(0), Synonyms: same("log.segment.delete.delay.ms"), Ignored: noDelay,
		Doc: "How long Kafka keeps the files of a deleted segment, in ms.",
	},
	{
		Name: "flush.messages", Type: Long, Default: maxLong, Check: atLeast(1), Synonyms: same("log.flush.interval.messages"),
		Doc: "How many records may be written before an fsync is forced; with 1, every answer waits for it.",
	},
	{
		Name: "flush.ms", Type: Long, Default: maxLong, Check: atLeast(0),
		Synonyms: []Synonym{{"log.flush.interval.ms", 1}, {"log.flush.scheduler.interval.ms", 1}},
		Doc:      "How long a record may wait for an fsync, in ms.",
	},
	{
		Name: "follower.replication.throttled.replicas", Type: List, Default: "", Check: throttledReplicas, Ignored: later("replication"),
		Doc: "Replicas whose fetching is throttled.",
	},
	{
		Name: "leader.replication.throttled.replicas", Type: List, Default: "", Check: throttledReplicas, Ignored: later("replication"),
		Doc: "Replicas whose serving is throttled.",
	},
	{
		Name: "index.interval.bytes", Type: Int, Default: "4096", Check: atLeast(0), Synonyms: same("log.index.interval.bytes"),
		Doc: "Bytes of log between two index entries.",
	},
	{
		Name: "internal.segment.bytes", Type: Int, Null: true, Hidden: true, Check: atLeast(14),
		Doc: "segment.bytes without its lower limit, for tests, as in Kafka.",
	},
	{
		Name: "local.retention.bytes", Type: Long, Default: "-2", Check: atLeast(-2), Synonyms: same("log.local.retention.bytes"), Ignored: later("tiered storage"),
		Doc: "retention.bytes of the local part of a tiered topic.",
	},
	{
		Name: "local.retention.ms", Type: Long, Default: "-2", Check: atLeast(-2), Synonyms: same("log.local.retention.ms"), Ignored: later("tiered storage"),
		Doc: "retention.ms of the local part of a tiered topic.",
	},
	{
		Name: "max.compaction.lag.ms", Type: Long, Default: maxLong, Check: atLeast(1), Synonyms: same("log.cleaner.max.compaction.lag.ms"),
		Doc: "How long a record stays uncompacted at most, in ms.",
	},
	{
		Name: "max.message.bytes", Type: Int, Default: "1048588", Check: atLeast(0), Synonyms: same("message.max.bytes"),
		Doc: "The largest record batch, in bytes.",
	},
	{
		Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", Check: atLeast(0), Synonyms: same("log.message.timestamp.after.max.ms"),
		Doc: "How far a record's timestamp may lie after the broker's clock, in ms.",
	},
	{
		Name: "message.timestamp.before.max.ms", Type: Long, Default: maxLong, Check: atLeast(0), Synonyms: same("log.message.timestamp.before.max.ms"),
		Doc: "How far a record's timestamp may lie before the broker's clock, in ms.",
	},
	{
		Name: "message.timestamp.type", Type: String, Default: "CreateTime", Check: oneOf("CreateTime", "LogAppendTime"), Synonyms: same("log.message.timestamp.type"),
		Doc: "Whose clock a record's timestamp is from.",
	},
	{
		Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", Check: between(0, 1), Synonyms: same("log.cleaner.min.cleanable.ratio"),
		Doc: "How much of the log must be uncompacted before compaction starts.",
	},
	{
		Name: "min.compaction.lag.ms", Type: Long, Default: "0", Check: atLeast(0), Synonyms: same("log.cleaner.min.compaction.lag.ms"),
		Doc: "How long a record stays uncompacted at least, in ms.",
	},
	{
		Name: "min.insync.replicas", Type: Int, Default: "1", Check: atLeast(1), Synonyms: same("min.insync.replicas"),
		Doc: "How many replicas must have a record before acks=all is answered.",
	},
	{
		Name: "preallocate", Type: Boolean, Default: "false", Synonyms: same("log.preallocate"),
		Doc: "Whether a new segment's disk space is reserved at once.",
	},
	{
		Name: "remote.storage.enable", Type: Boolean, Default: "false", Check: oneOf("false", "FALSE", "False"),
		Doc: "Whether old segments move to an object store, which this version cannot.",
	},
	{
		Name: "remote.log.copy.disable", Type: Boolean, Default: "false", Ignored: later("tiered storage"),
		Doc: "Whether a tiered topic stops copying.",
	},
	{
		Name: "remote.log.delete.on.disable", Type: Boolean, Default: "false", Ignored: later("tiered storage"),
		Doc: "Whether a topic that stops being tiered loses its remote part.",
	},
	{
		Name: "retention.bytes", Type: Long, Default: "-1", Synonyms: same("log.retention.bytes"),
		Doc: "How large a partition's log may grow before old segments go; -1: no limit.",
	},
	{
		Name: "retention.ms", Type: Long, Default: "604800000", Check: atLeast(-1),
		Synonyms: []Synonym{{"log.retention.ms", 1}, {"log.retention.minutes", 60_000}, {"log.retention.hours", 3_600_000}},
		Doc:      "How long the log keeps a segment, in ms; -1: no limit.",
	},
	{
		Name: "segment.bytes", Type: Int, Default: "1073741824", Check: atLeast(1 << 20), Synonyms: same("log.segment.bytes"),
		Doc: "The size at which a segment is rolled.",
	},
	{
		Name: "segment.index.bytes", Type: Int, Default: "10485760", Check: atLeast(4), Synonyms: same("log.index.size.max.bytes"),
		Doc: "The size at which a full index rolls its segment.",
	},
	{
		Name: "segment.jitter.ms", Type: Long, Default: "0", Check: atLeast(0),
		Synonyms: []Synonym{{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", 3_600_000}},
		Doc:      "By how much, at most, a roll by age comes early, in ms.",
	},
	{
		Name: "segment.ms", Type: Long, Default: "604800000", Check: atLeast(1),
		Synonyms: []Synonym{{"log.roll.ms", 1}, {"log.roll.hours", 3_600_000}},
		Doc:      "The age at which a segment is rolled, in ms.",
	},
	{
		Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Synonyms: same("unclean.leader.election.enable"), Ignored: later("replication"),
		Doc: "Whether a replica that is behind may lead when no other is left, losing records.",
	},
}

// idleTopicSettings are the topic settings of Kafka 3.9 and 4.4 that say nothing to this version.
func idleTopicSettings() []Setting {
	var all []Setting
	for _, part := range idleTopicParts {
		for _, s := range rows(part.why, part.rows) {
			if part.falls != "" {
				s.Synonyms = same(part.falls + s.Name)
			}
			all = append(all, s)
		}
	}
	brokerNamed := index(idleSettings())
	for i := range all {
		if s := &all[i]; brokerNamed[s.Name] != nil {
			s.Synonyms = same(s.Name)
		}
	}
	return all
}

// idleTopicParts are those settings. falls stands before the name of the broker setting that a setting falls back to; empty: it has none.
var idleTopicParts = []struct{ why, falls, rows string }{
	{decompressed, "", `
		max.decompressed.message.bytes int 2147483639 1..2147483639 The largest batch after decompression.`},
	{later("tiered storage"), "log.", `
		remote.copy.lag.ms    long 0  -1.. How old a segment is before it is copied to the object store; -1 takes local.retention.ms.
		remote.copy.lag.bytes long -1 -1.. How much is written after a segment before it is copied; -1 takes local.retention.bytes.`},
	{later("share groups"), "", `
		errors.deadletterqueue.group.enable boolean false any Whether share groups may write dead letters to the topic.`},
	{"newer versions of Kafka dropped it: clients of today read today's format", "log.", `
		message.downconversion.enable boolean,hidden true    any     Whether records are turned into older formats for older clients.
		message.format.version        string,hidden  3.0-IV1 version The format of records on disk.`},
	{"newer versions of Kafka dropped it: use message.timestamp.before.max.ms and message.timestamp.after.max.ms", "log.", `
		message.timestamp.difference.max.ms long,hidden 9223372036854775807 0.. How far a record's timestamp may lie from the broker's clock.`},
}

func same(name string) []Synonym { return []Synonym{{name, 1}} }
