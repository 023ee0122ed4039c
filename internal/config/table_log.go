package config

// logSettings are the brokers' defaults for topics, and how logs are kept.
var logSettings = []Setting{
	{
		Name: "log.retention.ms", Type: Long, Null: true, Check: positiveOrUnlimited, Dynamic: true,
		Synonyms: []Synonym{{"log.retention.minutes", 60_000}, {"log.retention.hours", 3_600_000}},
		Doc:      "How long a log keeps a segment, in ms; -1: no limit.",
	},
	{Name: "log.retention.minutes", Type: Int, Null: true, Check: positiveOrUnlimited, Doc: "log.retention.ms in minutes, where that is not set."},
	{Name: "log.retention.hours", Type: Int, Default: "168", Check: positiveOrUnlimited, Doc: "log.retention.ms in hours, where neither is set."},
	{Name: "log.retention.bytes", Type: Long, Default: "-1", Dynamic: true, Doc: "How large a partition's log may grow before old segments go; -1: no limit."},
	{Name: "log.retention.check.interval.ms", Type: Long, Default: "300000", Check: atLeast(1), Doc: "How often retention is applied, besides on append."},
	{Name: "log.segment.bytes", Type: Int, Default: "1073741824", Check: atLeast(1 << 20), Dynamic: true, Doc: "The size at which a segment is rolled."},
	{Name: "log.segment.delete.delay.ms", Type: Long, Default: "60000", Check: atLeast(0), Dynamic: true, Ignored: noDelay, Doc: "How long a deleted segment's files stay."},
	{
		Name: "log.roll.ms", Type: Long, Null: true, Check: atLeast(1), Dynamic: true, Synonyms: []Synonym{{"log.roll.hours", 3_600_000}},
		Doc: "The age at which a segment is rolled, in ms.",
	},
	{Name: "log.roll.hours", Type: Int, Default: "168", Check: atLeast(1), Doc: "log.roll.ms in hours, where that is not set."},
	{
		Name: "log.roll.jitter.ms", Type: Long, Null: true, Check: atLeast(0), Dynamic: true, Synonyms: []Synonym{{"log.roll.jitter.hours", 3_600_000}},
		Doc: "By how much, at most, a roll by age comes early, in ms.",
	},
	{Name: "log.roll.jitter.hours", Type: Int, Default: "0", Check: atLeast(0), Doc: "log.roll.jitter.ms in hours, where that is not set."},
	{Name: "log.index.interval.bytes", Type: Int, Default: "4096", Check: atLeast(0), Dynamic: true, Doc: "Bytes of log between two index entries."},
	{Name: "log.index.size.max.bytes", Type: Int, Default: "10485760", Check: atLeast(4), Dynamic: true, Doc: "The size at which a full index rolls its segment."},
	{Name: "log.flush.interval.messages", Type: Long, Default: maxLong, Check: atLeast(1), Dynamic: true, Doc: "How many records may be written before an fsync is forced; with 1, every answer waits for it."},
	{
		Name: "log.flush.interval.ms", Type: Long, Null: true, Check: atLeast(0), Dynamic: true, Synonyms: []Synonym{{"log.flush.scheduler.interval.ms", 1}},
		Doc: "How long a record may wait for an fsync, in ms.",
	},
	{Name: "log.flush.scheduler.interval.ms", Type: Long, Default: maxLong, Doc: "The default of log.flush.interval.ms."},
	{Name: "log.flush.offset.checkpoint.interval.ms", Type: Int, Default: "60000", Check: atLeast(0), Doc: "How often recovery points are written."},
	{Name: "log.flush.start.offset.checkpoint.interval.ms", Type: Int, Default: "60000", Check: atLeast(0), Ignored: oneCheckpoint, Doc: "How often log start offsets are written."},
	{Name: "log.preallocate", Type: Boolean, Default: "false", Dynamic: true, Doc: "Whether a new segment's disk space is reserved at once."},
	{
		Name: "log.cleanup.policy", Type: List, Default: "delete", Check: listOf(true, "compact", "delete"), Dynamic: true,
		Doc: "What becomes of old segments: deleted, compacted, both, or neither (empty).",
	},
	{
		Name: "log.message.timestamp.type", Type: String, Default: "CreateTime", Check: oneOf("CreateTime", "LogAppendTime"), Dynamic: true,
		Doc: "Whose clock a record's timestamp is from.",
	},
	{
		Name: "log.message.timestamp.before.max.ms", Type: Long, Default: maxLong, Check: atLeast(0), Dynamic: true,
		Doc: "How far a record's timestamp may lie before the broker's clock, in ms.",
	},
	{
		Name: "log.message.timestamp.after.max.ms", Type: Long, Default: "3600000", Check: atLeast(0), Dynamic: true,
		Doc: "How far a record's timestamp may lie after the broker's clock, in ms.",
	},
	{Name: "message.max.bytes", Type: Int, Default: "1048588", Check: atLeast(0), Dynamic: true, Doc: "The largest record batch, in bytes."},
	{
		Name: "compression.type", Type: String, Default: "producer", Check: codecs, Dynamic: true,
		Doc: "How logs are compressed; producer keeps what came.",
	},
	{Name: "compression.gzip.level", Type: Int, Default: "-1", Check: unlimitedOr(between(1, 9)), Dynamic: true, Doc: "The level where compression.type is gzip."},
	{Name: "compression.lz4.level", Type: Int, Default: "9", Check: between(1, 17), Dynamic: true, Doc: "The level where compression.type is lz4."},
	{Name: "compression.zstd.level", Type: Int, Default: "3", Check: between(-131072, 22), Dynamic: true, Doc: "The level where compression.type is zstd."},
	{Name: "log.cleaner.enable", Type: Boolean, Default: "true", Doc: "Whether compacted topics are compacted."},
	{Name: "log.cleaner.threads", Type: Int, Default: "1", Check: atLeast(0), Dynamic: true, Doc: "How many logs are compacted at a time."},
	{
		Name: "log.cleaner.io.max.bytes.per.second", Type: Double, Default: "1.7976931348623157E308", Dynamic: true,
		Doc: "The most bytes a second that compaction reads and writes.",
	},
	{Name: "log.cleaner.dedupe.buffer.size", Type: Long, Default: "134217728", Check: atLeast(1), Dynamic: true, Doc: "Memory for the keys of one compaction, in bytes."},
	{Name: "log.cleaner.io.buffer.size", Type: Int, Default: "524288", Check: atLeast(0), Dynamic: true, Doc: "Memory for reading and writing of one compaction, in bytes."},
	{
		Name: "log.cleaner.io.buffer.load.factor", Type: Double, Default: "0.9", Check: between(0, 1), Dynamic: true,
		Doc: "How full the key memory of a compaction may be.",
	},
	{Name: "log.cleaner.backoff.ms", Type: Long, Default: "15000", Check: atLeast(0), Dynamic: true, Doc: "How long compaction sleeps when there is nothing to do."},
	{
		Name: "log.cleaner.min.cleanable.ratio", Type: Double, Default: "0.5", Check: between(0, 1), Dynamic: true,
		Doc: "How much of a log must be uncompacted before compaction starts.",
	},
	{Name: "log.cleaner.delete.retention.ms", Type: Long, Default: "86400000", Check: atLeast(0), Dynamic: true, Doc: "How long compaction keeps tombstones, in ms."},
	{Name: "log.cleaner.min.compaction.lag.ms", Type: Long, Default: "0", Check: atLeast(0), Dynamic: true, Doc: "How long a record stays uncompacted at least, in ms."},
	{Name: "log.cleaner.max.compaction.lag.ms", Type: Long, Default: maxLong, Check: atLeast(1), Dynamic: true, Doc: "How long a record stays uncompacted at most, in ms."},
	{
		Name: "log.dir.failure.timeout.ms", Type: Long, Default: "30000", Check: atLeast(1), Ignored: "a failed directory is offline at once",
		Doc: "How long a broker may fail to report a broken directory.",
	},
	{
		Name: "log.initial.task.delay.ms", Type: Long, Hidden: true, Default: "30000", Check: atLeast(0), Ignored: "the background work starts with the broker",
		Doc: "How long the background work waits after a start.",
	},
	{Name: "num.recovery.threads.per.data.dir", Type: Int, Default: "2", Check: atLeast(1), Dynamic: true, Doc: "How many logs are recovered at a time after a crash."},
}

