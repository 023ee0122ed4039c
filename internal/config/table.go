package config

const (
	maxInt  = "2147483647"
	maxLong = "9223372036854775807"
)

// brokerSettings are all settings of a broker by name; topicSettings those of a topic. Neither ever changes.
var (
	brokerSettings = index(ownSettings, nodeSettings, networkSettings, logSettings, replicationSettings,
		producerSettings, groupSettings, securitySettings(), idleSettings(), laterSettings())
	topicSettings = index(topicRows, idleTopicSettings())
)

// Settings lists the broker's settings by name.
func Settings() []*Setting { return sorted(brokerSettings) }

// TopicSettings lists the topics' settings by name.
func TopicSettings() []*Setting { return sorted(topicSettings) }

// ownSettings have no counterpart in Kafka.
var ownSettings = []Setting{
	{
		Name: "admin.listener", Type: String, Default: "127.0.0.1:9644", Check: notEmpty,
		Doc: "HOST:PORT of health, metrics and profiles over HTTP, or off.",
	},
	{
		Name: "admin.pprof", Type: String, Default: "loopback", Check: oneOf("loopback", "on", "off"),
		Doc: "Whether admin.listener serves Go profiles (/debug/pprof/): only on a loopback address, always, or never.",
	},
	{
		Name: "admin.metrics.groups.max", Type: Int, Default: "2000", Check: atLeast(0),
		Doc: "The most consumer groups with metrics of their own; ottla_groups_unlisted counts the others.",
	},
	{
		Name: "admin.metrics.topics.max", Type: Int, Default: "1000", Check: atLeast(0),
		Doc: "The most topics with metrics of their own; the others are counted together, and ottla_topics_unlisted says how many they are.",
	},
	{
		Name: "admin.metrics.partitions.max", Type: Int, Default: "5000", Check: atLeast(0),
		Doc: "The most partitions with metrics of their own, and the most partitions of groups; " +
			"ottla_partitions_unlisted and ottla_group_offsets_unlisted count the others.",
	},
	{
		Name: "log.journal.bytes", Type: Long, Default: "67108864", Check: zeroOr(atLeast(4 << 20)),
		Doc: "Size of the journal that makes small writes to many partitions durable with one fsync; 0: none.",
	},
	{
		Name: "log.durability", Type: String, Default: "disk", Check: oneOf("disk", "memory"), Dynamic: true,
		Doc: "What acks=all waits for: disk (an fsync on every replica that counts) or memory (their page caches, as in Kafka).",
	},
}

// nodeSettings say who this node is and where its data lies.
var nodeSettings = []Setting{
	{
		Name: "node.id", Type: Int, Null: true, Check: atLeast(0), Synonyms: []Synonym{{"broker.id", 1}},
		Doc: "This node's id; unset, the data directory's, and 1 in a new one.",
	},
	{Name: "broker.id", Type: Int, Null: true, Check: atLeast(0), Doc: "The older name of node.id."},
	{Name: "broker.rack", Type: String, Null: true, Doc: "The rack of this broker, for placing replicas apart."},
	{
		Name: "log.dirs", Type: List, Null: true, Synonyms: []Synonym{{"log.dir", 1}},
		Doc: "The data directory (one; more are refused).",
	},
	{Name: "log.dir", Type: String, Default: "./ottla-data", Check: notEmpty, Doc: "The data directory, where log.dirs is not set."},
	{
		Name: "auto.create.topics.enable", Type: Boolean, Default: "true",
		Doc: "Whether a client's use of a topic that is not there creates it.",
	},
	{Name: "delete.topic.enable", Type: Boolean, Default: "true", Doc: "Whether topics may be deleted."},
	{
		Name: "num.partitions", Type: Int, Default: "1", Check: atLeast(1),
		Doc: "Partitions of a topic that is created without a number of them.",
	},
	{
		Name: "default.replication.factor", Type: Int, Default: "1", Check: atLeast(1),
		Doc: "Replicas of a topic that is created without a number of them.",
	},
	{Name: "create.topic.policy.class.name", Type: Class, Null: true, Ignored: noClasses, Doc: "A Java class that judges new topics."},
	{Name: "alter.config.policy.class.name", Type: Class, Null: true, Ignored: noClasses, Doc: "A Java class that judges changed settings."},
}

