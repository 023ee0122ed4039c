package groupapi

import (
	"log/slog"
	"slices"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// OffsetCommit: v0 to v10.
//
// **Behaviour**
//
// Stores how far a group has come. A member says its generation or epoch; a consumer that stands alone has none. Answered when the
// offsets are on disk, as acks=all is. If no partition that is named exists, the group is not asked.
//
// Per partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v10), OFFSET_METADATA_TOO_LARGE, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID,
// FENCED_INSTANCE_ID (v7+), ILLEGAL_GENERATION, STALE_MEMBER_EPOCH (v9+), GROUP_ID_NOT_FOUND (v9+), REBALANCE_IN_PROGRESS,
// UNSUPPORTED_VERSION (a member of the next generation below v9), COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR.
//
// **Differences from Apache Kafka**
//
// Version 0 meant ZooKeeper; here its offsets are kept like all others. A leader epoch below -1 is none; Kafka keeps it.
//
// **Versions**
//
//	v1 generation, member and a timestamp for each partition; v2 a retention time in its place, until v4
//	v3 throttle first, v6 leader epoch (KIP-320), v7 static members (KIP-345), v8 flexible
//	v9 STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND (KIP-848), v10 topic ids (KIP-848)

func (f *family) offsetCommit(a *api.API, req *api.Request, m *kmsg.OffsetCommitRequest) api.Reply {
	in := group.Commit{
		Caller: f.caller(req), Group: m.Group, Member: m.MemberID, InstanceID: m.InstanceID, Epoch: m.Generation,
		Version: m.Version, Retention: m.RetentionTimeMillis,
	}
	m.Topics = slices.DeleteFunc(m.Topics, func(t kmsg.OffsetCommitRequestTopic) bool { return len(t.Partitions) == 0 })
	var good, size int
	in.Topics, good, size = commitTopics(a.Image(), m)
	if good == 0 {
		q := a.Asked(req)
		return q.Ready(committed(&q, group.CommitResult{Topics: in.Topics}))
	}
	respond := committed
	if in.Epoch < 0 {
		respond = auditCommit(a.AuditOften(req), in.Group)
	}
	return park(a, req, f.groups.Ask(in.Group, in), size, respond)
}

// auditCommit is committed, and writes a line for each offset that an administrator has altered.
func auditCommit(audit *api.Audit, groupID string) func(*api.Asked, group.CommitResult) kmsg.Response {
	return func(q *api.Asked, r group.CommitResult) kmsg.Response {
		for _, c := range r.Altered {
			audit.Line("committed offset altered", slog.String("group", api.AuditText(groupID)), slog.String("topic", c.Topic),
				slog.Any("partition", c.Partition), slog.Any("old", c.Old), slog.Any("new", c.New))
		}
		audit.Done()
		return committed(q, r)
	}
}

// commitTopics is what the request commits, with an error for what is not there; how many partitions are good; and how many bytes it takes.
func commitTopics(image *meta.Image, m *kmsg.OffsetCommitRequest) (topics []group.CommitTopic, good, size int) {
	topics = make([]group.CommitTopic, len(m.Topics))
	for i := range m.Topics {
		from, to := &m.Topics[i], &topics[i]
		*to = group.CommitTopic{Topic: from.Topic, ID: from.TopicID, Partitions: make([]group.CommitPartition, len(from.Partitions))}
		t, unknown := find(image, m.Version >= 10, to.Topic, to.ID)
		if unknown == nil {
			to.Topic, to.ID = t.Name, t.ID
		}
		for j := range from.Partitions {
			p := &to.Partitions[j]
			*p = commitPartition(&from.Partitions[j])
			switch {
			case unknown != nil:
				p.Err = unknown
			case p.Partition < 0 || int(p.Partition) >= len(t.Partitions):
				p.Err = kerr.UnknownTopicOrPartition
			default:
				good++
			}
			size += len(p.Metadata)
		}
		size += len(to.Topic) + len(to.Partitions)*int(unsafe.Sizeof(group.CommitPartition{}))
	}
	return topics, good, size
}

// find finds a topic that a request names, by id or by name.
func find(image *meta.Image, byID bool, name string, id topic.ID) (*meta.Topic, error) {
	t, unknown := image.Topic(name), error(kerr.UnknownTopicOrPartition)
	if byID {
		t, unknown = image.TopicByID(id), kerr.UnknownTopicID
	}
	if t == nil {
		return nil, unknown
	}
	return t, nil
}

func commitPartition(from *kmsg.OffsetCommitRequestTopicPartition) group.CommitPartition {
	p := group.CommitPartition{
		Partition: from.Partition, Offset: batch.Offset(from.Offset), LeaderEpoch: batch.Epoch(max(from.LeaderEpoch, int32(batch.NoEpoch))),
		Timestamp: from.Timestamp,
	}
	if from.Metadata != nil {
		p.Metadata = *from.Metadata
	}
	return p
}

// committed is the response.
func committed(q *api.Asked, r group.CommitResult) kmsg.Response {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(r.Topics))
	for i := range r.Topics {
		from, to := &r.Topics[i], &resp.Topics[i]
		*to = kmsg.NewOffsetCommitResponseTopic()
		to.Topic, to.TopicID = from.Topic, from.ID
		to.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			p := &to.Partitions[j]
			*p = kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = from.Partitions[j].Partition, q.Code(from.Partitions[j].Err)
		}
	}
	return resp
}