var codecs = oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

// replicationSettings are about more than one broker.
var replicationSettings = []Setting{
	{Name: "min.insync.replicas", Type: Int, Default: "1", Check: atLeast(1), Dynamic: true, Doc: "How many replicas must have a record before acks=all is answered."},
	{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Dynamic: true, Ignored: later("replication"), Doc: "Whether a replica that is behind may lead when no other is left, losing records."},
	{Name: "replica.lag.time.max.ms", Type: Long, Default: "30000", Ignored: later("replication"), Doc: "How long a follower may be behind before it leaves the ISR."},
	{Name: "replica.high.watermark.checkpoint.interval.ms", Type: Long, Default: "5000", Ignored: oneCheckpoint, Doc: "How often high watermarks are written."},
	{Name: "replica.fetch.max.bytes", Type: Int, Default: "1048576", Check: atLeast(0), Ignored: later("replication"), Doc: "The most bytes a follower asks of one partition."},
	{Name: "replica.fetch.wait.max.ms", Type: Int, Default: "500", Ignored: later("replication"), Doc: "How long a follower's fetch waits for records."},
	{Name: "replica.fetch.min.bytes", Type: Int, Default: "1", Ignored: later("replication"), Doc: "The fewest bytes a follower's fetch waits for."},
	{Name: "replica.fetch.response.max.bytes", Type: Int, Default: "10485760", Check: atLeast(0), Ignored: later("replication"), Doc: "The most bytes a follower asks at a time."},
	{Name: "num.replica.fetchers", Type: Int, Default: "1", Check: atLeast(1), Dynamic: true, Ignored: later("replication"), Doc: "How many connections fetch from each leader."},
	{Name: "auto.leader.rebalance.enable", Type: Boolean, Default: "true", Ignored: later("replication"), Doc: "Whether leadership returns to the preferred replica by itself."},
	{Name: "leader.imbalance.check.interval.seconds", Type: Long, Default: "300", Check: atLeast(1), Ignored: later("replication"), Doc: "How often leadership is balanced."},
	{Name: "inter.broker.listener.name", Type: String, Null: true, Security: true, Ignored: later("replication"), Doc: "The listener that brokers use among themselves."},
	{Name: "controlled.shutdown.enable", Type: Boolean, Default: "true", Ignored: "a broker always hands over before it stops", Doc: "Whether a stopping broker hands over first."},
	{Name: "replica.selector.class", Type: String, Null: true, Ignored: noClasses, Doc: "A Java class that chooses the replica to read from."},
}

