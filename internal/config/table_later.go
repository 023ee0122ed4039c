package config

import "slices"

// laterSettings are about parts of Kafka that are not there yet: tiered storage, share groups and streams groups.
func laterSettings() []Setting {
	return slices.Concat(rows(later("tiered storage"), tieredRows), rows(later("share groups"), shareRows), rows(later("streams groups"), streamsRows))
}

const tieredRows = `
	remote.log.storage.system.enable                  boolean      false               any  Whether old segments may move to an object store.
	remote.log.storage.manager.class.name             string       -                   text The Java class that writes segments to the store.
	remote.log.storage.manager.class.path             string       -                   any  Where that class is.
	remote.log.storage.manager.impl.prefix            string       rsm.config.         text What the settings of that class begin with.
	remote.log.metadata.manager.class.name            string       org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager text The Java class that keeps what the store holds.
	remote.log.metadata.manager.class.path            string       -                   any  Where that class is.
	remote.log.metadata.manager.impl.prefix           string       rlmm.config.        text What the settings of that class begin with.
	remote.log.metadata.manager.listener.name         string       -                   text The listener that class connects to.
	remote.log.metadata.custom.metadata.max.bytes     int          128                 0..  The most that the store may note about a segment.
	remote.log.index.file.cache.total.size.bytes      long,dynamic 1073741824          1..  Disk space for indexes of remote segments.
	remote.log.index.file.cache.ttl.ms                long,hidden  900000              -1.. How long such an index is kept unused.
	remote.log.manager.thread.pool.size               int          2                   1..  Threads for tiering, where those below are not set.
	remote.log.manager.copier.thread.pool.size        int,dynamic  10                  -1.. Threads that copy segments.
	remote.log.manager.expiration.thread.pool.size    int,dynamic  10                  -1.. Threads that delete remote segments.
	remote.log.manager.follower.thread.pool.size      int,dynamic  2                   1..  Threads for tiered partitions that others lead.
	remote.log.manager.task.interval.ms               long         30000               1..  How often each partition's segments are looked at.
	remote.log.manager.task.retry.backoff.ms          long,hidden  500                 1..  The pause after a copy failed.
	remote.log.manager.task.retry.backoff.max.ms      long,hidden  30000               1..  The most that this grows to.
	remote.log.manager.task.retry.jitter              double,hidden 0.2                0..0.5 By how much that pause varies.
	remote.log.manager.copy.max.bytes.per.second      long,dynamic 9223372036854775807 1..  The most bytes a second that are copied.
	remote.log.manager.copy.quota.window.num          int          11                  1..  How many samples this is measured over.
	remote.log.manager.copy.quota.window.size.seconds int          1                   1..  How long such a sample lasts.
	remote.log.manager.fetch.max.bytes.per.second     long,dynamic 9223372036854775807 1..  The most bytes a second that are read back.
	remote.log.manager.fetch.quota.window.num         int          11                  1..  How many samples this is measured over.
	remote.log.manager.fetch.quota.window.size.seconds int         1                   1..  How long such a sample lasts.
	remote.log.reader.threads                         int,dynamic  10                  1..  Threads that read remote segments.
	remote.log.reader.max.pending.tasks               int          100                 1..  How many such reads may wait.
	remote.fetch.max.wait.ms                          int,dynamic  500                 1..  How long a fetch waits for a remote segment.
	remote.list.offsets.request.timeout.ms            long,dynamic 30000               1..  How long ListOffsets waits for the store.
	log.local.retention.ms                            long,dynamic -2                  -2.. local.retention.ms of topics that have none.
	log.local.retention.bytes                         long,dynamic -2                  -2.. local.retention.bytes of topics that have none.
	log.remote.copy.lag.ms                            long,dynamic 0                   -1.. remote.copy.lag.ms of topics that have none.
	log.remote.copy.lag.bytes                         long,dynamic -1                  -1.. remote.copy.lag.bytes of topics that have none.
	follower.fetch.last.tiered.offset.enable          boolean,dynamic false            any  Whether a new follower begins where the remote part ends.`