// networkSettings are about listeners and connections.
var networkSettings = []Setting{
	{
		Name: "listeners", Type: List, Default: "PLAINTEXT://127.0.0.1:9092", Check: notEmpty,
		Doc: "NAME://HOST:PORT of each listener; no host means all interfaces.",
	},
	{
		Name: "advertised.listeners", Type: List, Null: true,
		Doc: "The addresses clients are told; unset, the one each client reached.",
	},
	{
		Name: "listener.security.protocol.map", Type: String,
		Default:  "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
		Security: true, Doc: "The security protocol of each listener name; PLAINTEXT is the one there is.",
	},
	{Name: "socket.request.max.bytes", Type: Int, Default: "104857600", Check: atLeast(1), Doc: "The largest request, in bytes."},
	{
		Name: "socket.send.buffer.bytes", Type: Int, Default: "102400", Check: atLeast(-1), Ignored: osSizes,
		Doc: "The size of a socket's send buffer.",
	},
	{
		Name: "socket.receive.buffer.bytes", Type: Int, Default: "102400", Check: atLeast(-1), Ignored: osSizes,
		Doc: "The size of a socket's receive buffer.",
	},
	{
		Name: "socket.listen.backlog.size", Type: Int, Default: "50", Check: atLeast(1), Ignored: osSizes,
		Doc: "How many connections may wait to be accepted.",
	},
	{
		Name: "queued.max.requests", Type: Int, Default: "500", Check: atLeast(1), Ignored: "requests are bounded by memory: queued.max.request.bytes",
		Doc: "How many requests may wait for a thread.",
	},
	{
		Name: "queued.max.request.bytes", Type: Long, Default: "-1", Check: unlimitedOr(atLeast(1)),
		Doc: "Memory for requests in bytes, unfinished ones (at most half of it) included; -1: an eighth of the memory of the machine or cgroup, " +
			"from 16 MiB to 1 GiB. One request larger than its share is let through at a time.",
	},
	{Name: "max.connections", Type: Int, Default: maxInt, Check: atLeast(0), Doc: "The most connections at a time; never more than leave descriptors for files."},
	{Name: "max.connections.per.ip", Type: Int, Default: maxInt, Check: atLeast(0), Doc: "The most connections of one address at a time."},
	{
		Name: "max.connections.per.ip.overrides", Type: String, Default: "", Check: addressCounts, Dynamic: true, Ignored: later("connection limits of single addresses"),
		Doc: "Other limits for some addresses.",
	},
	{
		Name: "max.connection.creation.rate", Type: Int, Default: maxInt, Check: atLeast(0), Dynamic: true, Ignored: later("connection rates"),
		Doc: "The most new connections a second.",
	},
	{Name: "connections.max.idle.ms", Type: Long, Default: "600000", Doc: "A connection without a request for so long is closed; negative: never."},
	{
		Name: "connection.failed.authentication.delay.ms", Type: Int, Default: "100", Check: atLeast(0), Ignored: later("authentication"),
		Doc: "How long a failed authentication is held up.",
	},
	{
		Name: "request.timeout.ms", Type: Int, Default: "30000", Check: atLeast(0), Ignored: later("more than one broker"),
		Doc: "How long one broker waits for another's answer.",
	},
	{Name: "fetch.max.bytes", Type: Int, Default: "57671680", Check: atLeast(1024), Doc: "The most bytes one fetch is answered with."},
	{Name: "max.incremental.fetch.session.cache.slots", Type: Int, Default: "1000", Check: atLeast(0), Doc: "The most fetch sessions kept (KIP-227)."},
	{
		Name: "max.request.partition.size.limit", Type: Int, Default: "2000", Check: atLeast(1),
		Doc: "The most partitions one DescribeTopicPartitions is answered with.",
	},
}

const (
	noClasses = "Ottla runs no Java classes"
	osSizes   = "the operating system sizes it"

	noDelay       = "a deleted segment's files go when the last reader is done with them"
	oneCheckpoint = "written with the recovery points: log.flush.offset.checkpoint.interval.ms"
)

func later(what string) string { return "this version has no " + what }
