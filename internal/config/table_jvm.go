package config

import "strings"

// jvmSettings belong to the JVM, to ZooKeeper, to KRaft's separate processes or to Kafka's insides. A server.properties
// may hold them; they do nothing here and say so.
func jvmSettings() []Setting {
	var rows []Setting
	for _, part := range []struct{ why, names string }{
		{"Ottla has no thread pools to size", `
			num.network.threads num.io.threads background.threads num.replica.alter.log.dirs.threads
			remote.log.manager.thread.pool.size remote.log.reader.threads`},
		{"Ottla uses no ZooKeeper", `
			zookeeper.connect zookeeper.session.timeout.ms zookeeper.connection.timeout.ms zookeeper.set.acl
			zookeeper.max.in.flight.requests zookeeper.ssl.client.enable zookeeper.clientCnxnSocket zookeeper.sync.time.ms
			zookeeper.metadata.migration.enable zookeeper.metadata.migration.min.batch.size`},
		{"every Ottla node is broker and controller, on one port", `
			process.roles controller.listener.names controller.quorum.voters controller.quorum.bootstrap.servers
			controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms controller.quorum.election.backoff.max.ms
			controller.quorum.append.linger.ms controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
			controller.quorum.auto.join.enable controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes
			controller.socket.timeout.ms control.plane.listener.name early.start.listeners
			broker.heartbeat.interval.ms broker.session.timeout.ms initial.broker.registration.timeout.ms
			server.max.startup.time.ms eligible.leader.replicas.enable controller.performance.sample.period.ms
			controller.performance.always.log.threshold.ms`},
		{"Ottla keeps its metadata log by itself", `
			metadata.log.dir metadata.log.segment.bytes metadata.log.segment.min.bytes metadata.log.segment.ms
			metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms
			metadata.max.retention.bytes metadata.max.retention.ms metadata.max.idle.interval.ms`},
		{"Ottla has no purgatory", `
			fetch.purgatory.purge.interval.requests producer.purgatory.purge.interval.requests
			delete.records.purgatory.purge.interval.requests share.fetch.purgatory.purge.interval.requests`},
		{"metrics are at /metrics of admin.listener", `
			metric.reporters metrics.num.samples metrics.sample.window.ms metrics.recording.level kafka.metrics.reporters
			kafka.metrics.polling.interval.secs kafka.csv.metrics.reporter.enabled kafka.csv.metrics.dir
			auto.include.jmx.reporter jmx.port jmx.opts telemetry.max.bytes client.telemetry.max.bytes`},
		{later("quotas"), `
			quota.window.num quota.window.size.seconds replication.quota.window.num replication.quota.window.size.seconds
			alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds
			controller.quota.window.num controller.quota.window.size.seconds client.quota.callback.class`},
		{later("replication"), `
			replica.socket.timeout.ms replica.socket.receive.buffer.bytes replica.fetch.backoff.ms
			unclean.leader.election.interval.ms socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms
			follower.fetch.last.tiered.offset.enable`},
		{"there is one coordinator, of both protocols", `group.coordinator.new.enable`},
		{"a commit is answered when it is on disk", `offsets.commit.required.acks`},
		{later("share and streams groups"), `
			group.share.enable group.share.max.groups
			share.coordinator.append.linger.ms share.coordinator.load.buffer.size share.coordinator.write.timeout.ms
			share.coordinator.snapshot.update.records.per.snapshot share.coordinator.state.topic.compression.codec
			share.fetch.max.fetch.records
			group.streams.session.timeout.ms group.streams.min.session.timeout.ms group.streams.max.session.timeout.ms
			group.streams.heartbeat.interval.ms group.streams.min.heartbeat.interval.ms group.streams.max.heartbeat.interval.ms
			group.streams.max.size group.streams.num.standby.replicas group.streams.max.standby.replicas`},
		{"newer versions of Kafka dropped it", `
			inter.broker.protocol.version log.message.format.version log.message.downconversion.enable
			log.message.timestamp.difference.max.ms broker.id.generation.enable reserved.broker.max.id
			controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms leader.imbalance.per.broker.percentage
			host.name port advertised.host.name advertised.port delete.topic.enabled log.cleaner.dedupe.buffer.load.factor`},
		{"Ottla advertises only finished versions", `unstable.api.versions.enable unstable.feature.versions.enable`},
		{"configuration providers are not run", `config.providers`},
	} {
		for name := range strings.FieldsSeq(part.names) {
			rows = append(rows, Setting{Name: name, Type: String, Null: true, Ignored: part.why, Doc: "A setting of Kafka's own."})
		}
	}
	return rows
}

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