// producerSettings are about idempotent producers and transactions.
var producerSettings = []Setting{
	{Name: "producer.id.expiration.ms", Type: Int, Default: "86400000", Check: atLeast(1), Dynamic: true, Doc: "How long a silent idempotent producer is remembered, in ms."},
	{Name: "producer.id.expiration.check.interval.ms", Type: Int, Hidden: true, Default: "600000", Check: atLeast(1), Ignored: "expiry is checked with retention", Doc: "How often silent producers are looked for."},
	{Name: "transactional.id.expiration.ms", Type: Int, Default: "604800000", Check: atLeast(1), Ignored: later("transactions"), Doc: "How long a silent transactional id is remembered."},
	{Name: "transaction.max.timeout.ms", Type: Int, Default: "900000", Check: atLeast(1), Ignored: later("transactions"), Doc: "The longest transaction."},
	{Name: "transaction.partition.verification.enable", Type: Boolean, Default: "true", Dynamic: true, Ignored: later("transactions"), Doc: "Whether a partition's part in a transaction is verified."},
	{Name: "transaction.state.log.replication.factor", Type: Short, Default: "3", Check: atLeast(1), Ignored: later("transactions"), Doc: "Replicas of the transaction log."},
	{Name: "transaction.state.log.num.partitions", Type: Int, Default: "50", Check: atLeast(1), Ignored: later("transactions"), Doc: "Partitions of the transaction log."},
	{Name: "transaction.state.log.min.isr", Type: Int, Default: "2", Check: atLeast(1), Ignored: later("transactions"), Doc: "min.insync.replicas of the transaction log."},
	{Name: "transaction.state.log.segment.bytes", Type: Int, Default: "104857600", Check: atLeast(1), Ignored: later("transactions"), Doc: "segment.bytes of the transaction log."},
	{Name: "transaction.state.log.load.buffer.size", Type: Int, Default: "5242880", Check: atLeast(1), Ignored: later("transactions"), Doc: "Memory for loading the transaction log."},
	{Name: "transaction.abort.timed.out.transaction.cleanup.interval.ms", Type: Int, Default: "10000", Check: atLeast(1), Ignored: later("transactions"), Doc: "How often overdue transactions are looked for."},
	{Name: "transaction.remove.expired.transaction.cleanup.interval.ms", Type: Int, Default: "3600000", Check: atLeast(1), Ignored: later("transactions"), Doc: "How often silent transactional ids are looked for."},
}
