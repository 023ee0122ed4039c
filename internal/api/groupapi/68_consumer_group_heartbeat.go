package groupapi

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// ConsumerGroupHeartbeat: v0 to v1.
//
// **Behaviour**
//
// Joins a group of the next generation (KIP-848), stays in it, and leaves it. What did not change since the last one is null, or -1. The assignment
// comes back when it changed, or when the member says what it owns.
//
// INVALID_REQUEST, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR,
// GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION (v1), COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, and UNSUPPORTED_VERSION if
// group.coordinator.rebalance.protocols has no "consumer".
//
// **Differences from Apache Kafka**
//
// The epochs of a group that nobody was in begin at 1; Kafka's begin at 2, since it counts the group without members. A rebalance timeout that
// is negative is refused; Kafka refuses -1 only. A member that comes from another rack begins an assignment; Kafka waits for the next. Patterns
// are matched with the heartbeat that brings them, and with the next one after topics came or went; Kafka does it in the background, at most
// every group.consumer.regex.refresh.interval.ms. A pattern has at most 2,048 bytes and 4,096 instructions, as its repetitions multiply it;
// a larger one is an INVALID_REGULAR_EXPRESSION that names the limit. Kafka has no limit. The assignor "uniform" gives out each topic evenly, Kafka's all topics taken together.
//
// A member that turns a classic group into one of the next generation begins an assignment whenever the classic group was rebalancing or had
// partitions without a subscriber. Kafka 4.4 begins one only if the member brings a subscription of its own: a member without topics, or a
// static one that comes back with the other protocol, leaves the unfinished assignment in place until a subscription or a topic changes.
//
// **Versions**
//
//	v0 KIP-848, v1 pattern subscriptions and member ids that the client makes (KIP-1082)

func (f *family) consumerGroupHeartbeat(a *api.API, req *api.Request, m *kmsg.ConsumerGroupHeartbeatRequest) api.Reply {
	if !f.consumer {
		q := a.Asked(req)
		return q.Ready(consumerHeard(&q, group.ConsumerHeartbeatResult{Err: errNoConsumer}))
	}
	in := group.ConsumerHeartbeat{
		Caller: f.caller(req), Group: m.Group, Member: m.MemberID, Epoch: m.MemberEpoch, InstanceID: m.InstanceID, RackID: m.RackID,
		RebalanceTimeout: -1, Topics: m.SubscribedTopicNames, Regex: m.SubscribedTopicRegex, Assignor: m.ServerAssignor, Version: m.Version,
	}
	if m.RebalanceTimeoutMillis >= 0 {
		in.RebalanceTimeout = millis(m.RebalanceTimeoutMillis)
	}
	if m.Topics != nil {
		in.Owned = make([]record.TopicPartitions, len(m.Topics))
	}
	for i, t := range m.Topics {
		in.Owned[i] = record.TopicPartitions{Topic: t.TopicID, Partitions: t.Partitions}
	}
	return park(a, req, f.groups.Ask(in.Group, in), 0, consumerHeard)
}

// errNoConsumer refuses the next generation's protocol.
var errNoConsumer = api.Refuse(kerr.UnsupportedVersion, `group.coordinator.rebalance.protocols has no "consumer"`)

// consumerHeard is the response.
func consumerHeard(q *api.Asked, r group.ConsumerHeartbeatResult) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.ErrorCode, resp.ErrorMessage = q.Code(r.Err), api.Explain(r.Err)
	if r.Err != nil {
		return resp
	}
	resp.MemberID, resp.MemberEpoch = &r.Member, r.Epoch
	resp.HeartbeatIntervalMillis = int32(r.Interval / time.Millisecond)
	if r.Assignment == nil {
		return resp
	}
	resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
	for _, t := range *r.Assignment {
		rt := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
		rt.TopicID, rt.Partitions = t.Topic, t.Partitions
		resp.Assignment.Topics = append(resp.Assignment.Topics, rt)
	}
	return resp
}