const shareRows = `
	group.share.enable                                    boolean,hidden         false   any      Whether there are share groups.
	group.share.max.groups                                short,hidden           10      1..100   The most share groups.
	group.share.session.timeout.ms                        int                    45000   1..      The session of a share group's member.
	group.share.min.session.timeout.ms                    int                    45000   1..      The shortest such session.
	group.share.max.session.timeout.ms                    int                    60000   1..      The longest such session.
	group.share.heartbeat.interval.ms                     int                    5000    1..      How often a share group's member is heard.
	group.share.min.heartbeat.interval.ms                 int                    5000    1..      The shortest such interval.
	group.share.max.heartbeat.interval.ms                 int                    15000   1..      The longest such interval.
	group.share.max.size                                  int                    200     1..1000  The most members of a share group.
	group.share.assignors                                 list                   simple  any      The assignor of share groups.
	group.share.assignment.interval.ms                    int,dynamic            1000    0..      The least time between two assignments of a share group.
	group.share.min.assignment.interval.ms                int                    0       0..      The shortest such time.
	group.share.max.assignment.interval.ms                int                    15000   0..      The longest such time.
	group.share.assignor.offload.enable                   boolean,dynamic,hidden true    any      Whether assignors run in threads of their own.
	group.share.delivery.count.limit                      int                    5       2..10    How often a record is offered to a share group.
	group.share.min.delivery.count.limit                  int                    2       2..5     The lowest such limit of a group.
	group.share.max.delivery.count.limit                  int                    10      5..25    The highest such limit of a group.
	group.share.record.lock.duration.ms                   int                    30000   1000..3600000  How long a member may hold a record.
	group.share.min.record.lock.duration.ms               int                    15000   1000..30000    The shortest such hold.
	group.share.max.record.lock.duration.ms               int                    60000   30000..3600000 The longest such hold.
	group.share.partition.max.record.locks                int                    2000    100..10000     The most records of a partition held at a time.
	group.share.min.partition.max.record.locks            int                    100     100..2000      The lowest such number of a group.
	group.share.max.partition.max.record.locks            int                    4000    2000..10000    The highest such number of a group.
	group.share.max.share.sessions                        int                    2000    1..      The most share sessions of a broker.
	group.share.initialize.retry.interval.ms              int,hidden             30000   1..      The pause before a share group's state is initialized again.
	group.share.persister.class.name                      string,hidden          org.apache.kafka.server.share.persister.DefaultStatePersister   any The Java class that keeps the state.
	group.share.dlq.manager.class.name                    string,hidden          org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager   any The Java class that writes dead letters.
	errors.deadletterqueue.topic.name.prefix              string,dynamic         dlq.    any      What the names of topics of dead letters begin with.
	errors.deadletterqueue.auto.create.topics.enable      boolean,dynamic        false   any      Whether topics of dead letters are made when they are needed.
	share.fetch.max.fetch.records                         int,hidden             -       any      The most records of a share fetch.
	share.coordinator.state.topic.num.partitions          int                    50      1..      Partitions of __share_group_state.
	share.coordinator.state.topic.replication.factor      short                  3       1..      Replicas of __share_group_state.
	share.coordinator.state.topic.min.isr                 short                  2       1..      min.insync.replicas of __share_group_state.
	share.coordinator.state.topic.segment.bytes           int                    104857600 1..    segment.bytes of __share_group_state.
	share.coordinator.state.topic.compression.codec       int                    0       0..4     compression of __share_group_state.
	share.coordinator.state.topic.prune.interval.ms       int,hidden             300000  1..      How often __share_group_state is trimmed.
	share.coordinator.snapshot.update.records.per.snapshot int                   500     0..500   Updates between two snapshots of a share group's state.
	share.coordinator.cold.partition.snapshot.interval.ms int,hidden             300000  1..      How often idle partitions get a snapshot.
	share.coordinator.threads                             int                    1       1..      Threads of the share coordinator.
	share.coordinator.load.buffer.size                    int                    5242880 1..      Memory for loading __share_group_state.
	share.coordinator.write.timeout.ms                    int                    5000    1..      How long a write to __share_group_state may take.
	share.coordinator.append.linger.ms                    int                    -1      -1..     How long the share coordinator gathers writes.
	share.coordinator.cached.buffer.max.bytes             int,dynamic            1048588 524288.. The largest buffer that the share coordinator keeps.`

const streamsRows = `
	group.streams.session.timeout.ms                 int                    45000      1.. The session of a streams group's member.
	group.streams.min.session.timeout.ms             int                    45000      1.. The shortest such session.
	group.streams.max.session.timeout.ms             int                    60000      1.. The longest such session.
	group.streams.heartbeat.interval.ms              int                    5000       1.. How often a streams group's member is heard.
	group.streams.min.heartbeat.interval.ms          int                    5000       1.. The shortest such interval.
	group.streams.max.heartbeat.interval.ms          int                    15000      1.. The longest such interval.
	group.streams.max.size                           int                    2147483647 1.. The most members of a streams group.
	group.streams.assignors                          list                   sticky     any The assignors of streams groups.
	group.streams.assignment.interval.ms             int,dynamic            1000       0.. The least time between two assignments of a streams group.
	group.streams.min.assignment.interval.ms         int                    0          0.. The shortest such time.
	group.streams.max.assignment.interval.ms         int                    15000      0.. The longest such time.
	group.streams.assignor.offload.enable            boolean,dynamic,hidden true       any Whether assignors run in threads of their own.
	group.streams.initial.rebalance.delay.ms         int                    3000       0.. How long an empty streams group waits for more members.
	group.streams.num.standby.replicas               int                    0          0.. Standby replicas of each task.
	group.streams.max.standby.replicas               int                    2          0.. The most standby replicas of each task.
	group.streams.num.warmup.replicas                int,hidden             2          0.. Tasks that warm up at a time.
	group.streams.max.warmup.replicas                int,hidden             20         0.. The most tasks that warm up at a time.
	group.streams.acceptable.recovery.lag            long,hidden            10000      0.. How far behind a standby counts as warm.
	group.streams.task.offset.interval.ms            int,hidden             60000      1.. How often members tell the offsets of their tasks.
	group.streams.min.task.offset.interval.ms        int,hidden             15000      1.. The shortest such interval.
	group.streams.rack.aware.assignment.tags         list                   ""         any The tags that spread standbys.
	group.streams.topology.description.plugin.class  class                  -          any A Java class that is told topologies.`
