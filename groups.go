package ottla

import (
	"math"
	"strconv"
	"time"

	"github.com/ottla-io/ottla/internal/api/groupapi"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// groupsOptions are those of the coordinator of groups.
func (s *Server) groupsOptions() coordinator.Options {
	c := s.config
	return coordinator.Options{
		Node: s.broker, Group: s.groupOptions(), Log: s.log, Faults: s.rate.Logger(), Now: time.Now, Changes: s.changes,
		Partitions:        int32(c.Int("offsets.topic.num.partitions")),
		ReplicationFactor: int16(min(c.Int("offsets.topic.replication.factor"), math.MaxInt16)),
		Configs: []meta.NewConfig{
			topicConfig("cleanup.policy", "compact"),
			topicConfig("compression.type", "producer"),
			topicConfig("segment.bytes", strconv.Itoa(c.Int("offsets.topic.segment.bytes"))),
		},
	}
}

func topicConfig(name, value string) meta.NewConfig { return meta.NewConfig{Name: name, Value: &value} }

// groupOptions are the settings of groups.
func (s *Server) groupOptions() group.Options {
	c := s.config
	upgrade, downgrade := c.Migration()
	return group.Options{
		OffsetMetadataMax: c.Int("offset.metadata.max.bytes"),
		OffsetsRetention:  time.Duration(c.Int("offsets.retention.minutes")) * time.Minute,
		RetentionInterval: c.Millis("offsets.retention.check.interval.ms"),
		Classic: group.ClassicOptions{
			MinSession: c.Millis("group.min.session.timeout.ms"), MaxSession: c.Millis("group.max.session.timeout.ms"),
			InitialDelay: c.Millis("group.initial.rebalance.delay.ms"), MaxSize: c.Int("group.max.size"),
		},
		Consumer: group.ConsumerOptions{
			Session:    c.Millis("group.consumer.session.timeout.ms"),
			MinSession: c.Millis("group.consumer.min.session.timeout.ms"), MaxSession: c.Millis("group.consumer.max.session.timeout.ms"),
			Heartbeat:    c.Millis("group.consumer.heartbeat.interval.ms"),
			MinHeartbeat: c.Millis("group.consumer.min.heartbeat.interval.ms"), MaxHeartbeat: c.Millis("group.consumer.max.heartbeat.interval.ms"),
			MaxSize: c.Int("group.consumer.max.size"), Assignors: c.ConsumerAssignors(),
			AssignmentInterval:    c.Millis("group.consumer.assignment.interval.ms"),
			MinAssignmentInterval: c.Millis("group.consumer.min.assignment.interval.ms"),
			MaxAssignmentInterval: c.Millis("group.consumer.max.assignment.interval.ms"),
			Upgrade:               upgrade, Downgrade: downgrade,
		},
	}
}

// groupCoordinator is the coordinator as the request handlers ask it.
type groupCoordinator struct{ *coordinator.Coordinator }

// Ask implements groupapi.Groups.
func (c groupCoordinator) Ask(groupID string, in group.Input) groupapi.Call {
	return c.Coordinator.Ask(groupID, in)
}

// AskAll implements groupapi.Groups.
func (c groupCoordinator) AskAll(input func() group.Input) []groupapi.Call {
	calls := c.Coordinator.AskAll(input)
	all := make([]groupapi.Call, len(calls))
	for i := range calls {
		all[i] = calls[i]
	}
	return all
}
