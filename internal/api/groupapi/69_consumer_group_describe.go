package groupapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// ConsumerGroupDescribe: v0 to v1.
//
// **Behaviour**
//
// Shows groups of the next generation: their epochs, and their members with what they have and shall have. Partitions of topics that are gone are
// left out. Each group is described once.
//
// Per group: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND (classic groups too), COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, and
// UNSUPPORTED_VERSION if group.coordinator.rebalance.protocols has no "consumer".
//
// **Differences from Apache Kafka**
//
// A group that is named twice is described once.
//
// **Versions**
//
//	v0 KIP-848, v1 the protocol that each member speaks (KIP-1099)

// The values of MemberType.
const (
	memberClassic  = 0
	memberConsumer = 1
)

func (f *family) consumerGroupDescribe(ctx context.Context, a *api.API, req *api.Request, m *kmsg.ConsumerGroupDescribeRequest) kmsg.Response {
	ids := distinct(m.Groups)
	var results []group.ConsumerDescribeResult
	if f.consumer {
		results = askEach[group.ConsumerDescribeResult](ctx, f, req, ids, func(c group.Caller, id string) group.Input {
			return group.ConsumerDescribe{Caller: c, Group: id}
		})
	} else {
		for _, id := range ids {
			results = append(results, group.ConsumerDescribeResult{Group: id, Err: errNoConsumer})
		}
	}
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(results))
	image, asked := a.Image(), a.Asked(req)
	for i := range results {
		r, rg := &results[i], &resp.Groups[i]
		*rg = kmsg.NewConsumerGroupDescribeResponseGroup()
		rg.ErrorCode, rg.ErrorMessage = asked.Code(r.Err), api.Explain(r.Err)
		rg.Group, rg.State, rg.AssignorName, rg.Epoch, rg.AssignmentEpoch = r.Group, r.State, r.Assignor, r.Epoch, r.AssignmentEpoch
		rg.AuthorizedOperations = api.GroupOperations(m.IncludeAuthorizedOperations && r.Err == nil)
		rg.Members = make([]kmsg.ConsumerGroupDescribeResponseGroupMember, len(r.Members))
		for j := range r.Members {
			rg.Members[j] = consumerDescribed(image, &r.Members[j])
		}
	}
	return resp
}

// consumerDescribed is one member of the response.
func consumerDescribed(image *meta.Image, m *group.ConsumerDescribed) kmsg.ConsumerGroupDescribeResponseGroupMember {
	rm := kmsg.NewConsumerGroupDescribeResponseGroupMember()
	rm.MemberID, rm.InstanceID, rm.RackID, rm.MemberEpoch = m.Member, m.InstanceID, m.RackID, m.Epoch
	rm.ClientID, rm.ClientHost, rm.SubscribedTopics, rm.SubscribedTopicRegex = m.ClientID, m.Host, m.Topics, m.Regex
	if rm.SubscribedTopicRegex == nil {
		rm.SubscribedTopicRegex = new(string) // Kafka's word for none
	}
	rm.Assignment, rm.TargetAssignment = assignment(image, m.Assigned), assignment(image, m.Target)
	rm.MemberType = memberConsumer
	if m.Classic {
		rm.MemberType = memberClassic
	}
	return rm
}

// assignment is the partitions with the names of their topics.
func assignment(image *meta.Image, topics []record.TopicPartitions) (a kmsg.Assignment) {
	for _, t := range topics {
		found := image.TopicByID(t.Topic)
		if found == nil {
			continue
		}
		at := kmsg.NewAssignmentTopicPartition()
		at.TopicID, at.Topic, at.Partitions = t.Topic, found.Name, t.Partitions
		a.TopicPartitions = append(a.TopicPartitions, at)
	}
	return a
}
