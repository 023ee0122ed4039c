package config

import (
	"fmt"
	"slices"
	"strings"
)

// groupSettings are about classic groups and consumer groups, and about all groups.
var groupSettings = []Setting{
	group("offsets.topic.replication.factor", Short, "3", atLeast(1), "Replicas of __consumer_offsets, as far as there are brokers."),
	group("offsets.topic.num.partitions", Int, "50", atLeast(1), "Partitions of __consumer_offsets; it counts when the topic is made."),
	group("offsets.topic.segment.bytes", Int, "104857600", atLeast(1<<20), "segment.bytes of __consumer_offsets; it counts when the topic is made."),
	idle("offsets.topic.compression.codec", "0", between(0, 4), "what the coordinator writes is not compressed", "compression of __consumer_offsets."),
	group("offsets.retention.minutes", Int, "10080", atLeast(1), "How long offsets are kept of a group without members, or of a topic that none subscribes to."),
	group("offsets.retention.check.interval.ms", Long, "600000", atLeast(1), "How often old offsets are looked for."),
	idle("offsets.commit.timeout.ms", "5000", atLeast(1), later("more than one broker"), "How long a commit waits for replicas."),
	idle("offsets.load.buffer.size", "5242880", atLeast(1), "loading reads a fixed amount at a time", "Memory for loading __consumer_offsets."),
	group("offset.metadata.max.bytes", Int, "4096", atLeast(0), "The largest text beside a committed offset."),
	group("group.min.session.timeout.ms", Int, "6000", atLeast(1), "The shortest session a classic member may ask for."),
	group("group.max.session.timeout.ms", Int, "1800000", atLeast(1), "The longest session a classic member may ask for."),
	group("group.initial.rebalance.delay.ms", Int, "3000", atLeast(0), "How long an empty classic group waits for more members."),
	group("group.max.size", Int, maxInt, atLeast(1), "The most members of a classic group."),
	group("group.coordinator.rebalance.protocols", List, "classic,consumer,streams", rebalanceProtocols, "The protocols that groups may use; share and streams groups are not there yet."),
	idle("group.coordinator.threads", "4", atLeast(1), noCoordinatorThreads, "Threads of the coordinator."),
	idle("group.coordinator.background.threads", "2", atLeast(1), noCoordinatorThreads, "Threads of the coordinator for long work."),
	idle("group.coordinator.append.linger.ms", "-1", atLeast(-1), "writes are gathered while one is synced", "How long the coordinator gathers writes; -1 adapts."),
	group("group.consumer.session.timeout.ms", Int, "45000", atLeast(1), "The session of a consumer group's member (KIP-848)."),
	group("group.consumer.min.session.timeout.ms", Int, "45000", atLeast(1), "The shortest such session."),
	group("group.consumer.max.session.timeout.ms", Int, "60000", atLeast(1), "The longest such session."),
	group("group.consumer.heartbeat.interval.ms", Int, "5000", atLeast(1), "How often a consumer group's member is heard."),
	group("group.consumer.min.heartbeat.interval.ms", Int, "5000", atLeast(1), "The shortest such interval."),
	group("group.consumer.max.heartbeat.interval.ms", Int, "15000", atLeast(1), "The longest such interval."),
	group("group.consumer.max.size", Int, maxInt, atLeast(1), "The most members of a consumer group."),
	group("group.consumer.assignors", List, "uniform,range", consumerAssignors, "The assignors a consumer group may choose, the default first."),
	group("group.consumer.assignment.interval.ms", Int, "1000", atLeast(0), "The least time between two assignments of a consumer group."),
	group("group.consumer.min.assignment.interval.ms", Int, "0", atLeast(0), "The shortest such time."),
	group("group.consumer.max.assignment.interval.ms", Int, "15000", atLeast(0), "The longest such time."),
	group("group.consumer.migration.policy", String, "bidirectional", migrationPolicy, "Whether classic groups and consumer groups with members turn into each other."),
}

func group(name string, t Type, def string, c check, doc string) Setting {
	return Setting{Name: name, Type: t, Default: def, Check: c, Doc: doc}
}

func idle(name, def string, c check, why, doc string) Setting {
	return Setting{Name: name, Type: Int, Default: def, Check: c, Ignored: why, Doc: doc}
}

const noCoordinatorThreads = "the coordinator has no threads of its own"

// The values of lists and policies about groups.
var (
	// Kafka refuses to start without the classic protocol.
	rebalanceProtocols = check{"a list of classic, consumer, share, streams, with classic in it", func(text string) bool {
		return listOf(false, "classic", "consumer", "share", "streams").ok(strings.ToLower(text)) && slices.Contains(splitList(strings.ToLower(text)), "classic")
	}}
	// Kafka up to 4.0 writes class names.
	consumerAssignors = listOf(false, "uniform", "range", uniformClass, rangeClass)
	migrationPolicy   = check{"one of bidirectional, upgrade, downgrade, disabled", func(text string) bool {
		return oneOf("bidirectional", "upgrade", "downgrade", "disabled").ok(strings.ToLower(text))
	}}
)

const (
	uniformClass = "org.apache.kafka.coordinator.group.assignor.UniformAssignor"
	rangeClass   = "org.apache.kafka.coordinator.group.assignor.RangeAssignor"
)

// RebalanceProtocol reports whether groups may use a protocol: "classic", "consumer".
func (c *Config) RebalanceProtocol(name string) bool {
	return slices.Contains(splitList(strings.ToLower(c.String("group.coordinator.rebalance.protocols"))), name)
}

// ConsumerAssignors are the names of the assignors that a consumer group may choose.
func (c *Config) ConsumerAssignors() []string {
	names := c.List("group.consumer.assignors")
	for i, name := range names {
		switch name {
		case uniformClass:
			names[i] = "uniform"
		case rangeClass:
			names[i] = "range"
		}
	}
	return names
}

// Migration says which way groups with members may change their protocol.
func (c *Config) Migration() (upgrade, downgrade bool) {
	policy := strings.ToLower(c.String("group.consumer.migration.policy"))
	return policy == "bidirectional" || policy == "upgrade", policy == "bidirectional" || policy == "downgrade"
}

// orders are pairs of settings of which the first must not be above the second (Kafka's GroupCoordinatorConfig).
var orders = [][2]string{
	{"group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
	{"group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"},
	{"group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
	{"group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	{"group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"},
	{"group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	{"group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
	{"group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"},
	{"group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
	{"group.min.session.timeout.ms", "group.max.session.timeout.ms"},
}

// checkGroups checks the settings of groups beside each other.
func (c *Config) checkGroups() (problems []error) {
	say := func(low, high, relation string) {
		lower, upper := c.Value(low), c.Value(high)
		problems = append(problems, fmt.Errorf("%s=%s (%s): must be %s %s, which is %s (%s)", low, lower.Text, lower.Place, relation, high, upper.Text, upper.Place))
	}
	for _, o := range orders {
		if c.Long(o[0]) > c.Long(o[1]) {
			say(o[0], o[1], "at most")
		}
	}
	const heartbeat, session = "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"
	if c.Long(heartbeat) >= c.Long(session) {
		say(heartbeat, session, "less than")
	}
	return problems
}
