package config

// idleSettings belong to the JVM, to ZooKeeper, to KRaft's separate processes or to other parts of Kafka that do not exist here. A
// server.properties may hold them, and AlterConfigs may set those that Kafka calls dynamic; they do nothing here and say so.
func idleSettings() []Setting {
	var all []Setting
	for _, part := range idleParts {
		all = append(all, rows(part.why, part.rows)...)
	}
	return all
}

var idleParts = []struct{ why, rows string }{
	{"Ottla has no thread pools to size", `
		num.network.threads                int,dynamic 3  1..  Threads that read and write sockets.
		num.io.threads                     int,dynamic 8  1..  Threads that handle requests.
		background.threads                 int,dynamic 10 1..  Threads for background work.
		num.replica.alter.log.dirs.threads int         -  any  Threads that move replicas between directories.`},
	{"Ottla uses no ZooKeeper", `
		zookeeper.connect                             string,hidden   -       any Where ZooKeeper is.
		zookeeper.session.timeout.ms                  int,hidden      18000   any The session with ZooKeeper.
		zookeeper.connection.timeout.ms               int,hidden      -       any How long connecting to ZooKeeper may take.
		zookeeper.set.acl                             boolean,hidden  false   any Whether nodes in ZooKeeper have access control lists.
		zookeeper.max.in.flight.requests              int,hidden      10      1.. Requests to ZooKeeper at a time.
		zookeeper.sync.time.ms                        int,hidden      -       any How far a ZooKeeper follower may be behind.
		zookeeper.clientCnxnSocket                    string,hidden   -       any The Java class of connections to ZooKeeper.
		zookeeper.metadata.migration.enable           boolean,hidden  false   any Whether metadata moves from ZooKeeper to KRaft.
		zookeeper.metadata.migration.min.batch.size   int,hidden      200     1.. Records in a batch of that move.
		zookeeper.ssl.client.enable                   boolean,hidden  false   any Whether ZooKeeper is reached by TLS.
		zookeeper.ssl.cipher.suites                   list,hidden     -       any Cipher suites towards ZooKeeper.
		zookeeper.ssl.crl.enable                      boolean,hidden  false   any Whether ZooKeeper's certificate is looked up in revocation lists.
		zookeeper.ssl.enabled.protocols               list,hidden     -       any TLS versions towards ZooKeeper.
		zookeeper.ssl.endpoint.identification.algorithm string,hidden HTTPS   any How ZooKeeper's host name is verified.
		zookeeper.ssl.keystore.location               string,hidden   -       any The key store towards ZooKeeper.
		zookeeper.ssl.keystore.password               password,hidden -       any The password of that key store.
		zookeeper.ssl.keystore.type                   string,hidden   -       any The type of that key store.
		zookeeper.ssl.ocsp.enable                     boolean,hidden  false   any Whether ZooKeeper's certificate is checked by OCSP.
		zookeeper.ssl.protocol                        string,hidden   TLSv1.2 any The TLS version towards ZooKeeper.
		zookeeper.ssl.truststore.location             string,hidden   -       any The trust store towards ZooKeeper.
		zookeeper.ssl.truststore.password             password,hidden -       any The password of that trust store.
		zookeeper.ssl.truststore.type                 string,hidden   -       any The type of that trust store.`},
	{"every Ottla node is broker and controller, on one port", `
		process.roles                                  list           -       broker|controller What the process is.
		controller.listener.names                      list           -       any Listeners of the controller, which are left out of listeners here.
		controller.quorum.voters                       list           ""      any The controllers, by id and address.
		controller.quorum.bootstrap.servers            list           ""      any Where controllers are found.
		controller.quorum.election.timeout.ms          int            1000    0.. How long an election waits for votes.
		controller.quorum.fetch.timeout.ms             int            2000    0.. How long a voter waits for the leader.
		controller.quorum.election.backoff.max.ms      int            1000    0.. The longest pause between elections.
		controller.quorum.append.linger.ms             int            25      0.. How long the leader gathers metadata records.
		controller.quorum.request.timeout.ms           int            2000    0.. How long a request between controllers may take.
		controller.quorum.retry.backoff.ms             int            20      0.. The pause before such a request is repeated.
		controller.quorum.auto.join.enable             boolean        false   any Whether a new controller joins the voters by itself.
		controller.quorum.fetch.max.bytes              int            1048576 1.. The most metadata one fetch is answered with.
		controller.quorum.fetch.snapshot.max.bytes     int            1048576 1.. The most of a snapshot one request is answered with.
		controller.socket.timeout.ms                   int            30000   any How long the controller waits for a broker.
		control.plane.listener.name                    string,hidden  -       any The listener for requests of the controller.
		early.start.listeners                          list           -       any Listeners that open before the authorizer is ready.
		broker.heartbeat.interval.ms                   int            2000    any How often a broker is heard by the controller.
		broker.session.timeout.ms                      int            9000    any How long a broker may be silent.
		initial.broker.registration.timeout.ms         int            60000   any How long a broker's first registration may take.
		server.max.startup.time.ms                     long,hidden    9223372036854775807 0.. How long a start may take.
		eligible.leader.replicas.enable                boolean,hidden false   any Whether eligible leader replicas are tracked.
		controller.performance.sample.period.ms        long,hidden    60000   100.. How often the controller's slow events are counted.
		controller.performance.always.log.threshold.ms long,hidden    2000    0.. From how long on an event of the controller is logged.`},
	{"Ottla keeps its metadata log by itself", `
		metadata.log.dir                               string      -          any  Where the metadata log lies.
		metadata.log.segment.bytes                     int         1073741824 12.. The size at which the metadata log rolls.
		metadata.log.segment.min.bytes                 int,hidden  8388608    12.. The smallest such size.
		metadata.log.segment.ms                        long        604800000  any  The age at which the metadata log rolls.
		metadata.log.max.record.bytes.between.snapshots long       20971520   1..  How much metadata is written between two snapshots.
		metadata.log.max.snapshot.interval.ms          long        3600000    0..  How long after a change a snapshot is written.
		metadata.max.retention.bytes                   long        104857600  any  How large the metadata log and its snapshots may grow.
		metadata.max.retention.ms                      long        604800000  any  How long the metadata log and its snapshots are kept.
		metadata.max.idle.interval.ms                  int         500        0..  How often an idle controller writes a record.
		internal.metadata.delete.delay.millis          long,hidden 60000      any  How long a deleted metadata segment's files stay.
		internal.metadata.log.segment.bytes            int,hidden  -          any  metadata.log.segment.bytes without its lower limit.
		internal.metadata.max.batch.size.in.bytes      int,hidden  8388608    any  The largest batch of metadata records.`},
	{"Ottla has no purgatory", `
		fetch.purgatory.purge.interval.requests          int 1000 any After how many fetches the waiting ones are swept.
		producer.purgatory.purge.interval.requests       int 1000 any After how many produces the waiting ones are swept.
		delete.records.purgatory.purge.interval.requests int 1    any After how many DeleteRecords the waiting ones are swept.
		share.fetch.purgatory.purge.interval.requests    int 1000 any After how many share fetches the waiting ones are swept.`},
	{"metrics are at /metrics of admin.listener", `
		metric.reporters                    list,dynamic   org.apache.kafka.common.metrics.JmxReporter any Java classes that report metrics.
		metrics.num.samples                 int            2       1..  How many samples a metric keeps.
		metrics.sample.window.ms            long           30000   1..  How long a sample lasts.
		metrics.recording.level             string         INFO    any  How detailed metrics are.
		kafka.metrics.reporters             list           ""      any  Java classes that report Yammer metrics.
		kafka.metrics.polling.interval.secs int            10      1..  How often they do.
		kafka.csv.metrics.reporter.enabled  boolean,hidden -       any  Whether metrics are written to CSV files.
		kafka.csv.metrics.dir               string,hidden  -       any  Where those files lie.
		auto.include.jmx.reporter           boolean,hidden true    any  Whether metrics are in JMX though metric.reporters does not say so.
		jmx.port                            int,hidden     -       any  The port of JMX.
		jmx.opts                            string,hidden  -       any  Options of JMX.
		telemetry.max.bytes                 int            1048576 1..  The most metrics a client may push at a time.
		client.telemetry.max.bytes          int,hidden     -       any  The older name of telemetry.max.bytes.`},
	{later("quotas"), `
		quota.window.num                                        int   11 1.. How many samples a client's quota is measured over.
		quota.window.size.seconds                               int   1  1.. How long such a sample lasts.
		replication.quota.window.num                            int   11 1.. How many samples replication's quota is measured over.
		replication.quota.window.size.seconds                   int   1  1.. How long such a sample lasts.
		alter.log.dirs.replication.quota.window.num             int   11 1.. How many samples the quota of moves between directories is measured over.
		alter.log.dirs.replication.quota.window.size.seconds    int   1  1.. How long such a sample lasts.
		controller.quota.window.num                             int   11 1.. How many samples the quota of changes is measured over.
		controller.quota.window.size.seconds                    int   1  1.. How long such a sample lasts.
		client.quota.callback.class                             class -  any A Java class that decides quotas.
		leader.replication.throttled.rate            long,dynamic,hidden 9223372036854775807 0.. The most bytes a second that throttled replicas are sent.
		follower.replication.throttled.rate          long,dynamic,hidden 9223372036854775807 0.. The most bytes a second that throttled replicas fetch.
		replica.alter.log.dirs.io.max.bytes.per.second long,dynamic,hidden 9223372036854775807 0.. The most bytes a second that moves between directories copy.`},
	{later("replication"), `
		replica.socket.timeout.ms              int         30000  any How long a follower's fetch may take.
		replica.socket.receive.buffer.bytes    int         65536  any The receive buffer of a follower's connection.
		replica.fetch.backoff.ms               int         1000   0.. The pause after a follower's fetch failed.
		unclean.leader.election.interval.ms    long,hidden 300000 1.. How often partitions without a leader are looked for.
		socket.connection.setup.timeout.ms     long        10000  any How long connecting to a broker may take.
		socket.connection.setup.timeout.max.ms long        30000  any The most that this grows to.
		leader.imbalance.per.broker.percentage int,hidden  10     any How many partitions may be led by others before leadership is balanced.
		controlled.shutdown.max.retries        int,hidden  3      any How often a stopping broker tries to hand over.
		controlled.shutdown.retry.backoff.ms   long,hidden 5000   any The pause between those tries.`},
	{"a node has one data directory", `
		cordoned.log.dirs list,dynamic "" any Directories that get no new partitions.`},
	{"there is one coordinator, of both protocols", `
		group.coordinator.new.enable boolean,hidden false any Whether the newer coordinator is used.`},
	{noCoordinatorThreads, `
		group.coordinator.cached.buffer.max.bytes int,dynamic            1048588 524288.. The largest buffer that the coordinator keeps.
		group.consumer.assignor.offload.enable    boolean,dynamic,hidden true    any      Whether assignors run in threads of their own.`},
	{"a pattern subscription follows every change of the topics at once", `
		group.consumer.regex.refresh.interval.ms int,hidden 600000 10000.. How often pattern subscriptions are resolved again.`},
	{"a commit is answered when it is on disk", `
		offsets.commit.required.acks short,hidden -1 any How many replicas must have a commit.`},
	{decompressed, `
		max.decompressed.message.bytes int,dynamic 2147483639 1..2147483639 The largest batch after decompression.`},
	{later("transactions"), `
		add.partitions.to.txn.retry.backoff.ms     int     20    1.. The pause before a partition's part in a transaction is verified again.
		add.partitions.to.txn.retry.backoff.max.ms int     100   0.. The most that this grows to.
		transaction.two.phase.commit.enable        boolean false any Whether transactions may be prepared for another coordinator's decision.`},
	{"newer versions of Kafka dropped it", `
		inter.broker.protocol.version           string,hidden          -          version The version that brokers speak among themselves.
		log.message.format.version              string,hidden          3.0-IV1    version The format of records on disk.
		log.message.downconversion.enable       boolean,hidden,dynamic true       any     Whether records are turned into older formats for older clients.
		log.message.timestamp.difference.max.ms long,hidden,dynamic    9223372036854775807 0.. How far a record's timestamp may lie from the broker's clock.
		broker.id.generation.enable             boolean,hidden         true       any     Whether brokers without an id get one.
		reserved.broker.max.id                  int,hidden             1000       0..     The largest id that is not made up.
		host.name                               string,hidden          -          any     The older form of listeners.
		port                                    int,hidden             -          any     The older form of listeners.
		advertised.host.name                    string,hidden          -          any     The older form of advertised.listeners.
		advertised.port                         int,hidden             -          any     The older form of advertised.listeners.
		delete.topic.enabled                    boolean,hidden         -          any     A misspelling of delete.topic.enable that is widespread.
		log.cleaner.dedupe.buffer.load.factor   double,hidden          -          any     The older name of log.cleaner.io.buffer.load.factor.`},
	{"Ottla advertises only finished versions", `
		unstable.api.versions.enable     boolean,hidden false any Whether unfinished versions of requests are served.
		unstable.feature.versions.enable boolean,hidden false any Whether unfinished features may be used.`},
	{"configuration providers are not run", `
		config.providers list,dynamic "" any Names of providers that values are looked up with.`},
}

const decompressed = "memory for decompression is bounded whatever this says"

// ignoredPrefixes are families of keys that do nothing here, and why.
var ignoredPrefixes = []struct{ prefix, why string }{
	{"zookeeper.", "Ottla uses no ZooKeeper"},
	{"confluent.", "it belongs to Confluent's distribution"},
	{"remote.", later("tiered storage")},
	{"rsm.config.", later("tiered storage")},
	{"rlmm.config.", later("tiered storage")},
	{"log.local.", later("tiered storage")},
	{"config.providers.", "configuration providers are not run"},
	{"log4j.", "Ottla does not log through log4j"},
}
